// SPDX-License-Identifier: Apache-2.0
// WeightGraph: the expressions of @weights functions as nodes, equal expressions once. Holds no
// weight data, only where it lies.
#pragma once

#include "compiler/checkpoint/Checkpoint.h"
#include "compiler/weights/Packing.h"
#include "compiler/weights/WeightNumerics.h"
#include "dialects/llm/LlmDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>
#include <vector>

namespace ingot::compiler {

enum class NodeKind : uint8_t {
  Source,
  Literal,
  Convert,
  Quantize,   ///< results: values, scales and, where there are zero points, zeros
  Dequantize, ///< operands: values, scales and, where there are any, zeros and super-block scales
  Unpack,
  BlockPart,
  Transpose,
  Reshape,
  RepeatRows,
  SliceRows,
  ConcatRows,
  InterleaveRows,
  PermuteRows,
  ScaleColumns,
  AddLowRank, ///< operands: weight, left, right
};

/// A result of a node.
struct WeightValue {
  uint32_t node = 0;
  uint32_t result = 0;
  auto operator<=>(const WeightValue &) const = default;
};

/// Shape of a node's result. A one-dimensional weight is a column: rows x 1.
struct WeightShape {
  int64_t rows = 0, columns = 0;
  ElementType element = kF32;
  int64_t rowBytes() const { return columns * workingBytes(element); }
};

/// What llm.block_part takes of each block.
struct BlockPart {
  enum class Part : uint8_t { Values, Scales, Offsets, SuperScales };
  checkpoint::DType type = checkpoint::DType::Q8_0;
  Part part = Part::Values;
  int64_t bytes = 1;    ///< of a block
  int64_t elements = 1; ///< of the part
};

struct WeightNode {
  NodeKind kind = NodeKind::Source;
  std::vector<WeightValue> operands;
  std::vector<WeightShape> results;
  const checkpoint::Tensor *tensor = nullptr; ///< Source; owned by the checkpoint
  std::string file;                           ///< Source: the name of its file
  std::string name;                           ///< Source and Literal
  std::vector<std::byte> literal;             ///< Literal: row-major elements
  Encoding encoding;                          ///< Quantize, Dequantize
  float plus = 0;                             ///< Convert: is added in f32
  float scale = 0;                            ///< AddLowRank
  int64_t block = 1;                          ///< InterleaveRows; RepeatRows: how often
  int64_t first = 0;                          ///< SliceRows
  PackedFields fields;                        ///< Unpack
  BlockPart part;                             ///< BlockPart
  std::vector<int64_t> digits, order;         ///< PermuteRows, as llm.permute_rows
  uint8_t padding = 0;                        ///< the element that stands for zero in result 0
};

/// An llm.store_weight.
struct StoredWeight {
  std::string name, format;
  uint32_t function = 0; ///< index of the function that stores it
  mlir::RankedTensorType type;
  WeightValue value;
  std::vector<engine::LayoutAttr::Digit> digits;
};

class WeightGraph {
public:
  /// Errors: INGOT-E3101 for an expression that cannot be streamed, INGOT-E3102 where it does not
  /// agree with the checkpoint, and those of Checkpoint::get. `checkpoint` must outlive the graph.
  static checkpoint::Expected<WeightGraph> read(llvm::ArrayRef<mlir::func::FuncOp> functions,
                                                const checkpoint::Checkpoint &checkpoint);

  /// Operands stand before their users.
  const std::vector<WeightNode> &nodes() const { return allNodes; }
  const WeightNode &node(WeightValue value) const { return allNodes[value.node]; }
  const WeightShape &shape(WeightValue value) const { return node(value).results[value.result]; }
  /// In order of appearance.
  const std::vector<StoredWeight> &stores() const { return allStores; }

private:
  friend class WeightGraphReader;
  std::vector<WeightNode> allNodes;
  std::vector<StoredWeight> allStores;
};

} // namespace ingot::compiler
