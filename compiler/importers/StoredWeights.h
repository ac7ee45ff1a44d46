// SPDX-License-Identifier: Apache-2.0
// Weight matrices that a checkpoint stores quantized, as expressions of their stored tensors.
#pragma once

#include "compiler/checkpoint/Checkpoint.h"
#include "dialects/llm/EncodedWeight.h"
#include "mlir/IR/Builders.h"

namespace ingot::compiler {

/// The matrix that the tensor called `stored` is part of: its name as models and recipes have it.
/// Other names are returned as they are.
std::string matrixName(llvm::StringRef stored);

/// The IR type of plain float elements; null for types that no operation reads as they are.
mlir::Type plainType(mlir::OpBuilder &builder, checkpoint::DType type);

/// The IR type of stored elements that an expression may begin with; null for others.
mlir::Type elementType(mlir::OpBuilder &builder, checkpoint::DType type);

/// What the registry says an engine holds, as an encoding in groups of `group`.
llm::EncodingAttr encodingOf(mlir::MLIRContext *context, const HeldFormat &held, int64_t group);

/// INGOT-E1080 unless `tensor` has `shape`.
checkpoint::Outcome expectShape(const checkpoint::Checkpoint &checkpoint,
                                const checkpoint::Tensor &tensor, llvm::ArrayRef<int64_t> shape);

/// Builds the values of one matrix. Which format a matrix has is told by the names and types of the
/// tensors of its module; what these cannot say is the checkpoint's quantization().
class StoredWeights {
public:
  /// `builder` says where operations go. Both must outlive this.
  StoredWeights(mlir::OpBuilder &builder, const checkpoint::Checkpoint &checkpoint)
      : builder(builder), checkpoint(checkpoint) {}

  /// Whether the matrix called `name` ("model.layers.0.mlp.up_proj.weight") is stored quantized.
  bool isQuantized(llvm::StringRef name) const;

  /// The f32 values [shape] of a quantized matrix: an llm.dequantize. Errors: INGOT-E1038 for a
  /// missing tensor, E1054 for a format that is not supported, E1080 and E1081 for tensors of
  /// other shapes and types than the format has.
  checkpoint::Expected<mlir::Value> matrix(llvm::StringRef name, llvm::ArrayRef<int64_t> shape);

  /// Of the last matrix: which of the model's inputs its column k is for. Empty: input k. Columns
  /// that share a scale stand together in the value, whatever the model's order.
  llvm::ArrayRef<int64_t> columnOrder() const { return order; }

private:
  using FormatReader = checkpoint::FormatReader;
  template <class T> using Expected = checkpoint::Expected<T>;
  using Shape = llvm::ArrayRef<int64_t>;
  using EncodedWeight = llm::EncodedWeight;
  struct Signature;
  static const Signature signatures[];
  bool fits(const Signature &signature) const;

  static constexpr int64_t kWordBits = 32;
  /// Bits of int4 elements, and their zero.
  static constexpr int64_t kNibble = 4, kNibbleZero = 8;
  /// Words that hold so many bits.
  static int64_t wordsFor(int64_t bits) { return (bits + kWordBits - 1) / kWordBits; }

  /// How wide the fields of a matrix are, and how many columns share a scale.
  struct Fields {
    int64_t bits = 4, group = 0;
  };

  /// Fields packed in words: what they are, words along the inputs, scales of a row.
  struct Words {
    Fields fields;
    int64_t extent = 0, groups = 0;
  };

  /// How bitsandbytes divides a matrix into blocks with a scale each; and, where scales are
  /// quantized, into blocks of scales, and a number added to all.
  struct BlockState {
    int64_t block = 1, nestedBlock = 1;
    float nestedOffset = 0;
  };

  Expected<EncodedWeight> awq(Shape shape);
  Expected<EncodedWeight> awqByRows(Shape shape);
  Expected<EncodedWeight> awqFast(Shape shape);
  Expected<EncodedWeight> nibblesOfRows(Shape shape);
  Expected<EncodedWeight> gptq(Shape shape);
  Expected<EncodedWeight> packedIntegers(Shape shape);
  Expected<EncodedWeight> integers(Shape shape);
  Expected<mlir::Value> scalesOfMagnitudes(int64_t rows);
  Expected<mlir::Value> zerosOfRows(llvm::StringRef name, int64_t rows);
  Expected<mlir::Value> byRow(llvm::StringRef name, mlir::Type element, int64_t rows);
  Expected<EncodedWeight> float8(Shape shape);
  Expected<EncodedWeight> ggmlBlocks(Shape shape);
  Expected<EncodedWeight> bitsAndBytes4(Shape shape);
  Expected<mlir::Value> nestedScales(const BlockState &state, int64_t blocks);
  Expected<BlockState> blockState(bool nested) const;
  Expected<EncodedWeight> nvfp4(Shape shape);
  Expected<EncodedWeight> mxfp4(Shape shape);
  Expected<EncodedWeight> mxfp8(Shape shape);
  /// What the scales of microscaling formats stand for: powers of two.
  mlir::Value powersOfTwo(float factor);
  Expected<EncodedWeight> torchAoInt4(Shape shape);
  Expected<int64_t> torchAoGroup(Shape shape) const;
  mlir::Value codeBook(llvm::StringRef name, llvm::ArrayRef<float> numbers);
  /// The bytes of a part of `type`. `stored` as for read().
  Expected<mlir::Value> readBytes(llvm::StringRef part, checkpoint::DType type, Shape shape,
                                  std::optional<Shape> stored = {});
  /// Two values of a row in each byte, the first in the low half or in the high one.
  Expected<mlir::Value> readNibbles(llvm::StringRef part, Shape shape, Shape stored,
                                    bool highFirst);
  /// The f32 numbers of a part that holds `count` of them.
  Expected<llvm::SmallVector<float>> numbers(llvm::StringRef part, size_t count) const;
  /// Codes of four bits for the numbers of `book`, of rows of `columns`.
  /// `table`: what scales stand for that are codes themselves.
  Expected<EncodedWeight> codes(const Expected<mlir::Value> &values,
                                const Expected<mlir::Value> &scales, mlir::Value book,
                                int64_t columns, int64_t group, mlir::Value table = {});
  Expected<Words> wordsOf(llvm::StringRef words, llvm::StringRef scales, Shape shape, size_t axis,
                          bool hasZeros);
  Expected<EncodedWeight> encodedFrom(const Words &words, mlir::Value packed, int64_t columns,
                                      bool hasZeros);
  Expected<Fields> fieldsOf(Shape shape, const checkpoint::Tensor &words, uint64_t fieldBits,
                            uint64_t groups) const;

  /// What an engine holds for numbers of `bits`, as the registry says for the reader.
  Expected<llm::EncodingAttr> encoding(int64_t bits, int64_t group, bool zeroPoints = false) const;

  /// The tensor of the module called `part`.
  Expected<const checkpoint::Tensor *> part(llvm::StringRef part) const;
  /// An llm.weight that reads it as `shape`. `stored`: the shape it must have in the checkpoint, if
  /// that is another one of as many elements.
  Expected<mlir::Value> read(llvm::StringRef part, mlir::Type element, Shape shape,
                             std::optional<Shape> stored = {});
  /// Scales [rows, groups] of a float type, as they are stored or transposed.
  Expected<mlir::Value> readScales(llvm::StringRef part, Shape shape, bool transposed);
  checkpoint::Outcome readColumnOrder(llvm::StringRef name, int64_t columns, const Fields &fields);
  mlir::Value transpose(mlir::Value input);
  mlir::Value repeatRows(mlir::Value input, int64_t count, int64_t rows);
  mlir::Value unpack(mlir::Value input, int64_t columns, mlir::Type element, int64_t bits,
                     int64_t increment = 0, int64_t bias = 0, Shape order = {});
  checkpoint::Error unsupported(const std::string &what, const std::string &fix) const;
  mlir::Type integer(unsigned bits) { return builder.getIntegerType(bits); }

  mlir::OpBuilder &builder;
  const checkpoint::Checkpoint &checkpoint;
  std::string module; ///< of the matrix being built: its name without ".weight"
  FormatReader reader = FormatReader::None; ///< that builds it
  std::optional<mlir::Location> location;
  llvm::SmallVector<int64_t> order; ///< columnOrder
};

} // namespace ingot::compiler
