// SPDX-License-Identifier: Apache-2.0
// By value where the record has tolerances, else byte for byte.
#include "tests/gpu/Comparison.h"

#include "tests/gpu/Elements.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ingot::record {

namespace {

/// Compares one buffer with its record.
class BufferComparison {
public:
  BufferComparison(const RecordT &record, size_t index, const BufferT &buffer,
                   std::span<const uint8_t> found, Outcome &outcome)
      : index(index), buffer(buffer), found(found),
        recorded(record.blobs[buffer.output != kNone ? buffer.output : buffer.input]->bytes),
        tolerances(buffer.tolerances != kNone ? record.blobs[buffer.tolerances]->bytes.data()
                                              : nullptr),
        outcome(outcome) {}

  void compare() {
    if (std::equal(found.begin(), found.end(), recorded.begin()))
      return;
    outcome.bitEqual = false;
    std::vector<bool> byValue(found.size());
    uint64_t element = 0;
    for (const auto &values : buffer.values) {
      uint64_t size = elementBytes(values->element);
      mark(byValue, values->offset, values->count * size);
      if (values->scale_columns)
        mark(byValue, values->scales, values->count / values->scale_columns * sizeof(float));
      for (uint64_t i = 0; i < values->count; ++i, ++element)
        compareValue(*values, i, element);
    }
    for (size_t i = 0; i < found.size(); ++i)
      if (!byValue[i] && found[i] != recorded[i])
        note(i, recorded[i], found[i], 0);
  }

private:
  static void mark(std::vector<bool> &bytes, uint64_t first, uint64_t count) {
    std::fill_n(bytes.begin() + int64_t(first), count, true);
  }

  void compareValue(const ValuesT &values, uint64_t i, uint64_t element) {
    uint64_t at = values.offset + i * elementBytes(values.element);
    double wanted = elementValue(values.element, recorded.data() + at);
    double got = elementValue(values.element, found.data() + at);
    if (values.scale_columns) {
      uint64_t scale = values.scales + i / values.scale_columns * sizeof(float);
      wanted *= elementValue(Element::F32, recorded.data() + scale);
      got *= elementValue(Element::F32, found.data() + scale);
    }
    note(element, wanted, got, elementValue(Element::F32, tolerances + element * sizeof(float)));
  }

  void note(uint64_t element, double wanted, double got, double tolerance) {
    if (wanted == got || (std::isnan(wanted) && std::isnan(got)))
      return;
    double distance = std::abs(got - wanted);
    bool outside = !(distance <= tolerance);
    outcome.worst = std::max(outcome.worst, tolerance > 0 && !std::isnan(distance)
                                                ? distance / tolerance
                                                : std::numeric_limits<double>::infinity());
    if (!outcome.first || (outside && !outcome.first->outside))
      outcome.first = Difference{index, element, wanted, got, tolerance, outside};
  }

  size_t index;
  const BufferT &buffer;
  std::span<const uint8_t> found;
  const std::vector<uint8_t> &recorded;
  const uint8_t *tolerances;
  Outcome &outcome;
};

} // namespace

const char *Outcome::verdict() const {
  return failed() ? "failed" : bitEqual ? "bit-equal" : "within";
}

void compareBuffer(const RecordT &record, const LaunchT &launch, size_t index,
                   std::span<const uint8_t> found, Outcome &outcome) {
  BufferComparison(record, index, *launch.buffers[index], found, outcome).compare();
}

} // namespace ingot::record
