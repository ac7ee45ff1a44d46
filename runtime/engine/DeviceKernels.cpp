// SPDX-License-Identifier: Apache-2.0
// The limits are those of cuTensorMapEncodeTiled and of portable clusters.
#include "runtime/engine/DeviceKernels.h"

#include "runtime/schema/Elements.h"

#include <algorithm>
#include <numeric>

namespace ingot::runtime {
namespace {

using schema::ExprOp;
using schema::Role;

constexpr uint64_t mostBlocksOfCluster = 8;
constexpr uint64_t mostSize = UINT32_MAX;

Status malformed(const std::string &where, const std::string &what) {
  return Status::error("INGOT-E5006", where + ": " + what, "rebuild the engine");
}

Result<Interval> rowsOf(const schema::TensorMap &map, std::span<const Interval> dims) {
  if (map.step_rows())
    return boundExpression(*map.step_rows(), dims);
  auto rows = int64_t(std::min<uint64_t>(map.rows(), INT64_MAX));
  return Interval{rows, rows};
}

/// Whether the device's limits are kept, whatever the rows.
bool isPossible(const schema::TensorMap &map) {
  constexpr uint64_t step = 16, mostInBox = 256;
  auto isRow = [](uint64_t bytes, uint64_t most) {
    return bytes > 0 && bytes % step == 0 && bytes <= most;
  };
  constexpr int bitsOfByte = 8;
  int bits = map.element() <= schema::DType::MAX ? elementBits(int64_t(map.element())) : 0;
  if (bits < bitsOfByte)
    return false;
  bool swizzles = map.swizzle() != 0,
       isSwizzle = map.swizzle() == 32 || map.swizzle() == 64 || map.swizzle() == 128 || !swizzles;
  return isRow(map.row_bytes(), mostSize) && map.box_rows() > 0 && map.box_rows() <= mostInBox &&
         isRow(map.box_bytes(), mostInBox * uint64_t(bits / bitsOfByte)) && isSwizzle &&
         !(swizzles && map.box_bytes() > map.swizzle()) && !(map.step_rows() && map.rows());
}

/// A number that divides the value of a checked expression, whatever the dims.
int64_t divisorOf(const schema::Expr &expression) {
  int64_t stack[maximumExpressionDepth];
  size_t depth = 0;
  for (const schema::ExprNode *node : *expression.nodes()) {
    if (node->op() == ExprOp::Const || node->op() == ExprOp::Dim) {
      stack[depth++] = node->op() == ExprOp::Dim ? 1 : node->value();
      continue;
    }
    int64_t right = stack[--depth], &left = stack[depth - 1], product = 0;
    if (node->op() == ExprOp::CeilDiv || node->op() == ExprOp::FloorDiv)
      left = 1;
    else if (node->op() == ExprOp::Mul)
      left = __builtin_mul_overflow(left, right, &product) ? 1 : product;
    else if (left == INT64_MIN || right == INT64_MIN) // which has no absolute value
      left = 1;
    else
      left = std::gcd(left, right);
  }
  return stack[0];
}

Status verifyReads(const schema::TensorMap &map, const schema::Launch &launch,
                   const schema::Target &target, std::span<const Interval> dims,
                   const std::string &where) {
  const schema::Arg *read = bufferArgument(launch, map.buffer());
  if (!read || read->buffer() >= count(target.buffers()))
    return malformed(where, "a tensor map's buffer does not exist");
  const schema::Buffer &buffer = *target.buffers()->Get(read->buffer());
  bool isWritten =
      buffer.role() != Role::Weight && buffer.role() != Role::Slot && buffer.role() != Role::Input;
  if (isWritten && !map.fenced())
    return malformed(where, "a tensor map that is not fenced reads what launches write");
  Result<Interval> bytes = boundExpression(*buffer.bytes(), dims);
  Result<Interval> offset = read->value() ? boundExpression(*read->value(), dims) : Interval{0, 0};
  Result<Interval> rows = rowsOf(map, dims);
  for (const Result<Interval> *bounds : {&bytes, &offset, &rows})
    if (!bounds->ok())
      return Status(bounds->status()).in(where);
  // Sizes that follow the step are compared at its ends; the executor compares at the plan's.
  int64_t begin = map.step_rows() ? offset->min : offset->max;
  bool isWithin = bytes->max >= offset->max &&
                  uint64_t(bytes->max - offset->max) >= uint64_t(rows->max) * map.row_bytes() &&
                  bytes->min >= begin &&
                  uint64_t(bytes->min - begin) >= uint64_t(rows->min) * map.row_bytes();
  return isWithin ? Status() : malformed(where, "a tensor map reads beyond its buffer");
}

} // namespace

const schema::Arg *bufferArgument(const schema::Launch &launch, uint32_t index) {
  for (uint32_t i = 0; i < count(launch.args()); ++i)
    if (const schema::Arg *arg = launch.args()->Get(i);
        arg->kind() == schema::ArgKind::Buffer && index-- == 0)
      return arg;
  return nullptr;
}

Status verifyDeviceKernel(const schema::Kernel &kernel, std::span<const Interval> dims,
                          const std::string &where) {
  uint64_t blocks = 1;
  for (uint32_t i = 0; i < count(kernel.cluster()); ++i)
    blocks *= std::min<uint64_t>(kernel.cluster()->Get(i), mostBlocksOfCluster + 1);
  if (count(kernel.cluster()) > 3 || blocks == 0 || blocks > mostBlocksOfCluster)
    return malformed(where, "its clusters do not have 1 to " + std::to_string(mostBlocksOfCluster) +
                                " blocks in at most three dimensions");
  for (uint32_t i = 0; i < count(kernel.tensor_maps()); ++i) {
    const schema::TensorMap &map = *kernel.tensor_maps()->Get(i);
    Result<Interval> rows = rowsOf(map, dims);
    if (!rows.ok())
      return std::move(rows).status().in(where);
    if (!isPossible(map) || rows->min < 1 || uint64_t(rows->max) > mostSize)
      return malformed(where, "has a tensor map that no device encodes");
  }
  return {};
}

Status verifyDeviceLaunch(const schema::Kernel &kernel, const schema::Variant &variant,
                          const schema::Launch &launch, const schema::Target &target,
                          std::span<const Interval> dims, const std::string &where) {
  for (uint32_t axis = 0; axis < count(kernel.cluster()); ++axis) {
    int64_t divisor =
        axis < count(variant.grid()) ? divisorOf(*variant.grid()->Get(axis)) : int64_t(1);
    if (divisor % kernel.cluster()->Get(axis) != 0)
      return malformed(where, "a grid is no multiple of its kernel's clusters");
  }
  for (uint32_t i = 0; i < count(kernel.tensor_maps()); ++i)
    if (Status status = verifyReads(*kernel.tensor_maps()->Get(i), launch, target, dims, where);
        !status.ok())
      return status;
  return {};
}

} // namespace ingot::runtime
