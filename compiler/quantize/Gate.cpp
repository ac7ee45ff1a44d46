// SPDX-License-Identifier: Apache-2.0
// A table of what can be limited.
#include "compiler/quantize/Gate.h"

#include "codegen/ForEachParallel.h"
#include "compiler/checkpoint/config/ModelConfig.h"
#include "compiler/checkpoint/gguf/ModelFile.h"
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

/// The tokens of a sequence, of an engine with such a context.
static int64_t lengthFor(const GateOptions &options, int64_t context) {
  return std::min<int64_t>(options.text.length, context);
}

Outcome quantize::checkGate(const GateOptions &options, const compiler::BuildRequest &request) {
  if (auto limits = parseGate(options.limits); !limits)
    return limits.error();
  auto model = checkpoint::Checkpoint::open(options.original);
  if (!model)
    return model.error();
  const checkpoint::ModelConfig &own = request.checkpoint.config(), &other = model->config();
  for (const auto &[what, ours, theirs] :
       {std::tuple("layers", own.layerCount(), other.layerCount()),
        std::tuple("columns", own.hiddenSize, other.hiddenSize),
        std::tuple("tokens", own.vocabSize, other.vocabSize)})
    if (ours != theirs)
      return checkpoint::Error{"INGOT-E2164",
                               checkpoint::message("the engine's model has ", ours, " ", what,
                                                   ", the one that it is compared with ", theirs),
                               options.original.string(),
                               "give the model that it was made from by --gate-model"};
  auto tokenizer = checkpoint::readTokenizer(options.original);
  if (!tokenizer)
    return tokenizer.error();
  const size_t prefix = tokenizer->prefixIds.size();
  TextOptions text = options.text;
  text.length = lengthFor(options, request.limits.maxContext);
  if (auto checked = checkLength(text, prefix, request.limits.maxContext); !checked)
    return checked;
  return checkTexts(text, prefix);
}

static Expected<EngineDifference> measure(mlir::MLIRContext &context,
                                          const std::filesystem::path &engine,
                                          const GateOptions &options, const ComparisonScope &scope,
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
    part.length = lengthFor(options, opened.memoryPlan().max_context);
    auto text = sequencesFor(opened, options.text, part);
    if (!text)
      return text.error();
    return compareWithCheckpoint(context, opened, *model, part, *std::move(text), scope, progress);
  } catch (const ingot::Error &failure) {
    return compiler::errorOfRuntime(failure.code(), failure.what(), "comparing");
  }
}

Expected<std::vector<PartDifference>> quantize::measureParts(mlir::MLIRContext &context,
                                                             const std::filesystem::path &engine,
                                                             const GateOptions &options,
                                                             compiler::Progress &progress) {
  auto difference = measure(context, engine, options, {}, progress);
  if (!difference)
    return difference.error();
  return std::move(difference->parts);
}

Expected<GateReport> quantize::measureGate(mlir::MLIRContext &context, mlir::ModuleOp module,
                                           const std::filesystem::path &engine,
                                           const GateOptions &options,
                                           compiler::Progress &progress) {
  auto limits = parseGate(options.limits);
  if (!limits)
    return limits.error();
  ComparisonScope scope;
  scope.predicts = true;
  scope.describes = options.describes;
  auto difference = measure(context, engine, options, scope, progress);
  if (!difference)
    return difference.error();
  GateReport report{options.name,
                    checkpoint::modelFileName(options.original).string(),
                    *std::move(difference),
                    {},
                    {}};
  report.stored = storedParts(module);
  for (const GateLimit &limit : *limits) {
    const double value = limit.measured(report.difference);
    // Written so that what is no number exceeds.
    const bool isKept = limit.isLeast ? value >= limit.limit : value <= limit.limit;
    report.limits.push_back({limit.text, value, isKept});
  }
  return report;
}
