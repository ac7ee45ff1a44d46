// SPDX-License-Identifier: Apache-2.0
// The part of the engine writer that prints one engine.unit.
#pragma once

#include "compiler/engine_file/EngineDescription.h"
#include "compiler/engine_file/OutputFile.h"
#include "dialects/engine/EngineOps.h"
#include "runtime/schema/Engine_generated.h"
#include "llvm/ADT/DenseMap.h"
#include <map>
#include <vector>

namespace ingot::compiler {

/// Index of each operation of one kind, by symbol name.
using SymbolIndex = llvm::DenseMap<mlir::StringAttr, uint32_t>;

/// Prints units as Target tables; the whole module must have been verified.
class EngineUnitWriter {
public:
  /// `dims` and `weights` number the module's operations; all references must outlive this.
  EngineUnitWriter(flatbuffers::FlatBufferBuilder &builder, const SymbolIndex &dims,
                   const SymbolIndex &weights, llvm::ArrayRef<WeightPlacement> placements,
                   llvm::ArrayRef<SectionEntry> sections)
      : builder(builder), dims(dims), weights(weights), placements(placements), sections(sections) {
  }

  mlir::FailureOr<flatbuffers::Offset<schema::Target>> write(engine::UnitOp unit);

private:
  template <class Table> using Offset = flatbuffers::Offset<Table>;
  template <class Table> using Tables = flatbuffers::Offset<flatbuffers::Vector<Offset<Table>>>;
  template <class Element> using Elements = flatbuffers::Offset<flatbuffers::Vector<Element>>;
  using Text = flatbuffers::Offset<flatbuffers::String>;

  /// As the tables of Engine.fbs.
  struct Parameter {
    schema::ArgKind kind;
    schema::Role role = {};
    engine::ExprAttr bytes = {}, value = {};
    int64_t blockTokens = 0, window = 0;
    std::string input = {};
    bool operator==(const Parameter &) const = default;
  };
  struct Use {
    std::vector<engine::ExprAttr> grid;
    std::vector<Parameter> parameters;
    bool operator==(const Use &) const = default;
  };

  mlir::LogicalResult number(engine::UnitOp unit);
  Parameter parameterOf(engine::UnitOp unit, mlir::Attribute argument);
  void collectUses(engine::UnitOp unit);
  Tables<schema::Use> writeUses(uint32_t kernel);
  template <class OpT, class Write> auto list(engine::UnitOp unit, Write write);
  template <class Element> Elements<Element> vector(llvm::ArrayRef<Element> values);
  Elements<uint32_t> numbers(mlir::ArrayAttr names, const SymbolIndex &index);
  Text text(llvm::StringRef text);
  Text optionalText(llvm::StringRef text);

  Offset<schema::Expr> expression(engine::ExprAttr attribute);
  Tables<schema::Expr> expressions(llvm::ArrayRef<engine::ExprAttr> attributes);
  Tables<schema::Range> ranges(llvm::ArrayRef<engine::RangeAttr> attributes);
  Tables<schema::Range> ranges(mlir::ArrayAttr attributes);
  Tables<schema::Arg> args(mlir::ArrayAttr attributes);

  Offset<schema::Buffer> write(engine::BufferOp op);
  Offset<schema::KvGroup> write(engine::KvGroupOp op);
  mlir::FailureOr<Offset<schema::Library>> write(engine::LibraryOp op);
  Offset<schema::Kernel> write(engine::KernelOp op);
  Offset<schema::TensorMap> write(engine::TensorMapAttr map);
  Offset<schema::Launch> write(engine::LaunchOp op);
  Offset<schema::Copy> write(engine::CopyOp op);
  Offset<schema::Collective> write(engine::CollectiveOp op);
  Offset<schema::Instruction> writeInstruction(mlir::Operation *op);
  Offset<schema::Program> write(engine::ProgramOp op);
  Offset<schema::MemoryContract> memory(engine::UnitOp unit);

  flatbuffers::FlatBufferBuilder &builder;
  const SymbolIndex &dims, &weights;
  llvm::ArrayRef<WeightPlacement> placements;
  llvm::ArrayRef<SectionEntry> sections;
  // Of the unit at hand.
  SymbolIndex buffers, groups, libraries, kernels, programs, rankGroups;
  llvm::SmallVector<uint64_t> groupBytes;
  std::map<uint32_t, std::vector<Use>> uses; ///< of each kernel, in the order of launches
};

} // namespace ingot::compiler
