// SPDX-License-Identifier: Apache-2.0
// The part of the engine reader that builds one engine.unit.
#pragma once

#include "dialects/engine/EngineDialect.h"
#include "mlir/IR/Builders.h"
#include "runtime/schema/Engine_generated.h"

namespace ingot::engine {
class KernelOp;
} // namespace ingot::engine

namespace ingot::compiler {

/// Names of the tables of one kind, by index.
using NameList = llvm::SmallVector<mlir::FlatSymbolRefAttr>;

template <class Table> using TableVector = flatbuffers::Vector<flatbuffers::Offset<Table>>;

/// Text of an optional string; "" for none.
inline llvm::StringRef textOf(const flatbuffers::String *text) {
  return text ? llvm::StringRef(text->c_str(), text->size()) : llvm::StringRef();
}

/// Elements of an optional vector.
template <class Vector> uint32_t countOf(const Vector *vector) {
  return vector ? vector->size() : 0;
}

/// `text`, which stands for an attribute, parsed; null with a diagnostic if it is malformed or
/// nested too deeply to be of this compiler.
mlir::Attribute parseAttributeText(mlir::MLIRContext *context, const std::string &text);

/// Builds units from Target tables that the FlatBuffers verifier has accepted.
class EngineUnitReader {
public:
  /// `dims` and `weights` name the engine's tables; they must outlive this.
  EngineUnitReader(mlir::OpBuilder &builder, mlir::Location location, const NameList &dims,
                   const NameList &weights)
      : builder(builder), location(location), dims(dims), weights(weights) {}

  /// Failure comes with a diagnostic.
  mlir::LogicalResult read(const schema::Target &target);

private:
  mlir::InFlightDiagnostic bad(const llvm::Twine &what);
  mlir::LogicalResult readBody(const schema::Target &target);

  mlir::FlatSymbolRefAttr named(const NameList &names, int64_t index, llvm::StringRef what);
  /// The symbol, or null for -1; failure for an index out of range.
  mlir::FailureOr<mlir::FlatSymbolRefAttr> optionallyNamed(const NameList &names, int64_t index,
                                                           llvm::StringRef what);
  mlir::FailureOr<mlir::ArrayAttr>
  listed(const NameList &names, const flatbuffers::Vector<uint32_t> *indices, llvm::StringRef what);
  engine::ExprAttr expression(const schema::Expr *table);
  mlir::FailureOr<llvm::SmallVector<engine::ExprAttr>>
  expressions(const TableVector<schema::Expr> *tables);
  mlir::FailureOr<llvm::SmallVector<engine::RangeAttr>>
  ranges(const TableVector<schema::Range> *tables);
  mlir::FailureOr<mlir::ArrayAttr> rangeList(const TableVector<schema::Range> *tables);
  mlir::FailureOr<mlir::ArrayAttr> args(const TableVector<schema::Arg> *tables);
  mlir::IntegerAttr number(int64_t value) { return builder.getI64IntegerAttr(value); }

  mlir::LogicalResult read(const schema::Buffer &table);
  mlir::LogicalResult read(const schema::KvGroup &table);
  mlir::LogicalResult read(const schema::Library &table);
  mlir::LogicalResult read(const schema::Kernel &table);
  mlir::LogicalResult read(const schema::ArenaTier &table);
  mlir::LogicalResult read(const schema::Program &table);
  mlir::LogicalResult read(const schema::Instruction &table);
  mlir::LogicalResult read(mlir::StringAttr site, const schema::Launch &table);
  mlir::LogicalResult read(mlir::StringAttr site, const schema::Copy &table);
  mlir::LogicalResult read(mlir::StringAttr site, const schema::Collective &table);
  mlir::LogicalResult read(const schema::Coverage &table);
  /// Null with a diagnostic.
  engine::TensorMapAttr readTensorMap(const schema::TensorMap &table);
  mlir::LogicalResult readEpilogue(engine::KernelOp kernel, const schema::Kernel &table);

  mlir::OpBuilder &builder;
  mlir::Location location;
  const NameList &dims, &weights;
  // Of the target at hand.
  NameList buffers, groups, libraries, kernels, programs, rankGroups;
};

} // namespace ingot::compiler
