// SPDX-License-Identifier: Apache-2.0
// Lines end by CR, LF or both; an empty one ends an event.
#include "runtime/tools/load/SseReader.h"

#include <algorithm>

namespace ingot::runtime {

void SseReader::endLine(std::vector<std::string> &events) {
  std::string_view text = line;
  if (!started && text.starts_with("\xEF\xBB\xBF"))
    text.remove_prefix(3);
  started = true;
  if (text.empty()) {
    if (hasData)
      events.push_back(std::move(data));
    data.clear();
    hasData = false;
  } else {
    size_t colon = text.find(':');
    std::string_view value = colon == text.npos ? "" : text.substr(colon + 1);
    if (text.substr(0, colon) == "data") {
      if (hasData)
        data += '\n';
      data += value.starts_with(' ') ? value.substr(1) : value;
      hasData = true;
    }
  }
  line.clear();
}

Status SseReader::push(std::string_view bytes, std::vector<std::string> &events) {
  while (!bytes.empty()) {
    if (afterReturn && bytes[0] == '\n')
      bytes.remove_prefix(1);
    afterReturn = false;
    size_t end = std::min(bytes.find_first_of("\r\n"), bytes.size());
    line += bytes.substr(0, end);
    if (line.size() + data.size() > longest)
      return Status::error("INGOT-E7254",
                           "an event of the stream has more than " + std::to_string(longest) +
                               " bytes",
                           "check that the address is one of completions");
    if (end == bytes.size())
      return {};
    afterReturn = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    endLine(events);
  }
  return {};
}

} // namespace ingot::runtime
