// SPDX-License-Identifier: Apache-2.0
// Sequences are run one after the other, each in one step, so that an input's rows come in order.
#include "compiler/quantize/Calibration.h"

#include <cmath>

using namespace ingot;
using namespace ingot::quantize;
using checkpoint::Expected;
using checkpoint::Outcome;

std::filesystem::path Calibration::rowsPath(int64_t layer, bool quantized) const {
  return folder / checkpoint::message("rows-", layer, quantized ? "-quantized" : "-original");
}

Outcome Calibration::begin(const TextOptions &text, const Progress &progress) {
  auto engine = PartEngine::build(context, part, compiler::ModelPart::kEmbedding, {});
  if (!engine)
    return engine.error();
  auto sequences = sequencesFor(engine->engine(), text, part);
  if (!sequences)
    return sequences.error();
  count = static_cast<int64_t>(sequences->size());
  auto rows = RowFile::open(rowsPath(0, true), hidden);
  if (!rows)
    return rows.error();
  const std::string taps[] = {engine->resultTap()};
  for (int64_t i = 0; i < count; ++i) {
    Outcome written;
    auto ran = engine->record((*sequences)[static_cast<size_t>(i)], {}, taps,
                              [&](size_t, int64_t position, std::span<const float> values) {
                                if (written)
                                  written = rows->write(i * part.length + position, values);
                              });
    if (!ran)
      return ran;
    if (!written)
      return written;
    progress(i + 1, count);
  }
  return {};
}

Outcome Calibration::resume(int64_t layers, int64_t sequences) {
  count = sequences;
  auto rows = RowFile::open(rowsPath(layers, true), hidden);
  return rows ? Outcome() : Outcome(rows.error());
}

Expected<std::vector<InputStatistics>>
Calibration::observe(PartEngine &engine, int64_t layer,
                     const std::function<bool(const compiler::ProductGroup &)> &wanted,
                     const Progress &progress) {
  const bool compares = hasOriginal(layer);
  std::vector<InputStatistics> statistics;
  std::vector<std::string> taps;
  for (const compiler::ProductGroup &group : engine.products().groups)
    if (wanted(group)) {
      statistics.push_back({Moments(group.columns, compares), {}, {}, {}});
      taps.push_back(group.tap);
    }
  const size_t groups = taps.size();
  for (const compiler::CacheInputs &cache : engine.products().caches)
    taps.insert(taps.end(), {cache.keys, cache.values});
  const size_t inputs = taps.size();
  cacheMost.assign(inputs - groups, 0);
  auto widen = [&](size_t tap, std::span<const float> values) {
    for (float value : values)
      cacheMost[tap - groups] = std::max(cacheMost[tap - groups], std::abs(value));
  };
  taps.push_back(engine.resultTap()); // of the model as it is
  auto rows = RowFile::open(rowsPath(layer, true), hidden);
  auto original = RowFile::open(rowsPath(layer, !compares), hidden);
  auto next = RowFile::open(rowsPath(layer + 1, false), hidden);
  for (auto *file : {&rows, &original, &next})
    if (!*file)
      return file->error();
  const int64_t stride = std::max<int64_t>(1, count * part.length / kSampledRows);
  const std::vector<int32_t> tokens(static_cast<size_t>(part.length));
  std::vector<float> given(static_cast<size_t>(part.length * hidden));
  std::vector<std::vector<float>> originals(groups);
  for (int64_t i = 0; i < count; ++i) {
    Outcome outcome = original->read(i * part.length, given);
    if (!outcome)
      return outcome.error();
    auto take = [&](size_t tap, int64_t position, std::span<const float> values) {
      if (tap == inputs) {
        if (outcome && isAsymmetric)
          outcome = next->write(i * part.length + position, values);
      } else if (tap >= groups) {
        if (!compares)
          widen(tap, values);
      } else if (compares) {
        originals[tap].assign(values.begin(), values.end());
      } else {
        statistics[tap].add(values, {}, stride, part.build.threads);
      }
    };
    if (auto ran = engine.record(tokens, given, taps, take); !ran)
      return ran.error();
    if (outcome && compares) {
      outcome = rows->read(i * part.length, given);
      if (!outcome)
        return outcome.error();
      auto compare = [&](size_t tap, int64_t, std::span<const float> values) {
        if (tap >= groups)
          widen(tap, values);
        else
          statistics[tap].add(values, originals[tap], stride, part.build.threads);
      };
      if (auto ran = engine.record(tokens, given, std::span(taps).first(inputs), compare); !ran)
        return ran.error();
    }
    if (!outcome)
      return outcome.error();
    progress(i + 1, count);
  }
  return statistics;
}

Outcome Calibration::advance(PartEngine &engine, int64_t layer, const Progress &progress) {
  auto rows = RowFile::open(rowsPath(layer, true), hidden);
  auto next = RowFile::open(rowsPath(layer + 1, true), hidden);
  if (!rows)
    return rows.error();
  if (!next)
    return next.error();
  const std::string taps[] = {engine.resultTap()};
  const std::vector<int32_t> tokens(static_cast<size_t>(part.length));
  std::vector<float> given(static_cast<size_t>(part.length * hidden));
  for (int64_t i = 0; i < count; ++i) {
    Outcome outcome = rows->read(i * part.length, given);
    if (!outcome)
      return outcome;
    auto take = [&](size_t, int64_t position, std::span<const float> values) {
      if (outcome)
        outcome = next->write(i * part.length + position, values);
    };
    if (auto ran = engine.record(tokens, given, taps, take); !ran)
      return ran;
    if (!outcome)
      return outcome;
    progress(i + 1, count);
  }
  return {};
}

void Calibration::forget(int64_t layer) {
  std::error_code ignored;
  for (int64_t i = 0; i < layer; ++i)
    for (bool quantized : {false, true})
      std::filesystem::remove(rowsPath(i, quantized), ignored);
}
