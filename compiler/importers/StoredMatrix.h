// SPDX-License-Identifier: Apache-2.0
// One matrix that a checkpoint stores quantized: the tensors of its module, and shorthands for the
// expressions that its reader makes of them.
#pragma once

#include "compiler/checkpoint/Checkpoint.h"
#include "dialects/llm/EncodedWeight.h"
#include "mlir/IR/Builders.h"

namespace ingot::compiler {

/// The IR type of plain float elements; null for types that no operation reads as they are.
mlir::Type plainType(mlir::OpBuilder &builder, checkpoint::DType type);

/// The IR type of stored elements that an expression may begin with; null for others.
mlir::Type elementType(mlir::OpBuilder &builder, checkpoint::DType type);

/// What the registry says an engine holds, as an encoding in groups of `group`.
llm::EncodingAttr encodingOf(mlir::MLIRContext *context, const HeldFormat &held, int64_t group);

/// INGOT-E1080 unless `tensor` has `shape`.
checkpoint::Outcome expectShape(const checkpoint::Checkpoint &checkpoint,
                                const checkpoint::Tensor &tensor, llvm::ArrayRef<int64_t> shape);

/// Bits of a packed word, of int4 elements, and their zero.
inline constexpr int64_t kWordBits = 32, kNibble = 4, kNibbleZero = 8;
/// Words that hold so many bits.
inline int64_t wordsFor(int64_t bits) { return (bits + kWordBits - 1) / kWordBits; }

struct StoredMatrix {
  using Shape = llvm::ArrayRef<int64_t>;
  template <class T> using Expected = checkpoint::Expected<T>;

  /// How wide the fields of a matrix are, and how many columns share a scale.
  struct Fields {
    int64_t bits = 4, group = 0;
  };

  /// The tensor of the module called `part`; null, or an error, where there is none.
  const checkpoint::Tensor *find(llvm::StringRef part) const;
  Expected<const checkpoint::Tensor *> part(llvm::StringRef part) const;
  /// Likewise, which must have this shape.
  Expected<const checkpoint::Tensor *> part(llvm::StringRef part, Shape shape) const;

  /// An llm.weight that reads it as `shape`. `stored`: the shape it must have in the checkpoint, if
  /// that is another one of as many elements.
  Expected<mlir::Value> read(llvm::StringRef part, mlir::Type element, Shape shape,
                             std::optional<Shape> stored = {});
  /// Likewise, of whichever float type it has.
  Expected<mlir::Value> readFloats(llvm::StringRef part, Shape shape,
                                   std::optional<Shape> stored = {});
  /// Scales [rows, groups] of a float type, as they are stored or transposed.
  Expected<mlir::Value> readScales(llvm::StringRef part, Shape shape, bool transposed);
  /// The bytes of a part of `type`. `stored` as for read().
  Expected<mlir::Value> readBytes(llvm::StringRef part, checkpoint::DType type, Shape shape,
                                  std::optional<Shape> stored = {});
  /// The matrix, two values of a row in each byte, the first in the low half or in the high one.
  Expected<mlir::Value> readNibbles(llvm::StringRef part, Shape stored, bool highFirst);
  /// The f32 numbers of a part that holds `count` of them.
  Expected<llvm::SmallVector<float>> numbers(llvm::StringRef part, size_t count) const;

  /// Of what the words in `words` consist. `fieldBits`: what they hold along the inputs, padding
  /// included. `groups`: scales of a row.
  Expected<Fields> fieldsOf(const checkpoint::Tensor &words, uint64_t fieldBits,
                            uint64_t groups) const;
  /// What an engine holds for numbers of `bits`, as the registry says for the reader.
  Expected<llm::EncodingAttr> encoding(int64_t bits, int64_t group, bool zeroPoints = false) const;
  /// Codes of four bits for the numbers of `book`. `table`: what scales stand for that are codes
  /// themselves.
  Expected<llm::EncodedWeight> codes(const Expected<mlir::Value> &values,
                                     const Expected<mlir::Value> &scales, mlir::Value book,
                                     int64_t group, mlir::Value table = {});
  mlir::Value codeBook(llvm::StringRef name, llvm::ArrayRef<float> numbers);
  /// That of the doubled numbers of e2m1.
  mlir::Value e2m1();
  /// What the scales of microscaling formats stand for: halves of powers of two, times `factor`.
  mlir::Value powersOfTwo(float factor);

  mlir::Value asF32(mlir::Value input);
  mlir::Value transpose(mlir::Value input);
  mlir::Value reshape(mlir::Value input, Shape shape);
  mlir::Value permuteRows(mlir::Value input, Shape digits, Shape order);
  mlir::Value sliceRows(mlir::Value input, int64_t first, int64_t count);
  mlir::Value repeatRows(mlir::Value input, int64_t count, int64_t rows);
  mlir::Value unpack(mlir::Value input, int64_t columns, mlir::Type element, int64_t bits,
                     int64_t increment = 0, int64_t bias = 0, Shape order = {});
  mlir::Type integer(unsigned bits) { return builder.getIntegerType(bits); }

  /// INGOT-E1054.
  checkpoint::Error unsupported(const std::string &what, const std::string &fix) const;

  mlir::OpBuilder &builder; ///< says where operations go
  const checkpoint::Checkpoint &checkpoint;
  std::string module; ///< its name without ".weight"
  Shape shape;
  mlir::Location location;
  checkpoint::FormatReader reader = checkpoint::FormatReader::None; ///< that takes it apart
  /// Which of the model's inputs column k is for. Empty: input k. Columns that share a scale stand
  /// together in the value, whatever the model's order.
  llvm::SmallVector<int64_t> columnOrder = {};
};

} // namespace ingot::compiler
