// SPDX-License-Identifier: Apache-2.0
// Reads taps through the runtime's public interface.
#include "compiler/build/NumericsCheck.h"

#include "ingot/ingot.hpp"

#include <algorithm>
#include <cmath>

using namespace ingot;
using namespace ingot::compiler;

static constexpr size_t kTokens = 48;
static constexpr double kTolerance = 2e-2;

/// Token ids spread over the vocabulary.
static std::vector<int32_t> probeTokens(int32_t vocabulary) {
  std::vector<int32_t> tokens;
  for (size_t i = 0; i < kTokens; ++i)
    tokens.push_back(
        static_cast<int32_t>((i * 2654435761u + 17) % static_cast<uint32_t>(vocabulary)));
  return tokens;
}

static std::vector<float> readTap(Engine &engine, const std::vector<int32_t> &tokens,
                                  const char *tap) {
  size_t values = 0;
  check(ingot_read_tap(engine.get(), tokens.data(), tokens.size(), tap, nullptr, 0, &values));
  std::vector<float> data(values);
  check(ingot_read_tap(engine.get(), tokens.data(), tokens.size(), tap, data.data(), data.size(),
                       &values));
  return data;
}

static NumericsRow compare(std::string name, const std::vector<float> &ours,
                           const std::vector<float> &theirs) {
  NumericsRow row{std::move(name), 0, 0, 0, kTolerance};
  double squares = 0, differences = 0;
  bool same = ours.size() == theirs.size();
  for (size_t i = 0; same && i < ours.size(); ++i) {
    double difference = std::abs(static_cast<double>(ours[i]) - theirs[i]);
    row.largest = std::max(row.largest, std::abs(static_cast<double>(theirs[i])));
    row.difference = std::max(row.difference, difference);
    squares += static_cast<double>(theirs[i]) * theirs[i];
    differences += difference * difference;
  }
  row.relativeRms = same ? std::sqrt(differences / std::max(squares, 1e-30)) : HUGE_VAL;
  if (std::isnan(row.relativeRms))
    row.relativeRms = HUGE_VAL;
  return row;
}

checkpoint::Expected<std::vector<NumericsRow>>
compiler::compareNumerics(const std::filesystem::path &enginePath,
                          const std::filesystem::path &referencePath) {
  try {
    Options options;
    options.max_sequences = 1;
    Engine engine(enginePath.string(), options), reference(referencePath.string(), options);
    std::vector<int32_t> tokens = probeTokens(engine.info().vocabulary);
    auto context = static_cast<size_t>(engine.memoryPlan().max_context);
    tokens.resize(std::min(tokens.size(), context));
    std::vector<NumericsRow> rows;
    for (size_t i = 0; i < ingot_tap_count(engine.get()); ++i) {
      const char *tap = ingot_tap_name(engine.get(), i);
      rows.push_back(compare(tap, readTap(engine, tokens, tap), readTap(reference, tokens, tap)));
    }
    rows.push_back(compare("logprobs", engine.score(tokens), reference.score(tokens)));
    return rows;
  } catch (const ingot::Error &error) {
    return checkpoint::Error{error.code(), error.what(), "comparing numerics", ""};
  }
}
