// SPDX-License-Identifier: Apache-2.0
// What is sent in a request is all that a model sees.
#include "runtime/serving/pictures/PictureSource.h"

#include "runtime/core/Base64.h"
#include "runtime/core/MappedFile.h"

#include <algorithm>
#include <cctype>

namespace ingot::runtime {

namespace {

Status refused(const std::string &what, const char *advice) {
  return Status::error("INGOT-E6815", what, advice);
}

Status tooLarge(uint64_t mostBytes) {
  return Status::error("INGOT-E6804",
                       "a picture's file has more than " + std::to_string(mostBytes) + " bytes",
                       "send a smaller one");
}

/// "https" of "HTTPS://host/"; empty where there is none.
std::string schemeOf(std::string_view source) {
  size_t end = 0;
  auto belongs = [](unsigned char c) {
    return std::isalnum(c) || c == '+' || c == '-' || c == '.';
  };
  while (end < source.size() && belongs(static_cast<unsigned char>(source[end])))
    ++end;
  if (end == 0 || !source.substr(end).starts_with(':'))
    return "";
  std::string scheme(source.substr(0, end));
  std::transform(scheme.begin(), scheme.end(), scheme.begin(),
                 [](unsigned char c) { return char(std::tolower(c)); });
  return scheme;
}

Result<std::vector<uint8_t>> readData(std::string_view source, uint64_t mostBytes) {
  size_t comma = source.find(',');
  if (comma == std::string_view::npos || !source.substr(0, comma).ends_with(";base64"))
    return refused("a data: URL of a picture is not in base64",
                   "write data:image/png;base64,... or the like");
  std::string_view text = source.substr(comma + 1);
  if (text.size() / 4 * 3 > mostBytes + 2)
    return tooLarge(mostBytes);
  std::optional<std::vector<uint8_t>> bytes = decodeBase64(text);
  if (!bytes)
    return refused("the base64 of a picture is malformed", "encode it anew, without line breaks");
  return std::move(*bytes);
}

} // namespace

Result<std::vector<uint8_t>> readPictureSource(const std::string &source, PictureSources allowed,
                                               uint64_t mostBytes) {
  const std::string scheme = schemeOf(source);
  if (scheme == "data")
    return readData(source, mostBytes);
  if (allowed == PictureSources::Data || source.find("://") == scheme.size())
    return refused(scheme.empty() ? "a picture is no data: URL"
                                  : "pictures are not fetched from " + scheme + ": URLs",
                   "send the picture itself, as a data: URL");
  Result<MappedFile> file = MappedFile::open(source);
  if (!file.ok())
    return std::move(file).status();
  if (file->bytes().size() > mostBytes)
    return tooLarge(mostBytes);
  return std::vector<uint8_t>(file->bytes().begin(), file->bytes().end());
}

} // namespace ingot::runtime
