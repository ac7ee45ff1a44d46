// SPDX-License-Identifier: Apache-2.0
// One pass over the numbers.
#include "compiler/quantize/ValueRanges.h"

#include "compiler/weights/WeightNumerics.h"

#include <algorithm>
#include <cmath>

using namespace ingot;
using namespace ingot::quantize;
using checkpoint::Expected;

static constexpr uint64_t kPiece = uint64_t{4} << 20;
/// A channel is an outlier where its largest magnitude is so many times the median channel's.
static constexpr float kOutlier = 6;

Expected<std::optional<MatrixRange>> quantize::rangeOf(const checkpoint::Checkpoint &model,
                                                       const std::string &name) {
  auto tensor = model.get(name);
  if (!tensor)
    return tensor.error();
  const auto element = checkpoint::readAs((*tensor)->dtype);
  if (!element || checkpoint::isBlockType((*tensor)->dtype))
    return std::optional<MatrixRange>();
  const uint64_t width = checkpoint::dtypeUnit((*tensor)->dtype).bits / 8;
  std::vector<std::byte> bytes;
  std::vector<float> values;
  MatrixRange range{model.shownName(name), HUGE_VAL, -HUGE_VAL};
  double sum = 0, squares = 0;
  for (uint64_t at = 0; at < (*tensor)->bytes; at += bytes.size()) {
    bytes.resize(std::min(kPiece, (*tensor)->bytes - at));
    if (auto read = model.read(**tensor, at, bytes); !read)
      return read.error();
    values.resize(bytes.size() / width);
    compiler::widen(*element, bytes.data(), values.data(), static_cast<int64_t>(values.size()));
    for (const auto value : values) {
      const double number = value;
      range.least = std::min(range.least, number);
      range.most = std::max(range.most, number);
      sum += number;
      squares += number * number;
    }
  }
  const double count = static_cast<double>((*tensor)->bytes / width), mean = sum / count;
  range.deviation = std::sqrt(std::max(0.0, squares / count - mean * mean));
  return std::optional(std::move(range));
}

void InputRows::add(std::span<const float> rows) {
  for (size_t i = 0; i < rows.size(); ++i) {
    const float magnitude = std::abs(rows[i]);
    magnitudes.push_back(magnitude);
    most[i % most.size()] = std::max(most[i % most.size()], magnitude);
  }
}

InputRange InputRows::range() && {
  InputRange range;
  range.channels = static_cast<int64_t>(most.size());
  if (magnitudes.empty())
    return range;
  const auto place = static_cast<size_t>(std::ceil(0.999 * double(magnitudes.size()))) - 1;
  const auto percentile = magnitudes.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(magnitudes.begin(), percentile, magnitudes.end());
  range.p999 = *percentile;
  std::sort(most.begin(), most.end());
  range.largest = most.back();
  const float bound = kOutlier * most[most.size() / 2];
  range.outliers = most.end() - std::upper_bound(most.begin(), most.end(), bound);
  return range;
}
