// SPDX-License-Identifier: Apache-2.0
// Tensors of TorchAO's classes, as its support for safetensors takes them apart: the parts of
// `a.weight` are called `a._weight_qdata` and so on, and `__metadata__` says what they are parts
// of.
#include "compiler/checkpoint/files/JsonFields.h"
#include "compiler/importers/StoredWeights.h"
#include "dialects/llm/LlmWeightOps.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::Error;
using checkpoint::inQuotes;
using checkpoint::message;

/// How many inputs share a scale, of an Int4Tensor; other classes are refused by name.
checkpoint::Expected<int64_t> StoredWeights::torchAoGroup(Shape shape) const {
  const std::string name = module + ".weight";
  const std::string *text = checkpoint.fileMetadata(name);
  auto found = part("._weight_qdata");
  if (!found)
    return found.error();
  const std::string where = checkpoint.fileName(**found) + ", __metadata__ of " + name;
  if (!text)
    return unsupported("a packed weight of which no metadata tell",
                       "save the model with TorchAO's support for safetensors");
  auto object = checkpoint::Json::parse(*text, where);
  if (!object)
    return object.error();
  const std::string supported = "supported: Int4Tensor of packing plain, for bfloat16 activations";
  const std::string type = checkpoint::JsonFields(*object).stringOr("_type", "");
  if (type != "Int4Tensor")
    return unsupported("TorchAO's " + inQuotes(type), supported);
  auto data = object->at("_data");
  if (!data)
    return data.error();
  if (auto activations = data->find("activation_dtype"); activations && !activations->isNull()) {
    checkpoint::JsonFields dtype(*activations);
    const std::string stated = dtype.stringOr("_data", "");
    if (dtype.error())
      return *dtype.error();
    if (stated != "bfloat16")
      return unsupported("activation_dtype " + inQuotes(stated), supported);
  }
  if (checkpoint.find(module + "._weight_act_pre_scale"))
    return unsupported("act_pre_scale, which inputs are multiplied by", supported);
  checkpoint::JsonFields fields(*data);
  auto columns = static_cast<uint64_t>(shape[1]);
  auto block = fields.unsignedIntegers("block_size", 1, columns);
  if (fields.error())
    return *fields.error();
  if (columns % 2 != 0)
    return unsupported(message("packing ", columns, " inputs"), "2 must divide them");
  if (!block || block->size() != 2 || block->front() != 1 || columns % block->back() != 0)
    return unsupported("a block_size other than [1, group]",
                       message("the group must divide ", columns, " inputs"));
  return static_cast<int64_t>(block->back());
}

/// qdata [N, K / 2], the even input in the low half, in two's complement; scale and zero_point
/// [K / group, N] of bf16. A value is scale * (q + 8) + (zero_point - 8 * scale), in f32, as
/// TorchAO forms it: zero_point is what q = 0 stands for.
checkpoint::Expected<llm::EncodedWeight> StoredWeights::torchAoInt4(Shape shape) {
  int64_t rows = shape[0], columns = shape[1];
  auto group = torchAoGroup(shape);
  if (!group)
    return group.error();
  int64_t groups = columns / *group;
  auto bytes = read("._weight_qdata", integer(8), {rows, columns / 2});
  auto scales = read("._weight_scale", builder.getBF16Type(), {groups, rows});
  auto middles = read("._weight_zero_point", builder.getBF16Type(), {groups, rows});
  for (const auto *value : {&bytes, &scales, &middles})
    if (!*value)
      return value->error();
  auto held = encoding(kNibble, *group == columns ? 0 : *group);
  if (!held)
    return held.error();
  auto typed = [&](Type element, int64_t height, int64_t width) {
    return RankedTensorType::get({height, width}, element);
  };
  Type f32 = builder.getF32Type();
  /// In one column, where every number is a row with a scale and an offset of its own.
  auto inColumn = [&](Value bf16) -> Value {
    Value wide = llm::ConvertOp::create(builder, *location, typed(f32, groups, rows), bf16,
                                        builder.getF32FloatAttr(0));
    return llm::ReshapeOp::create(builder, *location, typed(f32, groups * rows, 1), wide);
  };
  auto byRow = [&](Value column) {
    return transpose(llm::ReshapeOp::create(builder, *location, typed(f32, groups, rows), column));
  };
  auto single = typed(integer(8), 1, 1);
  Value least =
      llm::LiteralOp::create(builder, *location, single, "torchao.least",
                             DenseElementsAttr::get(single, static_cast<int8_t>(-kNibbleZero)));
  Value scaleColumn = inColumn(*scales);
  EncodedWeight stored{
      repeatRows(least, groups * rows, groups * rows),
      scaleColumn,
      inColumn(*middles),
      {},
      llm::EncodingAttr::get(builder.getContext(), Encoding{EncodingKind::Affine8})};
  Value offsets =
      llm::DequantizeOp::create(builder, *location, typed(f32, groups * rows, 1), stored);
  return EncodedWeight{unpack(*bytes, columns, integer(4), kNibble, /*increment=*/kNibbleZero),
                       byRow(scaleColumn),
                       byRow(offsets),
                       {},
                       *held};
}
