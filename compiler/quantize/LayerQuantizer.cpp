// SPDX-License-Identifier: Apache-2.0
// All scales of a layer are searched and folded before any of its matrices is rounded, for a
// folded scale changes the matrix that makes the input.
#include "compiler/quantize/LayerQuantizer.h"

#include "compiler/quantize/StoredMatrices.h"
#include "compiler/quantize/methods/Awq.h"
#include "compiler/quantize/methods/Gptq.h"
#include "compiler/quantize/methods/RoundToNearest.h"
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

std::optional<Grid> quantize::gridFor(const LayerSettings &settings, const Product &product,
                                      std::string &explanation) {
  using recipe::NumberFormat;
  if (product.small)
    return std::nullopt;
  const recipe::WeightFormat format = settings.recipe.formatFor(product.weight);
  static constexpr std::pair<NumberFormat, int32_t> kBits[] = {{NumberFormat::Int3, 3},
                                                               {NumberFormat::Int4, 4},
                                                               {NumberFormat::Int5, 5},
                                                               {NumberFormat::Int6, 6}};
  for (const auto &[type, bits] : kBits) {
    if (type != format.type)
      continue;
    Grid grid{bits, format.group, format.zeroPoints, settings.scales};
    while (grid.group > 32 && product.columns % grid.group != 0)
      grid.group /= 2;
    if (grid.group != format.group)
      explanation = checkpoint::message("groups of ", grid.group, ": ", format.group,
                                        " do not divide its ", product.columns, " columns");
    const std::string refusal = settings.layout.refusal(grid, product.rows, product.columns);
    if (refusal.empty())
      return grid;
    explanation = checkpoint::message("kept as it is: ", refusal);
  }
  return std::nullopt;
}

bool quantize::isQuantized(const LayerSettings &settings, const ProductGroup &group) {
  std::string unused;
  return std::any_of(group.products.begin(), group.products.end(), [&](const Product &product) {
    return gridFor(settings, product, unused).has_value();
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
    if (result.product) {
      auto values = readMatrix(settings.checkpoint, *result.product);
      if (!values)
        return values.error();
      result.values = *std::move(values);
      return &result;
    }
    auto element = checkpoint::readAs((*tensor)->dtype);
    std::vector<std::byte> bytes((*tensor)->bytes);
    if (auto read = settings.checkpoint.read(**tensor, 0, bytes); !read)
      return read.error();
    result.values.resize(bytes.size() * 8 / checkpoint::dtypeUnit((*tensor)->dtype).bits);
    compiler::widen(*element, bytes.data(), result.values.data(),
                    static_cast<int64_t>(result.values.size()));
    return &result;
  }

  /// Scales the inputs of `group` where that makes its products more exact.
  Outcome scale(const ProductGroup &group, InputStatistics &statistics);
  /// Rounds the group's matrices; `statistics` may be null.
  Outcome round(const ProductGroup &group, InputStatistics *statistics, LayerResult &result);
  /// What was changed but not rounded.
  void keepChanged(LayerResult &result);

private:
  Outcome fold(const ProductGroup &group, std::vector<float> &scales);
  Expected<QuantizedMatrix> roundMatrix(const Grid &grid, const Product &product,
                                        std::vector<float> &weight, InputStatistics *statistics,
                                        double &error);
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

Outcome LayerWork::scale(const ProductGroup &group, InputStatistics &statistics) {
  if (group.source == ProductGroup::Source::None)
    return {};
  std::string unused;
  std::vector<AwqMatrix> matrices;
  std::optional<Grid> grid;
  for (const Product &product : group.products) {
    auto own = gridFor(settings, product, unused);
    if (!own)
      continue;
    grid = own;
    auto weight = load(product.weight);
    if (!weight)
      return weight.error();
    matrices.push_back({(*weight)->values.data(), product.rows});
  }
  if (!grid)
    return {};
  std::vector<float> magnitudes;
  for (double sum : statistics.magnitudes)
    magnitudes.push_back(static_cast<float>(sum / static_cast<double>(statistics.moments.count())));
  AwqOptions options;
  options.weightScales = true;
  options.threads = settings.threads;
  auto found = searchScale(matrices, group.columns, statistics.sampled.data(),
                           static_cast<int64_t>(statistics.sampled.size()) / group.columns,
                           magnitudes, *grid, options);
  if (!found)
    return found.error();
  if (found->error >= found->errorWithout)
    return {};
  std::vector<float> scales = std::move(found->scales);
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
  statistics.moments.divideColumns(scales);
  for (size_t i = 0; i < statistics.sampled.size(); ++i)
    statistics.sampled[i] /= scales[i % columns];
  return {};
}

Expected<QuantizedMatrix> LayerWork::roundMatrix(const Grid &grid, const Product &product,
                                                 std::vector<float> &weight,
                                                 InputStatistics *statistics, double &error) {
  const recipe::Method method = settings.recipe.method;
  ClipSearch clip;
  if (method != recipe::Method::Round)
    clip.steps = 20;
  if (!statistics)
    return roundToNearest(weight.data(), product.rows, product.columns, grid, clip, {},
                          settings.threads);
  if (!recipe::usesGptq(method)) {
    AwqClipOptions options;
    options.threads = settings.threads;
    auto clipped = clipWeights(
        weight.data(), product.rows, product.columns, statistics->sampled.data(),
        static_cast<int64_t>(statistics->sampled.size()) / product.columns, grid, options);
    if (!clipped)
      return clipped.error();
    return roundToNearest(clipped->data(), product.rows, product.columns, grid, {}, {},
                          settings.threads);
  }
  GptqOptions options;
  options.clip = clip;
  options.sweeps = method == recipe::Method::Best ? 20 : 0;
  options.threads = settings.threads;
  auto result =
      gptq(weight.data(), product.rows, product.columns, grid, statistics->moments, options);
  if (!result)
    return result.error();
  error = result->error;
  return std::move(result->matrix);
}

Outcome LayerWork::round(const ProductGroup &group, InputStatistics *statistics,
                         LayerResult &result) {
  for (const Product &product : group.products) {
    ModuleRecord record;
    auto grid = gridFor(settings, product, record.explanation);
    if (!grid && !product.stack)
      continue;
    auto weight = load(product.weight);
    if (!weight)
      return weight.error();
    if (!grid) { // no tensor is left that holds it
      (*weight)->changed = true;
      continue;
    }
    auto matrix = roundMatrix(*grid, product, (*weight)->values, statistics, record.error);
    if (!matrix)
      return Error{matrix.error().code, matrix.error().what,
                   shownName(settings.checkpoint, product), matrix.error().fix};
    record.grid = *grid;
    record.module = shownName(settings.checkpoint, product);
    result.replaced.insert(settings.checkpoint.shownName(holderOf(product)));
    record.module.resize(record.module.size() - std::string_view(".weight").size());
    for (TensorData &tensor : settings.layout.tensors(record.module, *matrix))
      result.stored.push_back(std::move(tensor));
    std::vector<float> &meant = (*weight)->values;
    matrix->dequantize(meant.data());
    result.decoded.push_back(plainMatrix(product, checkpoint::DType::F32, std::move(meant)));
    result.modules.push_back(std::move(record));
    loaded.erase(product.weight);
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
  if (recipe::usesAwq(settings.recipe.method))
    for (size_t i = 0; i < groups.size(); ++i)
      if (known[i])
        if (auto scaled = work.scale(*groups[i], *known[i]); !scaled)
          return scaled;
  for (size_t i = 0; i < groups.size(); ++i)
    if (auto rounded = work.round(*groups[i], known[i], result); !rounded)
      return rounded;
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
