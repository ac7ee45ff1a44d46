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
  auto file = RowFile::open(rowsPath(0, true), width);
  if (!file)
    return file.error();
  std::vector<float> rows;
  for (int64_t i = 0; i < count; ++i) {
    if (auto ran = engine->advance(text->sequences[static_cast<size_t>(i)], rows); !ran)
      return ran;
    if (auto written = file->write(i * part.length, rows); !written)
      return written;
    progress(i + 1, count);
  }
  return {};
}

Outcome Calibration::resume(int64_t layers, int64_t sequences) {
  count = sequences;
  auto rows = RowFile::open(rowsPath(layers, true), width);
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
    taps.insert(taps.end(), engine.resultTaps().begin(), engine.resultTaps().end());
  if (taps.empty())
    return statistics;
  auto rows = RowFile::open(rowsPath(layer, true), width);
  auto original = RowFile::open(rowsPath(layer, !compares), width);
  auto next = RowFile::open(rowsPath(layer + 1, false), width);
  for (auto *file : {&rows, &original, &next})
    if (!*file)
      return file->error();
  const std::vector<int32_t> tokens(static_cast<size_t>(part.length));
  std::vector<float> given(static_cast<size_t>(part.length * width)), behind;
  for (int64_t i = 0; i < count; ++i) {
    /// Results are kept of the unquantized model, caches are those of the other.
    auto run = [&](const RowFile &from, TapValues &into, bool hasResults) {
      if (auto read = from.read(i * part.length, given); !read)
        return read;
      behind = given;
      auto take = [&](size_t tap, int64_t position, std::span<const float> values) {
        if (tap < inputs)
          into.set(tap, values);
        else if (tap < read && &into == &own)
          widen(cacheMost[tap - inputs], values);
        else if (tap >= read)
          engine.put(tap - read, position, values, behind);
      };
      const size_t wanted = hasResults ? taps.size() : read;
      if (auto ran = engine.record(tokens, given, std::span(taps).first(wanted), take); !ran)
        return ran;
      return wanted > read ? next->write(i * part.length, behind) : Outcome();
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
  auto file = RowFile::open(rowsPath(layer, true), width);
  auto next = RowFile::open(rowsPath(layer + 1, true), width);
  if (!file)
    return file.error();
  if (!next)
    return next.error();
  const std::vector<int32_t> tokens(static_cast<size_t>(part.length));
  std::vector<float> rows(static_cast<size_t>(part.length * width));
  for (int64_t i = 0; i < count; ++i) {
    if (auto read = file->read(i * part.length, rows); !read)
      return read;
    if (auto ran = engine.advance(tokens, rows); !ran)
      return ran;
    if (auto written = next->write(i * part.length, rows); !written)
      return written;
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
