// SPDX-License-Identifier: Apache-2.0
// One picture after the other, since requests wait for all of theirs.
#include "runtime/tools/PictureArguments.h"

#include <cstdio>

namespace ingot::runtime {

PictureArguments::PictureArguments(const schema::Images *images)
    : reader(PictureReader::of(images)) {}

Status PictureArguments::read(const std::vector<std::string> &sources, Request &request) {
  for (size_t i = 0; i < sources.size(); ++i) {
    if (!reader)
      return noPictures();
    const std::string where = "picture " + std::to_string(i + 1);
    Result<std::shared_ptr<const PromptPicture>> picture =
        reader->readFrom(sources[i], PictureSources::DataAndFiles);
    if (!picture.ok())
      return std::move(picture).status().in(where);
    if (const uint32_t notes = (*picture)->facts.notes)
      std::fprintf(stderr, "%s: %s\n", where.c_str(), images::notesText(notes).c_str());
    request.pictures.push_back(*std::move(picture));
  }
  return {};
}

} // namespace ingot::runtime
