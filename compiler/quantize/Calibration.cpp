// SPDX-License-Identifier: Apache-2.0
// Sequences are run one after the other, each in one step, so that an input's rows come in order.
#include "compiler/quantize/Calibration.h"

#include <cmath>
#include <map>

using namespace ingot;
using namespace ingot::quantize;
using checkpoint::Expected;
using checkpoint::Outcome;

std::filesystem::path Calibration::rowsPath(int64_t layer, bool quantized) const {
  return folder / checkpoint::message("rows-", layer, quantized ? "-quantized" : "-original");
}

CrossSums Calibration::sumsOf(int64_t layer) const {
  if (!hasOriginal(layer))
    return CrossSums::None;
  return knowledge == Knowledge::AsymmetricWhole ? CrossSums::Whole : CrossSums::Ordered;
}

Outcome Calibration::begin(const TextOptions &options, const Progress &progress) {
  auto engine = PartEngine::build(context, part, compiler::ModelPart::kEmbedding, {});
  if (!engine)
    return engine.error();
  auto text = sequencesFor(engine->engine(), options, part);
  if (!text)
    return text.error();
  record = std::move(text->record);
  count = static_cast<int64_t>(text->sequences.size());
  auto rows = RowFile::open(rowsPath(0, true), hidden);
  if (!rows)
    return rows.error();
  const std::string taps[] = {engine->resultTap()};
  for (int64_t i = 0; i < count; ++i) {
    Outcome written;
    auto ran = engine->record(text->sequences[static_cast<size_t>(i)], {}, taps,
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

namespace {

void widen(float &most, std::span<const float> values) {
  for (float value : values)
    most = std::max(most, std::abs(value));
}

/// What a part's taps have, of one sequence.
class TapValues {
public:
  explicit TapValues(std::span<const compiler::ProductGroup *const> groups) {
    for (const compiler::ProductGroup *group : groups) {
      values[group->tap];
      if (group->routed)
        values[group->routed->tap];
    }
    for (const auto &[name, unused] : values) {
      taps.push_back(name);
      most[name] = 0;
    }
  }

  /// In the order of `set`.
  const std::vector<std::string> &names() const { return taps; }
  void set(size_t tap, std::span<const float> rows) {
    values[taps[tap]].assign(rows.begin(), rows.end());
    widen(most[taps[tap]], rows);
  }
  /// The largest magnitude that the tap of `group` had in any sequence.
  float mostOf(const compiler::ProductGroup &group) const { return most.at(group.tap); }

  TappedRows of(const compiler::ProductGroup &group) const {
    TappedRows rows{values.at(group.tap), {}};
    if (group.routed)
      rows.experts = values.at(group.routed->tap);
    return rows;
  }

private:
  std::map<std::string, std::vector<float>> values;
  std::map<std::string, float> most;
  std::vector<std::string> taps;
};

/// Adds a sequence's rows of `group`; `original`: or null.
void add(InputStatistics &statistics, const compiler::ProductGroup &group, const TapValues &own,
         const TapValues *original, unsigned threads) {
  const TappedRows rows = own.of(group);
  const TappedRows before = original ? original->of(group) : TappedRows();
  if (!group.routed)
    return statistics.add(rows.rows, before.rows, threads);
  const compiler::RoutedInput &routed = *group.routed;
  const ExpertRows chosen = rowsOfExpert(routed.expert, routed.perToken, routed.hasTokens,
                                         group.columns, rows, original ? &before : nullptr);
  statistics.add(chosen.rows, chosen.original, threads);
}

} // namespace

Expected<std::vector<InputStatistics>>
Calibration::observe(PartEngine &engine, int64_t layer,
                     std::span<const compiler::ProductGroup *const> groups, bool keepsResults,
                     const Progress &progress) {
  const bool compares = hasOriginal(layer);
  std::vector<InputStatistics> statistics;
  for (const compiler::ProductGroup *group : groups)
    statistics.push_back({knowledge == Knowledge::Squares
                              ? Moments::ofSquares(group->columns)
                              : Moments(group->columns, sumsOf(layer))});
  TapValues own(groups), unquantized(groups);
  std::vector<std::string> taps = own.names();
  const size_t inputs = taps.size();
  if (keepsResults) {
    for (const compiler::CacheInputs &cache : engine.products().caches)
      taps.insert(taps.end(), {cache.keys, cache.values});
    cacheMost.assign(taps.size() - inputs, 0);
  }
  const size_t read = taps.size();
  if (keepsResults && isAsymmetric())
    taps.push_back(engine.resultTap());
  if (taps.empty())
    return statistics;
  auto rows = RowFile::open(rowsPath(layer, true), hidden);
  auto original = RowFile::open(rowsPath(layer, !compares), hidden);
  auto next = RowFile::open(rowsPath(layer + 1, false), hidden);
  for (auto *file : {&rows, &original, &next})
    if (!*file)
      return file->error();
  const std::vector<int32_t> tokens(static_cast<size_t>(part.length));
  std::vector<float> given(static_cast<size_t>(part.length * hidden));
  for (int64_t i = 0; i < count; ++i) {
    /// Results are kept of the unquantized model, caches are those of the other.
    auto run = [&](const RowFile &from, TapValues &into, bool hasResults) {
      Outcome outcome = from.read(i * part.length, given);
      auto take = [&](size_t tap, int64_t position, std::span<const float> values) {
        if (tap < inputs)
          into.set(tap, values);
        else if (tap < read && &into == &own)
          widen(cacheMost[tap - inputs], values);
        else if (tap >= read && outcome)
          outcome = next->write(i * part.length + position, values);
      };
      if (outcome)
        if (auto ran = engine.record(tokens, given,
                                     std::span(taps).first(hasResults ? taps.size() : read), take);
            !ran)
          return ran;
      return outcome;
    };
    if (compares)
      if (auto ran = run(*original, unquantized, true); !ran)
        return ran.error();
    if (read > 0 || !compares)
      if (auto ran = run(*rows, own, !compares); !ran)
        return ran.error();
    for (size_t group = 0; group < groups.size(); ++group)
      add(statistics[group], *groups[group], own, compares ? &unquantized : nullptr,
          part.build.threads);
    progress(i + 1, count);
  }
  for (size_t group = 0; group < groups.size(); ++group) {
    statistics[group].moments.finish();
    statistics[group].mostOfAll = own.mostOf(*groups[group]);
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
