// SPDX-License-Identifier: Apache-2.0
// All scales of a layer are searched and folded before any of its matrices is rounded, for a
// folded scale changes the matrix that makes the input.
#include "compiler/quantize/LayerQuantizer.h"

#include "compiler/quantize/StoredMatrices.h"
#include "compiler/quantize/methods/Awq.h"
#include "compiler/quantize/methods/SmoothQuant.h"
#include "compiler/recipe/Presets.h"
#include "compiler/recipe/RecipeWords.h"
#include "compiler/weights/WeightNumerics.h"

#include <cmath>
#include <map>

using namespace ingot;
using namespace ingot::quantize;
using checkpoint::Error;
using checkpoint::Expected;
using checkpoint::Outcome;
using compiler::Product;
using compiler::ProductGroup;
using recipe::NumberFormat;

bool quantize::readsInputs(const recipe::Recipe &recipe) {
  return recipe::isCalibrated(recipe.method) || recipe::isStatic(recipe.activations.compute) ||
         recipe::isStatic(recipe.kvCache);
}

float quantize::staticScale(NumberFormat type, float most) {
  return most > 0 ? most / (type == NumberFormat::E4M3Static ? 448.0f : 127.0f) : 1;
}

/// What products of a matrix of `type` read, if as many bits as it has.
static NumberFormat inputsOf(const recipe::Recipe &recipe, NumberFormat type) {
  const NumberFormat compute = recipe.activations.compute;
  const bool isAlike = type == NumberFormat::Int8
                           ? compute == NumberFormat::Int8 || compute == NumberFormat::Int8Static
                           : type == NumberFormat::E4M3 && (compute == NumberFormat::E4M3 ||
                                                            compute == NumberFormat::E4M3Static);
  return isAlike ? compute : NumberFormat::Stored;
}

std::optional<ModuleRecord> quantize::recordFor(const LayerSettings &settings,
                                                const Product &product, std::string &explanation) {
  if (product.small)
    return std::nullopt;
  ModuleRecord record;
  record.format = settings.recipe.formatFor(product.weight);
  const recipe::WeightFormat asked = record.format;
  if (!recipe::isNarrow(asked.type))
    return std::nullopt;
  auto keep = [&](const std::string &why) {
    explanation = "kept as it is: " + why;
    return std::nullopt;
  };
  if (!settings.layout.holds(asked.type))
    return keep(checkpoint::message(settings.layout.name(), " does not hold ",
                                    recipe::wordFor(recipe::Format, asked.type)));
  record.inputs = inputsOf(settings.recipe, asked.type);
  if (recipe::isGrouped(asked.type))
    while (record.format.group > 32 && product.columns % record.format.group != 0)
      record.format.group /= 2;
  if (record.format.group != asked.group)
    explanation = checkpoint::message("groups of ", record.format.group, ": ", asked.group,
                                      " do not divide its ", product.columns, " columns");
  const recipe::WeightFormat nearest = settings.layout.nearest(record);
  if (nearest != record.format)
    explanation = checkpoint::message(
        settings.layout.name(), " has ", nearest.group == recipe::kWholeTensor ? "one" : "a",
        " scale for each ", nearest.group == recipe::kWholeTensor ? "matrix" : "row",
        " with such activations");
  record.format = nearest;
  const std::string refusal = settings.layout.refusal(record, product.rows, product.columns);
  if (!refusal.empty())
    return keep(refusal);
  if (explanation.empty() && recipe::isSensitive(settings.recipe, product.weight))
    explanation = checkpoint::message(recipe::wordFor(recipe::Format, record.format.type), ": ",
                                      recipe::kWhySensitive);
  record.explanation = explanation;
  return record;
}

bool quantize::isQuantized(const LayerSettings &settings, const ProductGroup &group) {
  std::string unused;
  return std::any_of(group.products.begin(), group.products.end(), [&](const Product &product) {
    return recordFor(settings, product, unused).has_value();
  });
}

namespace {

/// A tensor or matrix of the checkpoint as f32, and whether it is still what is stored.
struct Loaded {
  const checkpoint::Tensor *tensor = nullptr;
  const Product *product = nullptr; ///< of a matrix of the groups
  std::vector<float> values;
  bool changed = false;
};

class LayerWork {
public:
  LayerWork(const LayerSettings &settings, std::span<const ProductGroup *const> groups)
      : settings(settings) {
    for (const ProductGroup *group : groups)
      for (const Product &product : group->products)
        products[product.weight] = &product;
  }

  Expected<Loaded *> load(const std::string &name) {
    auto [entry, isNew] = loaded.try_emplace(name);
    Loaded &result = entry->second;
    if (!isNew)
      return &result;
    const auto product = products.find(name);
    if (product != products.end())
      result.product = product->second;
    auto tensor = settings.checkpoint.get(result.product ? holderOf(*result.product) : name);
    if (!tensor)
      return tensor.error();
    result.tensor = *tensor;
    const uint64_t count = (*tensor)->bytes * 8 / checkpoint::dtypeUnit((*tensor)->dtype).bits;
    auto values = result.product ? readMatrix(settings.checkpoint, *result.product)
                                 : readValues(settings.checkpoint, **tensor, 0, count);
    if (!values)
      return values.error();
    result.values = *std::move(values);
    return &result;
  }

  /// Scales the inputs of `group` where that makes its products more exact.
  Outcome scale(const ProductGroup &group, InputStatistics &statistics);
  /// Rounds the group's matrices. `statistics`: what methods may go by, or null; `inputMost`: the
  /// largest magnitude of inputs that are known.
  Outcome round(const ProductGroup &group, const InputStatistics *statistics, float inputMost,
                LayerResult &result);
  /// What was changed but not rounded.
  void keepChanged(LayerResult &result);

private:
  Outcome fold(const ProductGroup &group, std::vector<float> &scales);
  /// Scales for the group's inputs that lower the error; empty where none do.
  Expected<std::vector<float>> searchScales(const ProductGroup &group,
                                            const InputStatistics &statistics);
  /// The largest magnitude of the group's matrices of NVFP4.
  Expected<float> largestOf(const ProductGroup &group);
  Outcome roundProduct(const Product &product, ModuleRecord record, float largest,
                       const InputStatistics *statistics, LayerResult &result);
  TensorData stored(const Loaded &tensor) const;

  const LayerSettings &settings;
  std::map<std::string, const Product *> products;
  std::map<std::string, Loaded> loaded;
};

TensorData LayerWork::stored(const Loaded &tensor) const {
  if (tensor.product) {
    TensorData data = plainMatrix(*tensor.product, tensor.tensor->dtype, tensor.values);
    data.header.name = shownName(settings.checkpoint, *tensor.product);
    return data;
  }
  TensorData data{{settings.checkpoint.shownName(tensor.tensor->name), tensor.tensor->dtype,
                   tensor.tensor->shape},
                  {}};
  data.bytes.resize(data.header.bytes());
  compiler::narrow(*checkpoint::readAs(tensor.tensor->dtype), tensor.values.data(),
                   data.bytes.data(), static_cast<int64_t>(tensor.values.size()));
  return data;
}

/// `values` as they are after they were stored.
void roundTo(checkpoint::DType type, std::vector<float> &values) {
  const auto element = *checkpoint::readAs(type);
  std::vector<std::byte> bytes(values.size() * checkpoint::dtypeUnit(type).bits / 8);
  compiler::narrow(element, values.data(), bytes.data(), static_cast<int64_t>(values.size()));
  compiler::widen(element, bytes.data(), values.data(), static_cast<int64_t>(values.size()));
}

/// Divides what makes the group's input by `scales`. A norm's numbers are rounded again, so the
/// scales become what their rounding divided by: then nothing changes but by f32's rounding.
Outcome LayerWork::fold(const ProductGroup &group, std::vector<float> &scales) {
  auto source = load(group.sourceWeight);
  if (!source)
    return source.error();
  std::vector<float> &values = (*source)->values;
  (*source)->changed = true;
  const size_t columns = scales.size();
  if (group.source == ProductGroup::Source::Product) {
    const size_t width = values.size() / columns;
    for (size_t row = 0; row < columns; ++row)
      for (size_t i = 0; i < width; ++i)
        values[row * width + i] /= scales[row];
    return {};
  }
  const float one = group.lessOne ? 1.0f : 0.0f;
  std::vector<float> before = values;
  for (size_t i = 0; i < columns; ++i)
    values[i] = (values[i] + one) / scales[i] - one;
  roundTo((*source)->tensor->dtype, values);
  for (size_t i = 0; i < columns; ++i) {
    const float was = before[i] + one, is = values[i] + one;
    scales[i] = was != 0 && is != 0 ? was / is : 1;
    if (was != 0 && is == 0) // the factor must not be lost
      values[i] = before[i];
  }
  if (group.sourceBias.empty())
    return {};
  auto bias = load(group.sourceBias);
  if (!bias)
    return bias.error();
  (*bias)->changed = true;
  for (size_t i = 0; i < columns; ++i)
    (*bias)->values[i] /= scales[i];
  return {};
}

Expected<std::vector<float>> LayerWork::searchScales(const ProductGroup &group,
                                                     const InputStatistics &statistics) {
  const bool isSmooth = settings.recipe.method == recipe::Method::SmoothQuant;
  std::string unused;
  std::vector<AwqMatrix> matrices;
  std::optional<Grid> grid;
  for (const Product &product : group.products) {
    auto record = recordFor(settings, product, unused);
    if (!record || (isSmooth && record->inputs == NumberFormat::Stored))
      continue;
    auto own = gridOf(record->format, settings.scales);
    if (!own)
      continue;
    if (!grid || own->bits < grid->bits) // the one that loses most decides
      grid = own;
    auto weight = load(product.weight);
    if (!weight)
      return weight.error();
    matrices.push_back({(*weight)->values.data(), product.rows});
  }
  if (matrices.empty())
    return std::vector<float>();
  if (isSmooth) {
    auto found =
        searchStrength(matrices, group.columns, statistics.sampled.data(), statistics.sampledRows(),
                       statistics.most, {.threads = settings.threads});
    if (!found)
      return found.error();
    return found->isNone ? std::vector<float>() : std::move(found->scales);
  }
  AwqOptions options;
  options.weightScales = true;
  options.threads = settings.threads;
  auto found = searchScale(matrices, group.columns, statistics.sampled.data(),
                           statistics.sampledRows(), statistics.meanMagnitudes(), *grid, options);
  if (!found)
    return found.error();
  return found->error < found->errorWithout ? std::move(found->scales) : std::vector<float>();
}

Outcome LayerWork::scale(const ProductGroup &group, InputStatistics &statistics) {
  if (group.source == ProductGroup::Source::None)
    return {};
  auto found = searchScales(group, statistics);
  if (!found)
    return found.error();
  if (found->empty())
    return {};
  std::vector<float> scales = *std::move(found);
  if (auto folded = fold(group, scales); !folded)
    return folded;
  const auto columns = static_cast<size_t>(group.columns);
  for (const Product &product : group.products) {
    auto weight = load(product.weight);
    if (!weight)
      return weight.error();
    (*weight)->changed = true;
    for (size_t i = 0; i < (*weight)->values.size(); ++i)
      (*weight)->values[i] *= scales[i % columns];
  }
  statistics.divideColumns(scales);
  return {};
}

Expected<float> LayerWork::largestOf(const ProductGroup &group) {
  std::string unused;
  float largest = 0;
  for (const Product &product : group.products) {
    auto record = recordFor(settings, product, unused);
    if (!record || record->format.type != NumberFormat::NVFP4)
      continue;
    auto weight = load(product.weight);
    if (!weight)
      return weight.error();
    for (float value : (*weight)->values)
      largest = std::max(largest, std::abs(value));
  }
  return largest;
}

Outcome LayerWork::roundProduct(const Product &product, ModuleRecord record, float largest,
                                const InputStatistics *statistics, LayerResult &result) {
  auto weight = load(product.weight);
  if (!weight)
    return weight.error();
  const recipe::Method method = settings.recipe.method;
  const bool isOfBytes = record.inputs != NumberFormat::Stored;
  auto encoded = encodeMatrix((*weight)->values.data(), product.rows, product.columns,
                              {record.format, method, isOfBytes ? ScaleType::F32 : settings.scales,
                               largest, settings.threads},
                              recipe::isCalibrated(method) ? statistics : nullptr);
  record.module = shownName(settings.checkpoint, product);
  if (!encoded)
    return Error{encoded.error().code, encoded.error().what, record.module, encoded.error().fix};
  record.error = encoded->error;
  result.replaced.insert(settings.checkpoint.shownName(holderOf(product)));
  record.module.resize(record.module.size() - std::string_view(".weight").size());
  for (TensorData &tensor : settings.layout.tensors(record, encoded->matrix))
    result.stored.push_back(std::move(tensor));
  std::vector<float> &meant = (*weight)->values;
  std::visit([&](const auto &matrix) { matrix.dequantize(meant.data()); }, encoded->matrix);
  result.decoded.push_back(plainMatrix(product, checkpoint::DType::F32, std::move(meant)));
  result.modules.push_back(std::move(record));
  loaded.erase(product.weight);
  return {};
}

Outcome LayerWork::round(const ProductGroup &group, const InputStatistics *statistics,
                         float inputMost, LayerResult &result) {
  auto largest = largestOf(group);
  if (!largest)
    return largest.error();
  for (const Product &product : group.products) {
    std::string explanation;
    auto record = recordFor(settings, product, explanation);
    if (!record && !explanation.empty())
      result.refusals.push_back(shownName(settings.checkpoint, product) + ": " + explanation);
    if (!record && !product.stack)
      continue;
    if (!record) { // no tensor is left that holds it
      auto weight = load(product.weight);
      if (!weight)
        return weight.error();
      (*weight)->changed = true;
      continue;
    }
    if (recipe::isStatic(record->inputs))
      record->inputScale = staticScale(record->inputs, inputMost);
    if (auto done = roundProduct(product, *std::move(record), *largest, statistics, result); !done)
      return done;
  }
  return {};
}

void LayerWork::keepChanged(LayerResult &result) {
  for (auto &[name, tensor] : loaded) {
    if (!tensor.changed)
      continue;
    result.stored.push_back(stored(tensor));
    result.replaced.insert(settings.checkpoint.shownName(tensor.tensor->name));
    TensorData decoded = result.stored.back();
    decoded.header.name = name;
    result.decoded.push_back(std::move(decoded));
  }
}

} // namespace

/// Groups between which scales may be folded: `statistics` may be empty.
static Outcome quantizeTogether(const LayerSettings &settings,
                                std::span<const ProductGroup *const> groups,
                                std::span<InputStatistics> statistics, LayerResult &result) {
  LayerWork work(settings, groups);
  std::vector<InputStatistics *> known(groups.size());
  for (size_t i = 0; i < statistics.size(); ++i)
    if (hasEnoughRows(*groups[i], statistics[i]))
      known[i] = &statistics[i];
  if (recipe::scalesInputs(settings.recipe.method))
    for (size_t i = 0; i < groups.size(); ++i)
      if (known[i])
        if (auto scaled = work.scale(*groups[i], *known[i]); !scaled)
          return scaled;
  for (size_t i = 0; i < groups.size(); ++i) {
    float most = 0;
    if (known[i])
      for (float column : statistics[i].most)
        most = std::max(most, column);
    else if (!statistics.empty()) // no token of the expert's is clipped that another could have
      most = statistics[i].mostOfAll;
    if (auto rounded = work.round(*groups[i], known[i], most, result); !rounded)
      return rounded;
  }
  work.keepChanged(result);
  return {};
}

bool quantize::hasEnoughRows(const ProductGroup &group, const InputStatistics &statistics) {
  return !group.routed || statistics.moments.count() >= kFewestRows;
}

Expected<LayerResult> quantize::quantizeGroups(const LayerSettings &settings,
                                               std::span<const ProductGroup *const> groups,
                                               std::span<InputStatistics> statistics) {
  LayerResult result;
  for (size_t first = 0, end = 0; first < groups.size(); first = end) {
    while (end < groups.size() && expertOf(*groups[end]) == expertOf(*groups[first]))
      ++end;
    auto own = statistics.empty() ? statistics : statistics.subspan(first, end - first);
    if (auto done = quantizeTogether(settings, groups.subspan(first, end - first), own, result);
        !done)
      return done.error();
  }
  return result;
}
