// SPDX-License-Identifier: Apache-2.0
// Layouts of compressed-tensors, AutoAWQ and AutoGPTQ, as the readers of compiler/importers/formats
// take them.
#include "compiler/quantize/StoredLayouts.h"

#include <array>
#include <bit>
#include <cstring>
#include <map>
#include <set>

using namespace ingot;
using namespace ingot::quantize;
using checkpoint::DType;
using checkpoint::Error;
using checkpoint::Expected;
using json = nlohmann::ordered_json;

namespace {

DType typeOf(ScaleType type) {
  switch (type) {
  case ScaleType::F16:
    return DType::F16;
  case ScaleType::BF16:
    return DType::BF16;
  case ScaleType::F32:
    return DType::F32;
  }
  return DType::F32;
}

/// The value's 16 or 32 bits; it is representable in `type`.
uint32_t bitsOfScale(ScaleType type, float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (type == ScaleType::BF16)
    return bits >> 16;
  if (type == ScaleType::F32)
    return bits;
  return std::bit_cast<uint16_t>(static_cast<_Float16>(value));
}

/// Scales of `matrix`, [rows, groups], or transposed.
TensorData scaleTensor(std::string name, const QuantizedMatrix &matrix, bool transposed) {
  const int64_t rows = matrix.rows, groups = matrix.groups();
  const ScaleType type = matrix.grid.scales;
  TensorData tensor{{std::move(name), typeOf(type), {}}, {}};
  tensor.header.shape = {static_cast<uint64_t>(transposed ? groups : rows),
                         static_cast<uint64_t>(transposed ? rows : groups)};
  const size_t width = type == ScaleType::F32 ? 4 : 2;
  tensor.bytes.resize(tensor.header.bytes());
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t group = 0; group < groups; ++group) {
      const uint32_t bits =
          bitsOfScale(type, matrix.scales[static_cast<size_t>(row * groups + group)]);
      const auto place =
          static_cast<size_t>(transposed ? group * rows + row : row * groups + group);
      std::memcpy(tensor.bytes.data() + place * width, &bits, width);
    }
  return tensor;
}

/// Words of fields of `bits` bits, low ones first: `count` runs of `length` fields, each of which
/// begins with a word of its own. `field(run, i)`.
template <class Field>
std::vector<std::byte> packWords(int64_t count, int64_t length, int32_t bits, const Field &field) {
  const int64_t words = (length * bits + 31) / 32;
  std::vector<std::byte> bytes(static_cast<size_t>(count * words) * 4);
  std::vector<uint32_t> run(static_cast<size_t>(words));
  for (int64_t i = 0; i < count; ++i) {
    std::fill(run.begin(), run.end(), 0);
    for (int64_t k = 0; k < length; ++k) {
      const int64_t bit = k * bits;
      run[static_cast<size_t>(bit / 32)] |= uint32_t{field(i, k)} << (bit % 32);
    }
    std::memcpy(bytes.data() + static_cast<size_t>(i * words) * 4, run.data(), run.size() * 4);
  }
  return bytes;
}

/// Where `part` stands: words of `run` fields along the rows of a [rows, columns] matrix that is
/// stored with words along columns.
std::vector<std::byte> transposeWords(const std::vector<std::byte> &words, int64_t rows,
                                      int64_t columns) {
  std::vector<std::byte> out(words.size());
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t k = 0; k < columns; ++k)
      std::memcpy(out.data() + (k * rows + i) * 4, words.data() + (i * columns + k) * 4, 4);
  return out;
}

/// The code that stands for zero.
uint8_t zeroOf(const QuantizedMatrix &matrix, int64_t row, int64_t group) {
  return matrix.zeros.empty() ? static_cast<uint8_t>(1 << (matrix.grid.bits - 1))
                              : matrix.zeros[static_cast<size_t>(row * matrix.groups() + group)];
}

uint8_t codeOf(const QuantizedMatrix &matrix, int64_t row, int64_t column) {
  return matrix.codes[static_cast<size_t>(row * matrix.columns + column)];
}

json listOf(std::span<const std::string> names) {
  return json(std::vector(names.begin(), names.end()));
}

/// What layouts of words have in common.
std::string refusalOfWords(const Grid &grid, int64_t columns) {
  if (grid.group > 0 && columns % grid.group != 0)
    return "its columns are no whole number of groups";
  return columns * grid.bits % 32 != 0 ? "its rows are no whole number of words" : "";
}

class CompressedTensors : public StoredLayout {
public:
  std::string_view name() const override { return "compressed-tensors"; }

  ScaleType scaleType(DType own) const override {
    return own == DType::BF16  ? ScaleType::BF16
           : own == DType::F16 ? ScaleType::F16
                               : ScaleType::F32;
  }

  std::string refusal(const Grid &grid, int64_t rows, int64_t columns) const override {
    if (grid.bits != 4 && grid.bits != 8)
      return "words of compressed-tensors hold 4 or 8 bits";
    if (grid.zeroPoints && rows * grid.bits % 32 != 0)
      return "its rows are no whole number of words of zero points";
    return refusalOfWords(grid, columns);
  }

  std::vector<TensorData> tensors(const std::string &module,
                                  const QuantizedMatrix &matrix) const override {
    const auto rows = static_cast<uint64_t>(matrix.rows),
               groups = static_cast<uint64_t>(matrix.groups());
    const auto bits = static_cast<uint64_t>(matrix.grid.bits);
    std::vector<TensorData> tensors;
    tensors.push_back(
        {{module + ".weight_packed",
          DType::I32,
          {rows, static_cast<uint64_t>(matrix.columns) * bits / 32}},
         packWords(matrix.rows, matrix.columns, matrix.grid.bits,
                   [&](int64_t row, int64_t column) { return codeOf(matrix, row, column); })});
    tensors.push_back(scaleTensor(module + ".weight_scale", matrix, false));
    TensorData shape{{module + ".weight_shape", DType::I64, {2}}, {}};
    const int64_t extents[] = {matrix.rows, matrix.columns};
    auto bytes = std::as_bytes(std::span(extents));
    shape.bytes.assign(bytes.begin(), bytes.end());
    tensors.push_back(std::move(shape));
    if (!matrix.zeros.empty()) {
      // Words run along the rows, of each group's column.
      auto words =
          packWords(matrix.groups(), matrix.rows, matrix.grid.bits,
                    [&](int64_t group, int64_t row) { return zeroOf(matrix, row, group); });
      tensors.push_back(
          {{module + ".weight_zero_point", DType::I32, {rows * bits / 32, groups}},
           transposeWords(words, matrix.groups(), static_cast<int64_t>(rows * bits / 32))});
    }
    return tensors;
  }

  Expected<json> configuration(std::span<const ModuleRecord> modules,
                               std::span<const std::string> kept) const override {
    std::map<std::tuple<int64_t, int32_t, bool>, std::vector<std::string>> byGrid;
    for (const ModuleRecord &record : modules)
      byGrid[{record.grid.group, record.grid.bits, record.grid.zeroPoints}].push_back(
          record.module);
    json groups = json::object();
    for (const auto &[key, names] : byGrid) {
      const auto &[group, bits, zeroPoints] = key;
      json weights = {{"num_bits", bits},
                      {"type", "int"},
                      {"symmetric", !zeroPoints},
                      {"strategy", group > 0 ? "group" : "channel"},
                      {"group_size", group > 0 ? json(group) : json()},
                      {"dynamic", false},
                      {"actorder", nullptr},
                      {"block_structure", nullptr},
                      {"observer", "minmax"},
                      {"observer_kwargs", json::object()}};
      groups["group_" + std::to_string(groups.size())] = {
          {"targets", byGrid.size() == 1 ? json({"Linear"}) : listOf(names)},
          {"weights", std::move(weights)},
          {"input_activations", nullptr},
          {"output_activations", nullptr}};
    }
    return json{{"quant_method", "compressed-tensors"},
                {"format", "pack-quantized"},
                {"quantization_status", "compressed"},
                {"global_compression_ratio", nullptr},
                {"kv_cache_scheme", nullptr},
                {"config_groups", std::move(groups)},
                {"ignore", listOf(kept)}};
  }
};

/// One grid for all of them.
Expected<Grid> onlyGrid(std::span<const ModuleRecord> modules, std::string_view layout) {
  for (const ModuleRecord &record : modules)
    if (record.grid.group != modules.front().grid.group ||
        record.grid.bits != modules.front().grid.bits)
      return Error{"INGOT-E2109",
                   checkpoint::message("the format ", layout,
                                       " has one group size for all modules, ", record.module,
                                       " needs ", record.grid.group, " where ",
                                       modules.front().module, " has ", modules.front().grid.group),
                   "--format", "choose compressed-tensors, or a group that divides all matrices"};
  return modules.front().grid;
}

class Awq : public StoredLayout {
public:
  std::string_view name() const override { return "awq"; }
  ScaleType scaleType(DType) const override { return ScaleType::F16; }

  std::string refusal(const Grid &grid, int64_t rows, int64_t columns) const override {
    if (grid.bits != 4)
      return "AWQ holds 4 bits";
    return rows % 8 != 0 ? "its rows are no whole number of words" : refusalOfWords(grid, columns);
  }

  std::vector<TensorData> tensors(const std::string &module,
                                  const QuantizedMatrix &matrix) const override {
    // The field i of a word is that of row kOrder[i] of eight.
    static constexpr std::array<int64_t, 8> kOrder = {0, 2, 4, 6, 1, 3, 5, 7};
    auto rowOf = [](int64_t place) {
      return place / 8 * 8 + kOrder[static_cast<size_t>(place % 8)];
    };
    const auto words = static_cast<uint64_t>(matrix.rows / 8);
    std::vector<TensorData> tensors;
    tensors.push_back(
        {{module + ".qweight", DType::I32, {static_cast<uint64_t>(matrix.columns), words}},
         packWords(matrix.columns, matrix.rows, 4, [&](int64_t column, int64_t place) {
           return codeOf(matrix, rowOf(place), column);
         })});
    tensors.push_back(
        {{module + ".qzeros", DType::I32, {static_cast<uint64_t>(matrix.groups()), words}},
         packWords(matrix.groups(), matrix.rows, 4, [&](int64_t group, int64_t place) {
           return zeroOf(matrix, rowOf(place), group);
         })});
    tensors.push_back(scaleTensor(module + ".scales", matrix, true));
    return tensors;
  }

  Expected<json> configuration(std::span<const ModuleRecord> modules,
                               std::span<const std::string> kept) const override {
    auto grid = onlyGrid(modules, name());
    if (!grid)
      return grid.error();
    return json{{"quant_method", "awq"},
                {"bits", grid->bits},
                {"group_size", grid->group > 0 ? grid->group : -1},
                {"zero_point", true},
                {"version", "gemm"},
                {"modules_to_not_convert", listOf(kept)}};
  }
};

class Gptq : public StoredLayout {
public:
  std::string_view name() const override { return "gptq"; }
  ScaleType scaleType(DType) const override { return ScaleType::F16; }

  std::string refusal(const Grid &grid, int64_t rows, int64_t columns) const override {
    if (grid.bits != 2 && grid.bits != 4 && grid.bits != 8)
      return "GPTQ holds 2, 4 or 8 bits";
    return rows * grid.bits % 32 != 0 ? "its rows are no whole number of words"
                                      : refusalOfWords(grid, columns);
  }

  std::vector<TensorData> tensors(const std::string &module,
                                  const QuantizedMatrix &matrix) const override {
    const int32_t bits = matrix.grid.bits;
    const auto rows = static_cast<uint64_t>(matrix.rows);
    const int64_t words = matrix.columns * bits / 32;
    std::vector<TensorData> tensors;
    auto packed = packWords(matrix.rows, matrix.columns, bits, [&](int64_t row, int64_t column) {
      return codeOf(matrix, row, column);
    });
    tensors.push_back({{module + ".qweight", DType::I32, {static_cast<uint64_t>(words), rows}},
                       transposeWords(packed, matrix.rows, words)});
    // Zero points are stored less one, and wrap.
    const auto mask = static_cast<uint8_t>((1 << bits) - 1);
    tensors.push_back(
        {{module + ".qzeros",
          DType::I32,
          {static_cast<uint64_t>(matrix.groups()), rows * static_cast<uint64_t>(bits) / 32}},
         packWords(matrix.groups(), matrix.rows, bits, [&](int64_t group, int64_t row) {
           return static_cast<uint8_t>((zeroOf(matrix, row, group) - 1) & mask);
         })});
    tensors.push_back(scaleTensor(module + ".scales", matrix, true));
    TensorData groupOf{{module + ".g_idx", DType::I32, {static_cast<uint64_t>(matrix.columns)}},
                       {}};
    const int64_t group = matrix.grid.group > 0 ? matrix.grid.group : matrix.columns;
    groupOf.bytes.resize(groupOf.header.bytes());
    for (int64_t column = 0; column < matrix.columns; ++column) {
      const auto index = static_cast<int32_t>(column / group);
      std::memcpy(groupOf.bytes.data() + column * 4, &index, 4);
    }
    tensors.push_back(std::move(groupOf));
    return tensors;
  }

  Expected<json> configuration(std::span<const ModuleRecord> modules,
                               std::span<const std::string> kept) const override {
    auto grid = onlyGrid(modules, name());
    if (!grid)
      return grid.error();
    return json{{"quant_method", "gptq"},
                {"bits", grid->bits},
                {"group_size", grid->group > 0 ? grid->group : -1},
                {"desc_act", false},
                {"sym", !grid->zeroPoints},
                {"lm_head", false},
                {"checkpoint_format", "gptq"},
                {"modules_to_not_convert", listOf(kept)}};
  }
};

constexpr CompressedTensors compressedTensors;
constexpr Awq awq;
constexpr Gptq gptq;
constexpr std::array<const StoredLayout *, 3> layouts = {&compressedTensors, &awq, &gptq};

} // namespace

const StoredLayout *quantize::findLayout(std::string_view name) {
  for (const StoredLayout *layout : layouts)
    if (layout->name() == name)
      return layout;
  return nullptr;
}

std::vector<std::string> quantize::layoutNames() {
  std::vector<std::string> names;
  for (const StoredLayout *layout : layouts)
    names.emplace_back(layout->name());
  return names;
}
