// SPDX-License-Identifier: Apache-2.0
// Budgets as knapsacks, and the text of lockfiles.
#include "compiler/quantize/RecipeSearch.h"

#include "compiler/quantize/RotatedCheckpoint.h"
#include "compiler/quantize/Sensitivity.h"
#include "compiler/quantize/search/Knapsack.h"
#include "compiler/recipe/RecipeWords.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FormatVariadic.h"

using namespace ingot;
using namespace ingot::quantize;
using checkpoint::Expected;
namespace fs = std::filesystem;

namespace {

using Matrices = std::span<const MatrixSensitivity>;
using json = nlohmann::json;

constexpr char kCacheKind[] = "sensitivity";

std::string writtenSensitivity(Matrices matrices) {
  json list = json::array();
  for (const MatrixSensitivity &matrix : matrices) {
    json formats = json::array();
    for (const FormatCost &cost : matrix.formats)
      formats.push_back({cost.format.type, cost.format.group, cost.format.zeroPoints, cost.bytes,
                         cost.divergence});
    list.push_back({matrix.weight, matrix.elements, std::move(formats)});
  }
  return list.dump();
}

/// `text`: of writtenSensitivity().
std::vector<MatrixSensitivity> readSensitivity(const std::string &text) {
  std::vector<MatrixSensitivity> matrices;
  for (const json &entry : json::parse(text)) {
    MatrixSensitivity &matrix = matrices.emplace_back(entry[0], entry[1]);
    for (const json &cost : entry[2])
      matrix.formats.push_back({{cost[0], cost[1], cost[2]}, cost[3], cost[4]});
  }
  return matrices;
}

/// The format that each matrix gets, as an index of its formats, and what comes of it.
struct Mix {
  std::vector<size_t> formats;
  uint64_t bytes = 0; ///< of the matrices
  double divergence = 0;
  double gap = 0; ///< the part of what is kept smallest by which a better mix is not ruled out
};

std::string shown(const Budget &budget) {
  if (budget.size > 0)
    return checkpoint::message("--target-size ", budget.size);
  return budget.bits > 0 ? "--bits " + compiler::exactly(budget.bits)
                         : "--max-kl " + compiler::exactly(budget.divergence);
}

class Search {
public:
  Search(const Budget &budget, Matrices matrices, const checkpoint::Checkpoint &model)
      : budget(budget), matrices(matrices) {
    for (const checkpoint::Tensor &tensor : model.tensors())
      otherBytes += tensor.bytes;
    for (const MatrixSensitivity &matrix : matrices) {
      otherBytes -= matrix.formats.front().bytes;
      elements += matrix.elements;
    }
  }

  uint64_t sizeOf(const Mix &mix) const { return otherBytes + mix.bytes; }
  double bitsOf(uint64_t bytes) const {
    return 8 * static_cast<double>(bytes) / static_cast<double>(elements);
  }

  /// What the sizes alone rule out.
  checkpoint::Outcome check() const {
    const auto [smallest, stored] = smallestAndStored();
    const bool isPossible = budget.divergence > 0 || (capacity() >= static_cast<double>(smallest) &&
                                                      capacity() < static_cast<double>(stored));
    return isPossible ? checkpoint::Outcome() : unattainable();
  }

  Expected<Mix> run() const {
    const bool bySize = budget.divergence == 0;
    std::vector<std::vector<KnapsackItem>> classes;
    for (const MatrixSensitivity &matrix : matrices) {
      auto &items = classes.emplace_back();
      for (const FormatCost &format : matrix.formats) {
        const auto bytes = static_cast<double>(format.bytes);
        items.push_back(bySize ? KnapsackItem{bytes, format.divergence}
                               : KnapsackItem{format.divergence, bytes});
      }
    }
    const auto solution = solveKnapsack(classes, capacity());
    if (!solution)
      return unattainable();
    Mix mix = mixOf(solution->items);
    mix.gap = solution->cost > 0 ? 1 - solution->bound / solution->cost : 0;
    // What nothing has to be quantized for is no budget.
    if (mix.bytes == smallestAndStored().second)
      return unattainable();
    return mix;
  }

private:
  double capacity() const {
    if (budget.size > 0)
      return static_cast<double>(budget.size) - static_cast<double>(otherBytes);
    return budget.divergence > 0 ? budget.divergence
                                 : budget.bits * static_cast<double>(elements) / 8;
  }

  Mix mixOf(std::vector<size_t> formats) const {
    Mix mix;
    for (size_t i = 0; i < formats.size(); ++i) {
      mix.bytes += matrices[i].formats[formats[i]].bytes;
      mix.divergence += matrices[i].formats[formats[i]].divergence;
    }
    mix.formats = std::move(formats);
    return mix;
  }

  /// Bytes of the matrices: the fewest, and those of none quantized.
  std::pair<uint64_t, uint64_t> smallestAndStored() const {
    uint64_t smallest = 0, stored = 0;
    for (const MatrixSensitivity &matrix : matrices) {
      smallest += std::ranges::min(matrix.formats, {}, &FormatCost::bytes).bytes;
      stored += matrix.formats.front().bytes;
    }
    return {smallest, stored};
  }

  checkpoint::Error unattainable() const {
    const auto [smallest, stored] = smallestAndStored();
    if (budget.size > 0)
      return {"INGOT-E2131",
              checkpoint::message("mixes of the recipe's matrices have ", otherBytes + smallest,
                                  " bytes (", compiler::readableBytes(otherBytes + smallest),
                                  ") and more, unquantized weights ", otherBytes + stored),
              shown(budget), "choose a size from the one up to the other"};
    if (budget.bits > 0)
      return {"INGOT-E2131",
              llvm::formatv("mixes of the recipe's matrices have {0:f4} bits a weight and more, "
                            "unquantized ones {1:f4}",
                            bitsOf(smallest), bitsOf(stored)),
              shown(budget), "choose a number from the one up to the other"};
    double least = std::numeric_limits<double>::infinity();
    for (const MatrixSensitivity &matrix : matrices)
      for (size_t i = 1; i < matrix.formats.size(); ++i)
        least = std::min(least, matrix.formats[i].divergence);
    return {
        "INGOT-E2131",
        llvm::formatv("one matrix alone in the best format it may get already adds an estimated "
                      "divergence of {0:e3}",
                      least),
        llvm::formatv("--max-kl {0}", budget.divergence), "choose a larger one"};
  }

  const Budget &budget;
  Matrices matrices;
  uint64_t otherBytes = 0, elements = 0;
};

std::string shown(const recipe::WeightFormat &format) {
  const std::string word(recipe::wordFor(recipe::Format, format.type));
  return recipe::isGrouped(format.type) ? checkpoint::message(word, " in groups of ", format.group)
                                        : word;
}

/// Why a matrix has its format: what that costs, and what the next larger one would.
std::string reasonFor(const MatrixSensitivity &matrix, size_t chosen) {
  const FormatCost &own = matrix.formats[chosen];
  std::string text = llvm::formatv(
      "{0:f3} bits a weight, {1} bytes, {2} fewer than stored; divergence {3:e3}",
      8 * static_cast<double>(own.bytes) / static_cast<double>(matrix.elements), own.bytes,
      static_cast<int64_t>(matrix.formats.front().bytes) - static_cast<int64_t>(own.bytes),
      own.divergence);
  const FormatCost *next = nullptr;
  for (const FormatCost &format : matrix.formats)
    if (format.bytes > own.bytes && (!next || format.bytes < next->bytes))
      next = &format;
  if (next)
    text += llvm::formatv("; {0}: {1} bytes more, {2:e3} less", shown(next->format),
                          next->bytes - own.bytes, own.divergence - next->divergence);
  return text;
}

/// A recipe with a comment in front of each rule.
std::string lockfileText(const QuantizeOptions &options, const std::string &summary,
                         Matrices matrices, const Mix &mix) {
  recipe::Recipe recipe = options.recipe;
  recipe.weights.clear();
  std::map<std::string, std::string, std::less<>> reasons;
  for (size_t i = 0; i < matrices.size(); ++i) {
    if (matrices[i].formats.size() == 1)
      continue;
    recipe.weights.push_back({matrices[i].weight, matrices[i].formats[mix.formats[i]].format});
    reasons[checkpoint::message("  - match: \"", matrices[i].weight, "\"")] =
        reasonFor(matrices[i], mix.formats[i]);
  }
  recipe.weights.insert(recipe.weights.end(), options.recipe.weights.begin(),
                        options.recipe.weights.end());
  std::string text = "# A recipe with the formats that a search of Ingot chose, " + summary;
  llvm::SmallVector<llvm::StringRef> lines;
  const std::string plain = recipe.str();
  llvm::StringRef(plain).split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef line : lines) {
    if (auto reason = reasons.find(line); reason != reasons.end())
      text += "  # " + reason->second + "\n";
    text += line.str() + "\n";
  }
  return text;
}

} // namespace

Expected<fs::path> SearchOptions::fileFor(const fs::path &output) const {
  if (lockfile.empty())
    return fs::path(output.string() + ".lock.yaml");
  if (!budget.isGiven())
    return checkpoint::Error{"INGOT-E2132", "a lockfile is what a search writes, and none is asked",
                             "--lockfile",
                             "give a budget, or read the file that is there with --recipe"};
  return lockfile;
}

/// What was measured does not depend on the budget, and takes most of the time: the cache has it.
static Expected<std::vector<MatrixSensitivity>>
sensitivityOf(mlir::MLIRContext &context, const QuantizeOptions &options,
              const checkpoint::Checkpoint &model, const std::string &key, const fs::path &folder,
              compiler::Progress &progress) {
  if (options.cache)
    if (auto kept = options.cache->get(kCacheKind, key)) {
      progress.warn("sensitivity as an earlier search measured it");
      return readSensitivity(*kept);
    }
  auto part = partOptions(options, folder);
  if (!part)
    return part.error();
  auto matrices = measureSensitivity(context, options, model, *part, progress);
  if (matrices && options.cache)
    options.cache->put(kCacheKind, key, writtenSensitivity(*matrices));
  return matrices;
}

Expected<recipe::Recipe> quantize::searchRecipe(mlir::MLIRContext &context,
                                                const QuantizeOptions &options,
                                                const Budget &budget, const fs::path &lockfile,
                                                compiler::Progress &progress) {
  if (!options.format.empty() && options.format != "compressed-tensors")
    return checkpoint::Error{
        "INGOT-E2130",
        checkpoint::message("the format ", options.format,
                            " has one format for all matrices, a budget chooses several"),
        "--format", "leave it out"};
  auto model = checkpoint::Checkpoint::open(options.model);
  if (!model)
    return model.error();
  if (auto checked = checkOptions(options, *model); !checked)
    return checked.error();
  if (auto checked = checkRecipe(context, options, *model, LayerRun::Searches); !checked)
    return checked.error();
  // A rotated model may store its head too.
  if (options.recipe.rotation == recipe::Rotation::None) {
    auto sizes = sizesInFormats(context, options, *model);
    if (!sizes)
      return sizes.error();
    if (auto possible = Search(budget, *sizes, *model).check(); !possible)
      return possible.error();
  }
  // The rotated model's files are of today.
  const std::string key = keyOf(options, *model);
  const fs::path folder = lockfile.string() + ".partial";
  llvm::scope_exit remove([&] {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  });
  QuantizeOptions own = options;
  model = rotatedIfAsked(context, own, *std::move(model), folder, progress);
  if (!model)
    return model.error();
  auto matrices = sensitivityOf(context, own, *model, key, folder, progress);
  if (!matrices)
    return matrices.error();
  progress.begin("choose formats");
  const Search search(budget, *matrices, *model);
  auto mix = search.run();
  if (!mix)
    return mix.error();
  const std::string figures = llvm::formatv(
      "{0} bytes of weights, {1:f4} bits a weight of the layers' matrices, estimated divergence "
      "{2:f5}; no mix is {3} by more than {4:f3} %",
      search.sizeOf(*mix), search.bitsOf(mix->bytes), mix->divergence,
      budget.divergence > 0 ? "smaller" : "better", 100 * mix->gap);
  const std::string text =
      lockfileText(options, "for " + shown(budget) + ":\n# " + figures + ".\n", *matrices, *mix);
  // What is used is what the file says.
  auto recipe = recipe::Recipe::parse(text, lockfile.string());
  if (!recipe)
    return recipe.error();
  if (auto written = writeWhole(lockfile, text); !written)
    return written.error();
  progress.end(figures);
  return recipe;
}
