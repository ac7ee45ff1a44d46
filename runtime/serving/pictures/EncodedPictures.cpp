// SPDX-License-Identifier: Apache-2.0
// A list is enough: pictures of a few MB fill any budget with hundreds.
#include "runtime/serving/pictures/EncodedPictures.h"

#include <algorithm>

namespace ingot::runtime {

std::shared_ptr<const EncodedPicture> EncodedPictures::find(const BlockHash &name) {
  auto entry = std::find_if(entries.begin(), entries.end(),
                            [&](const Entry &kept) { return kept.name == name; });
  if (entry == entries.end())
    return nullptr;
  entries.splice(entries.begin(), entries, entry);
  return entry->picture;
}

void EncodedPictures::keep(const BlockHash &name, std::shared_ptr<const EncodedPicture> picture) {
  if (find(name))
    return;
  uint64_t size = 0;
  for (const std::vector<float> &rows : picture->rows)
    size += rows.size() * sizeof(float);
  if (size > budget)
    return;
  for (bytes += size; bytes > budget; entries.pop_back())
    bytes -= entries.back().bytes;
  entries.push_front({name, std::move(picture), size});
}

} // namespace ingot::runtime
