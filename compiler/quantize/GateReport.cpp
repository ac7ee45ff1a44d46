// SPDX-License-Identifier: Apache-2.0
// The same numbers for all readers.
#include "compiler/quantize/GateReport.h"

#include "dialects/engine/EngineOps.h"
#include "llvm/Support/FormatVariadic.h"

using namespace ingot;
using namespace ingot::quantize;
using json = nlohmann::ordered_json;

std::string GateReport::exceeded() const {
  std::string text;
  for (const LimitResult &limit : limits)
    if (!limit.isKept)
      text += llvm::formatv("{0}{1} ({2:f5})", text.empty() ? "" : ", ", limit.limit, limit.value);
  return text;
}

const PartDifference &GateReport::worst() const {
  return *llvm::max_element(difference.parts, [](const PartDifference &a, const PartDifference &b) {
    return a.relativeRms < b.relativeRms;
  });
}

std::string GateReport::doubt() const {
  const PredictionDifference &p = difference.prediction;
  if (!p.isUnread())
    return {};
  return llvm::formatv("the checkpoint cannot read this text: its perplexity is {0:f1}, that of "
                       "the tokens' frequencies alone {1:f1}; a bound of perplexity means nothing "
                       "here, choose a text like those the model is for by --gate-text",
                       p.basePerplexity, p.unigramPerplexity);
}

std::string GateReport::summary() const {
  const PredictionDifference &p = difference.prediction;
  std::string text = llvm::formatv(
      "KL divergence {0:f5} +/- {1:f5}, 99 % of tokens up to {2:f4}; perplexity {3:f3}, of the "
      "checkpoint {4:f3}; same likeliest token {5:f2} %\n",
      p.divergence, p.divergenceError, p.divergenceP99, p.perplexity, p.basePerplexity,
      100 * p.sameTop);
  if (const std::string why = doubt(); !why.empty())
    text += why + "\n";
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

std::vector<compiler::OptionRecord> GateReport::records() const {
  std::vector<compiler::OptionRecord> records;
  for (const LimitResult &limit : limits)
    records.push_back(
        {"--gate", limit.limit, llvm::formatv("{0:f5}", limit.value),
         llvm::formatv("{0}of {1} tokens, against {2}",
                       limit.isKept ? "" : "exceeded: ", difference.prediction.tokens, original)});
  return records;
}

static json partJson(const PartDifference &part) {
  json value{
      {"part", part.part}, {"relative_rms", part.relativeRms}, {"accumulated", part.accumulated}};
  if (part.input)
    value["input"] = {{"largest", part.input->largest},
                      {"p999", part.input->p999},
                      {"channels", part.input->channels},
                      {"outlier_channels", part.input->outliers}};
  value["weights"] = json::array();
  for (const MatrixRange &matrix : part.matrices)
    value["weights"].push_back({{"name", matrix.name},
                                {"min", matrix.least},
                                {"max", matrix.most},
                                {"deviation", matrix.deviation}});
  return value;
}

json GateReport::json() const {
  const PredictionDifference &p = difference.prediction;
  ::json value{{"engine", engine},
               {"original", original},
               {"kept", exceeded().empty()},
               {"limits", ::json::array()},
               {"tokens", p.tokens},
               {"kl_mean", p.divergence},
               {"kl_error", p.divergenceError},
               {"kl_p99", p.divergenceP99},
               {"perplexity", p.perplexity},
               {"original_perplexity", p.basePerplexity},
               {"unigram_perplexity", p.unigramPerplexity},
               {"same_top1", p.sameTop},
               {"worst_part", worst().part},
               {"text", difference.text},
               {"parts", ::json::array()},
               {"stored", ::json::array()}};
  for (const LimitResult &limit : limits)
    value["limits"].push_back(
        {{"limit", limit.limit}, {"measured", limit.value}, {"kept", limit.isKept}});
  for (const PartDifference &part : difference.parts)
    value["parts"].push_back(partJson(part));
  for (const StoredPart &part : stored)
    value["stored"].push_back({{"part", part.part},
                               {"bits_per_weight", part.bits()},
                               {"bytes", part.bytes},
                               {"weights", part.weights},
                               {"formats", part.formats}});
  return value;
}

std::vector<StoredPart> quantize::storedParts(mlir::ModuleOp engine) {
  std::vector<StoredPart> parts;
  for (auto weight : engine.getOps<engine::WeightOp>()) {
    const llvm::StringRef name = weight.getSymName();
    auto [first, rest] = name.split('.');
    std::string part = first.str();
    if (first == "layers")
      part += "." + rest.split('.').first.str();
    auto found = llvm::find_if(parts, [&](const StoredPart &known) { return known.part == part; });
    if (found == parts.end())
      found = parts.insert(found, {part});
    found->bytes += static_cast<uint64_t>(weight.byteSize());
    // Scales and offsets have the name of their matrix, with another end.
    const std::string stem = name.rsplit('.').first.str();
    const bool isOfMatrix =
        !name.ends_with(".weight") && (mlir::SymbolTable::lookupSymbolIn(engine, stem) ||
                                       mlir::SymbolTable::lookupSymbolIn(engine, stem + ".weight"));
    if (isOfMatrix)
      continue;
    auto type = llvm::cast<mlir::RankedTensorType>(weight.getType());
    found->weights += static_cast<uint64_t>(type.getNumElements());
    if (type.getRank() > 1)
      found->formats.insert(weight.getFormat().str());
  }
  return parts;
}
