// SPDX-License-Identifier: Apache-2.0
// Text: UTF-8 that knows which of its bytes came from the input and which from the template.
#include "runtime/jinja/Text.h"

#include <algorithm>

namespace ingot::runtime::jinja {

void Text::addSpan(size_t begin, size_t end) {
  if (begin == end)
    return;
  if (!spans.empty() && spans.back().end == begin)
    spans.back().end = uint32_t(end);
  else
    spans.push_back({uint32_t(begin), uint32_t(end)});
}

void Text::append(std::string_view more, bool isInput) {
  const size_t begin = bytes.size();
  bytes += more;
  if (isInput)
    addSpan(begin, bytes.size());
}

std::vector<Span>::const_iterator Text::spanAt(size_t offset) const {
  return std::upper_bound(spans.begin(), spans.end(), offset,
                          [](size_t place, const Span &span) { return place < span.end; });
}

void Text::append(const Text &more, size_t begin, size_t end) {
  const size_t start = bytes.size();
  bytes.append(more.bytes, begin, end - begin);
  for (auto span = more.spanAt(begin); span != more.spans.end() && span->begin < end; ++span)
    addSpan(start + std::max<size_t>(span->begin, begin) - begin,
            start + std::min<size_t>(span->end, end) - begin);
}

Text Text::slice(size_t begin, size_t end) const {
  Text part;
  part.append(*this, begin, std::min(end, bytes.size()));
  return part;
}

bool Text::isInput(size_t offset) const {
  const auto span = spanAt(offset);
  return span != spans.end() && span->begin <= offset;
}

} // namespace ingot::runtime::jinja
