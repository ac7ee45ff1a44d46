// SPDX-License-Identifier: Apache-2.0
// All scales of a layer are searched and folded before any of its matrices is rounded, for a
// folded scale changes the matrix that makes the input.
#include "compiler/quantize/LayerQuantizer.h"

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

void InputStatistics::add(std::span<const float> rows, std::span<const float> original,
                          int64_t stride, unsigned threads) {
  const int64_t columns = moments.columns();
  const auto count = static_cast<int64_t>(rows.size()) / columns;
  if (original.empty())
    moments.add(rows.data(), count, threads);
  else
    moments.add(rows.data(), original.data(), count, threads);
  magnitudes.resize(static_cast<size_t>(columns));
  for (int64_t row = 0; row < count; ++row) {
    const auto values =
        rows.subspan(static_cast<size_t>(row * columns), static_cast<size_t>(columns));
    for (size_t i = 0; i < values.size(); ++i)
      magnitudes[i] += std::abs(values[i]);
    if (row % stride == 0)
      sampled.insert(sampled.end(), values.begin(), values.end());
  }
}

std::optional<Grid> quantize::gridFor(const LayerSettings &settings, const Product &product,
                                      std::string &explanation) {
  using recipe::NumberFormat;
  const recipe::WeightFormat format = settings.recipe.formatFor(product.weight);
  static constexpr std::pair<NumberFormat, int32_t> kBits[] = {{NumberFormat::Int3, 3},
                                                               {NumberFormat::Int4, 4},
                                                               {NumberFormat::Int5, 5},
                                                               {NumberFormat::Int6, 6},
                                                               {NumberFormat::Int8, 8}};
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

ClipSearch quantize::clipSearchOf(recipe::Method method) {
  ClipSearch clip;
  if (method != recipe::Method::Round)
    clip.steps = 20;
  return clip;
}

Expected<std::vector<float>> quantize::readValues(const checkpoint::Checkpoint &checkpoint,
                                                  const checkpoint::Tensor &tensor) {
  std::vector<std::byte> bytes(tensor.bytes);
  if (auto read = checkpoint.read(tensor, 0, bytes); !read)
    return read.error();
  std::vector<float> values(bytes.size() * 8 / checkpoint::dtypeUnit(tensor.dtype).bits);
  compiler::widen(*checkpoint::readAs(tensor.dtype), bytes.data(), values.data(),
                  static_cast<int64_t>(values.size()));
  return values;
}

bool quantize::isQuantized(const LayerSettings &settings, const ProductGroup &group) {
  std::string unused;
  return std::any_of(group.products.begin(), group.products.end(), [&](const Product &product) {
    return gridFor(settings, product, unused).has_value();
  });
}

namespace {

/// A tensor of the checkpoint as f32, and whether it is still what is stored.
struct Loaded {
  const checkpoint::Tensor *tensor = nullptr;
  std::vector<float> values;
  bool changed = false;
};

class LayerWork {
public:
  explicit LayerWork(const LayerSettings &settings) : settings(settings) {}

  Expected<Loaded *> load(const std::string &name) {
    auto [entry, isNew] = loaded.try_emplace(name);
    Loaded &result = entry->second;
    if (!isNew)
      return &result;
    auto tensor = settings.checkpoint.get(name);
    if (!tensor)
      return tensor.error();
    result.tensor = *tensor;
    auto values = readValues(settings.checkpoint, **tensor);
    if (!values)
      return values.error();
    result.values = *std::move(values);
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
  std::map<std::string, Loaded> loaded;
};

TensorData LayerWork::stored(const Loaded &tensor) const {
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
    if (!grid || own->bits < grid->bits) // the one that loses most decides
      grid = own;
    auto weight = load(product.weight);
    if (!weight)
      return weight.error();
    matrices.push_back({(*weight)->values.data(), product.rows});
  }
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
  const ClipSearch clip = clipSearchOf(method);
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
    if (!grid)
      continue;
    auto weight = load(product.weight);
    if (!weight)
      return weight.error();
    auto matrix = roundMatrix(*grid, product, (*weight)->values, statistics, record.error);
    if (!matrix)
      return Error{matrix.error().code, matrix.error().what,
                   settings.checkpoint.shownName(product.weight), matrix.error().fix};
    record.grid = *grid;
    record.module = settings.checkpoint.shownName(product.weight);
    result.replaced.insert(record.module);
    record.module.resize(record.module.size() - std::string_view(".weight").size());
    for (TensorData &tensor : settings.layout.tensors(record.module, *matrix))
      result.stored.push_back(std::move(tensor));
    TensorData decoded{{product.weight, checkpoint::DType::F32, (*weight)->tensor->shape}, {}};
    decoded.bytes.resize(decoded.header.bytes());
    matrix->dequantize(reinterpret_cast<float *>(decoded.bytes.data()));
    result.decoded.push_back(std::move(decoded));
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
    result.replaced.insert(result.stored.back().header.name);
    TensorData decoded = result.stored.back();
    decoded.header.name = name;
    result.decoded.push_back(std::move(decoded));
  }
}

} // namespace

Expected<LayerResult> quantize::quantizeLayer(const LayerSettings &settings,
                                              const compiler::ProductList &products,
                                              std::span<InputStatistics> statistics) {
  LayerResult result;
  LayerWork work(settings);
  std::vector<const ProductGroup *> groups;
  for (const ProductGroup &group : products.groups)
    if (isQuantized(settings, group))
      groups.push_back(&group);
  if (!statistics.empty() && recipe::usesAwq(settings.recipe.method))
    for (size_t i = 0; i < groups.size(); ++i)
      if (auto scaled = work.scale(*groups[i], statistics[i]); !scaled)
        return scaled.error();
  for (size_t i = 0; i < groups.size(); ++i)
    if (auto rounded =
            work.round(*groups[i], statistics.empty() ? nullptr : &statistics[i], result);
        !rounded)
      return rounded.error();
  work.keepChanged(result);
  return result;
}
