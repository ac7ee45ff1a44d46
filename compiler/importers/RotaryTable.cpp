// SPDX-License-Identifier: Apache-2.0
// One function for each rope type that does more than divide.
#include "compiler/importers/RotaryTable.h"

#include <cmath>
#include <numbers>

using namespace ingot;
using namespace ingot::compiler;
using checkpoint::Rope;
using checkpoint::RopeType;

/// Columns of a head that rotate, as `modeling_rope_utils.py` calls them.
static double rotatedColumns(const Rope &rope, uint64_t headDim) {
  return 2 * static_cast<double>(rope.pairs(headDim));
}

/// The base of the frequencies, stretched by a fixed number, or with dynamic scaling beyond the
/// trained length.
static double baseOf(const Rope &rope, double columns, int64_t maxContext) {
  auto context = static_cast<double>(maxContext),
       original = static_cast<double>(rope.originalPositions);
  double growth = rope.alpha;
  if (rope.type == RopeType::Dynamic && context > original)
    growth = rope.factor * context / original - (rope.factor - 1);
  return rope.theta * std::pow(growth, columns / (columns - 2));
}

static double llama3(const Rope &rope, double frequency) {
  auto original = static_cast<double>(rope.originalPositions);
  double wavelength = 2 * std::numbers::pi / frequency;
  double blend = (original / wavelength - rope.lowFrequencyFactor) /
                 (rope.highFrequencyFactor - rope.lowFrequencyFactor);
  if (wavelength > original / rope.lowFrequencyFactor)
    return frequency / rope.factor;
  if (wavelength >= original / rope.highFrequencyFactor)
    return frequency * ((1 - blend) / rope.factor + blend);
  return frequency;
}

/// `pair`: whose frequency it is.
static double yarn(const Rope &rope, double columns, double pair, double frequency) {
  // The pair, of any real number, that turns so often in the trained length.
  auto turning = [&](double turns) {
    double positions = static_cast<double>(rope.originalPositions) / (turns * 2 * std::numbers::pi);
    return columns * std::log(positions) / (2 * std::log(rope.theta));
  };
  double low = turning(rope.fastTurns), high = turning(rope.slowTurns);
  if (rope.wholePairs) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, columns - 1);
  if (low == high)
    high += 0.001;
  double slow = std::clamp((pair - low) / (high - low), 0.0, 1.0);
  return frequency / rope.factor * slow + frequency * (1 - slow);
}

RotaryTable compiler::rotaryTable(const Rope &rope, uint64_t headDim, int64_t maxContext) {
  const double columns = rotatedColumns(rope, headDim), base = baseOf(rope, columns, maxContext);
  bool isLong = rope.usesLongDivisors(static_cast<uint64_t>(maxContext));
  RotaryTable table;
  table.factor = rope.attentionFactor;
  for (uint64_t i = 0; i < rope.pairs(headDim); ++i) {
    auto pair = static_cast<double>(i);
    double frequency = std::pow(base, -2 * pair / columns);
    if (rope.type == RopeType::Linear)
      frequency /= rope.factor;
    if (rope.type == RopeType::Llama3)
      frequency = llama3(rope, frequency);
    if (rope.type == RopeType::Yarn)
      frequency = yarn(rope, columns, pair, frequency);
    if (rope.type == RopeType::Proportional)
      frequency = i < rope.turningPairs(headDim) ? frequency / rope.factor : 0;
    if (rope.type == RopeType::LongRope)
      frequency /= (isLong ? rope.longDivisors : rope.shortDivisors)[i];
    if (!rope.divisors.empty())
      frequency /= static_cast<double>(rope.divisors[i]);
    table.frequencies.push_back(static_cast<float>(frequency));
  }
  return table;
}
