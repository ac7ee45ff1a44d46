// SPDX-License-Identifier: Apache-2.0
// Of a stack no more is read than the part of one expert.
#include "compiler/quantize/StoredMatrices.h"

#include "compiler/weights/WeightNumerics.h"

#include <algorithm>

using namespace ingot;
using namespace ingot::quantize;
using checkpoint::Expected;
using checkpoint::ExpertMatrix;
using compiler::Product;

/// `values` [rows, columns] as [columns, rows].
static std::vector<float> transposed(const std::vector<float> &values, size_t rows,
                                     size_t columns) {
  std::vector<float> result(values.size());
  for (size_t row = 0; row < rows; ++row)
    for (size_t column = 0; column < columns; ++column)
      result[column * rows + row] = values[row * columns + column];
  return result;
}

const std::string &quantize::holderOf(const Product &product) {
  return product.stack ? product.stack->stack : product.weight;
}

std::string quantize::shownName(const checkpoint::Checkpoint &checkpoint, const Product &product) {
  const std::string &holder = holderOf(product), shown = checkpoint.shownName(holder);
  if (!product.stack)
    return shown;
  // The expert's number stands where the stack's name begins, as it is shown too.
  const auto own =
      static_cast<size_t>(std::ranges::mismatch(holder, product.weight).in1 - holder.begin());
  return shown.substr(0, shown.size() - (holder.size() - own)) + product.weight.substr(own);
}

Expected<std::vector<float>> quantize::readValues(const checkpoint::Checkpoint &checkpoint,
                                                  const checkpoint::Tensor &tensor, uint64_t first,
                                                  uint64_t count) {
  const uint64_t width = checkpoint::dtypeUnit(tensor.dtype).bits / 8;
  std::vector<std::byte> bytes(count * width);
  if (auto read = checkpoint.read(tensor, first * width, bytes); !read)
    return read.error();
  std::vector<float> values(count);
  compiler::widen(*checkpoint::readAs(tensor.dtype), bytes.data(), values.data(),
                  static_cast<int64_t>(count));
  return values;
}

Expected<std::vector<float>> quantize::readMatrix(const checkpoint::Checkpoint &checkpoint,
                                                  const Product &product) {
  auto tensor = checkpoint.get(holderOf(product));
  if (!tensor)
    return tensor.error();
  const auto rows = static_cast<size_t>(product.rows),
             columns = static_cast<size_t>(product.columns);
  const ExpertMatrix place = product.stack.value_or(ExpertMatrix{"", 0, 0, product.rows});
  const auto partRows = static_cast<size_t>(place.rows), first = static_cast<size_t>(place.first);
  const size_t count = partRows * columns;
  auto part = readValues(checkpoint, **tensor, static_cast<size_t>(place.expert) * count, count);
  if (!part)
    return part;
  if (product.inputsFirst)
    part = transposed(*part, columns, partRows);
  part->erase(part->begin(), part->begin() + static_cast<std::ptrdiff_t>(first * columns));
  part->resize(rows * columns);
  return part;
}

TensorData quantize::plainMatrix(const Product &product, checkpoint::DType type,
                                 std::vector<float> values) {
  const auto rows = static_cast<uint64_t>(product.rows),
             columns = static_cast<uint64_t>(product.columns);
  TensorData data{{product.weight, type, {rows, columns}}, {}};
  if (product.inputsFirst && !product.stack) {
    values = transposed(values, rows, columns);
    data.header.shape = {columns, rows};
  }
  data.bytes.resize(data.header.bytes());
  compiler::narrow(*checkpoint::readAs(type), values.data(), data.bytes.data(),
                   static_cast<int64_t>(values.size()));
  return data;
}
