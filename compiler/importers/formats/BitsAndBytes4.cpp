// SPDX-License-Identifier: Apache-2.0
// Four-bit codes of bitsandbytes, in blocks of the flattened matrix.
#include "compiler/importers/formats/FormatReaders.h"

#include "compiler/checkpoint/files/JsonFields.h"
#include "dialects/llm/LlmWeightOps.h"

#include <numeric>
#include <span>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::Error;
using checkpoint::Expected;
using checkpoint::message;
using checkpoint::Tensor;
using llm::EncodedWeight;

/// How a matrix is divided into blocks with a scale each; and, where scales are quantized, into
/// blocks of scales, and a number added to all.
namespace {
struct BlockState {
  int64_t block = 1, nestedBlock = 1;
  float nestedOffset = 0;
};
} // namespace

/// Of the quant_state, a JSON object as bytes.
static Expected<BlockState> blockState(const StoredMatrix &matrix, bool nested) {
  constexpr uint64_t longest = 1 << 16, mostInBlock = 1 << 20;
  constexpr double most = 1e30;
  const std::string prefix = matrix.module + ".weight.quant_state.bitsandbytes__";
  const Tensor *state = matrix.checkpoint.find(prefix + "nf4");
  state = state ? state : matrix.checkpoint.find(prefix + "fp4");
  if (!state)
    return Error{"INGOT-E1038", message("tensor ", prefix, "nf4 is missing"), "",
                 "save the model with its quantization state"};
  const std::string where = matrix.checkpoint.fileName(*state) + ", tensor " + state->name;
  if (state->bytes > longest)
    return Error{"INGOT-E1080", message("a quantization state of ", state->bytes, " bytes"), where,
                 "correct the checkpoint"};
  std::string text(state->bytes, '\0');
  if (auto done = matrix.checkpoint.read(*state, 0, std::as_writable_bytes(std::span(text))); !done)
    return done.error();
  auto object = checkpoint::Json::parse(text, where);
  if (!object)
    return object.error();
  checkpoint::JsonFields fields(*object);
  BlockState result;
  result.block = static_cast<int64_t>(fields.unsignedInteger("blocksize", 1, mostInBlock));
  if (nested) {
    result.nestedOffset = static_cast<float>(fields.number("nested_offset", -most, most));
    result.nestedBlock =
        static_cast<int64_t>(fields.unsignedInteger("nested_blocksize", 1, mostInBlock));
  }
  if (fields.error())
    return *fields.error();
  return result;
}

/// Scales [blocks, 1] under double quantization, where absmax holds codes: numbers of
/// nested_quant_map [256], times nested_absmax of every nested_blocksize of them, plus the
/// nested_offset of quant_state.
static Expected<Value> nestedScales(StoredMatrix &matrix, const BlockState &state, int64_t blocks) {
  auto book = matrix.numbers(".weight.nested_quant_map", 256);
  if (!book)
    return book.error();
  int64_t outer = llvm::divideCeil(blocks, state.nestedBlock);
  Type f32 = matrix.builder.getF32Type();
  auto codes =
      matrix.read(".weight.absmax", matrix.integer(8), {blocks, 1}, ArrayRef<int64_t>({blocks}));
  auto scales = matrix.read(".weight.nested_absmax", f32, {outer, 1}, ArrayRef<int64_t>({outer}));
  if (!codes || !scales)
    return codes ? scales.error() : codes.error();
  auto encoding =
      llm::EncodingAttr::get(matrix.builder.getContext(), Encoding{EncodingKind::CodeBook8});
  EncodedWeight stored{*codes,
                       matrix.repeatRows(*scales, state.nestedBlock, blocks),
                       matrix.codeBook("bitsandbytes.nested", *book),
                       {},
                       encoding};
  Value numbers = llm::DequantizeOp::create(matrix.builder, matrix.location,
                                            RankedTensorType::get({blocks, 1}, f32), stored);
  return Value(llm::ConvertOp::create(matrix.builder, matrix.location, numbers.getType(), numbers,
                                      matrix.builder.getF32FloatAttr(state.nestedOffset)));
}

/// weight [N * K / 2, 1]: the flattened matrix, two values in a byte, the first in the high half.
/// absmax [N * K / blocksize] is what the largest number of quant_map [16] stands for. Blocks may
/// cross rows: then a group is as much as lies in one block and in one row wherever these begin.
Expected<EncodedWeight> compiler::readBitsAndBytes4(StoredMatrix &matrix) {
  constexpr int64_t leastGroup = 8; // that kernels have
  int64_t rows = matrix.shape[0], columns = matrix.shape[1];
  bool nested = matrix.find(".weight.nested_absmax") != nullptr;
  auto state = blockState(matrix, nested);
  if (!state)
    return state.error();
  int64_t group = std::gcd(state->block, columns), block = state->block;
  if (group < leastGroup)
    return matrix.unsupported(message("scales for ", block, " numbers of rows of ", columns),
                              "8 must divide both");
  int64_t blocks = llvm::divideCeil(rows * columns, block), groups = columns / group;
  Type f32 = matrix.builder.getF32Type();
  auto values = matrix.readNibbles(".weight", {rows * columns / 2, 1}, true);
  auto scales =
      nested ? nestedScales(matrix, *state, blocks)
      : group == block
          ? matrix.read(".weight.absmax", f32, {rows, groups}, ArrayRef<int64_t>({blocks}))
          : matrix.read(".weight.absmax", f32, {blocks, 1}, ArrayRef<int64_t>({blocks}));
  if (scales && group < block)
    scales = matrix.repeatRows(*scales, block / group, rows * groups);
  if (scales && (nested || group < block))
    scales = matrix.reshape(*scales, {rows, groups});
  auto book = matrix.numbers(".weight.quant_map", 16);
  if (!book)
    return book.error();
  return matrix.codes(values, scales, matrix.codeBook("bitsandbytes", *book), group);
}
