// SPDX-License-Identifier: Apache-2.0
// A table of what can be limited.
#include "compiler/quantize/Gate.h"

#include "codegen/ForEachParallel.h"
#include "compiler/checkpoint/tokenizer/TokenizerReader.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FormatVariadic.h"

using namespace ingot;
using namespace ingot::quantize;
using checkpoint::Expected;
using checkpoint::Outcome;

namespace {

struct Measure {
  std::string_view name;
  double (*measured)(const EngineDifference &);
  bool isShare; ///< in per cent
  bool isLeast;
};

double worstPart(const EngineDifference &difference) {
  double worst = 0;
  for (const PartDifference &part : difference.parts)
    worst = std::max(worst, part.relativeRms);
  return worst;
}

constexpr Measure kMeasures[] = {
    {"kl", [](const EngineDifference &d) { return d.prediction.divergence; }, false, false},
    {"p99", [](const EngineDifference &d) { return d.prediction.divergenceP99; }, false, false},
    {"ppl",
     [](const EngineDifference &d) {
       return d.prediction.perplexity / d.prediction.basePerplexity - 1;
     },
     true, false},
    {"top1", [](const EngineDifference &d) { return d.prediction.sameTop; }, true, true},
    {"layer", worstPart, false, false},
};

/// Sequences that the engine and the checkpoint are compared on part by part.
constexpr int64_t kComparedSequences = 2;

Expected<GateLimit> parseLimit(llvm::StringRef text) {
  const checkpoint::Error wrong{
      "INGOT-E2118", "the limit " + checkpoint::inQuotes(text.str()) + " is not understood",
      "--gate",
      "write limits such as kl<=0.02, p99<=0.3, ppl<=+1.5%, top1>=98%, layer<=0.1, with commas "
      "between them"};
  for (const Measure &measure : kMeasures) {
    llvm::StringRef rest = text;
    if (!rest.consume_front(measure.name) || !rest.consume_front(measure.isLeast ? ">=" : "<="))
      continue;
    rest.consume_front("+");
    if (rest.consume_back("%") != measure.isShare)
      return wrong;
    double value = 0;
    if (rest.getAsDouble(value) || !(value >= 0))
      return wrong;
    return GateLimit{text.str(), measure.measured, measure.isLeast,
                     measure.isShare ? value / 100 : value};
  }
  return wrong;
}

} // namespace

Expected<std::vector<GateLimit>> quantize::parseGate(const std::string &text) {
  std::vector<GateLimit> limits;
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(text).split(parts, ',');
  for (llvm::StringRef part : parts) {
    auto limit = parseLimit(part.trim());
    if (!limit)
      return limit.error();
    limits.push_back(*std::move(limit));
  }
  return limits;
}

std::string GateReport::summary() const {
  const PredictionDifference &p = difference.prediction;
  std::string text = llvm::formatv(
      "KL divergence {0:f5} +/- {1:f5}, 99 % of tokens up to {2:f4}; perplexity {3:f3}, of the "
      "checkpoint {4:f3}; same likeliest token {5:f2} %\n",
      p.divergence, p.divergenceError, p.divergenceP99, p.perplexity, p.basePerplexity,
      100 * p.sameTop);
  std::vector<PartDifference> worst = difference.parts;
  llvm::sort(worst, [](const PartDifference &a, const PartDifference &b) {
    return a.relativeRms > b.relativeRms;
  });
  worst.resize(std::min<size_t>(worst.size(), 3));
  text += "parts that differ most:";
  for (const PartDifference &part : worst)
    text += llvm::formatv(" {0} ({1:f4})", part.part, part.relativeRms);
  return text + "\n";
}

static Expected<EngineDifference> measure(mlir::MLIRContext &context,
                                          const std::filesystem::path &engine,
                                          const GateOptions &options, bool predicts,
                                          compiler::Progress &progress) {
  auto model = checkpoint::Checkpoint::open(options.original);
  if (!model)
    return model.error();
  auto tokenizer = checkpoint::readTokenizer(options.original);
  if (!tokenizer)
    return tokenizer.error();
  PartOptions part;
  part.build.model = options.original;
  part.build.targets = {options.target};
  part.build.threads = codegen::usableThreads(options.threads);
  part.build.cache = options.cache;
  part.folder = options.folder;
  part.tokenizer = *std::move(tokenizer);
  std::error_code error;
  std::filesystem::create_directories(options.folder, error);
  llvm::scope_exit remove([&] { std::filesystem::remove_all(options.folder, error); });
  try {
    Options session;
    session.max_sequences = 1;
    session.threads = part.build.threads;
    Engine opened(engine.string(), session);
    part.length = std::min<int64_t>(options.text.length, opened.memoryPlan().max_context);
    auto text = sequencesFor(opened, options.text, part);
    if (!text)
      return text.error();
    return compareWithCheckpoint(context, opened, *model, part, *std::move(text),
                                 kComparedSequences, predicts, progress);
  } catch (const ingot::Error &failure) {
    return compiler::errorOfRuntime(failure.code(), failure.what(), "comparing");
  }
}

Expected<std::vector<PartDifference>> quantize::measureParts(mlir::MLIRContext &context,
                                                             const std::filesystem::path &engine,
                                                             const GateOptions &options,
                                                             compiler::Progress &progress) {
  auto difference = measure(context, engine, options, /*predicts=*/false, progress);
  if (!difference)
    return difference.error();
  return std::move(difference->parts);
}

Expected<GateReport> quantize::measureGate(mlir::MLIRContext &context,
                                           const std::filesystem::path &engine,
                                           const GateOptions &options,
                                           compiler::Progress &progress) {
  auto limits = parseGate(options.limits);
  if (!limits)
    return limits.error();
  auto difference = measure(context, engine, options, /*predicts=*/true, progress);
  if (!difference)
    return difference.error();
  GateReport report;
  report.difference = *std::move(difference);
  for (const GateLimit &limit : *limits) {
    const double value = limit.measured(report.difference);
    const std::string shown = llvm::formatv("{0:f5}", value);
    report.records.push_back(
        {"--gate", limit.text, shown,
         llvm::formatv("of {0} tokens, against {1}", report.difference.prediction.tokens,
                       options.original.filename().string())});
    // Written so that what is no number exceeds.
    if (!(limit.isLeast ? value >= limit.limit : value <= limit.limit))
      report.exceeded.push_back(limit.text + " (" + shown + ")");
  }
  return report;
}
