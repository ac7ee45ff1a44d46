// SPDX-License-Identifier: Apache-2.0
// The table of conformance cases: what to compile, on which inputs, and what must come out.
#pragma once

#include "dialects/llm/LlmDialect.h"
#include "tests/conformance/CompiledFunction.h"
#include <functional>

namespace ingot::conformance {

/// A value worked out in double precision by the test, and how far a kernel may be from it.
struct Expected {
  double value;
  double tolerance;
};

/// The inputs of one run.
struct Inputs {
  std::vector<HostValue> arguments;
  Dims dims;
};

/// One operation, or fused form, with the chain of plain operations it stands for.
struct Case {
  std::string name;
  /// What the reference runs: a func.func without fused forms.
  std::string plain;
  /// What other targets run, given their pair offset; empty: `plain`.
  std::function<std::string(int64_t)> fused;
  /// Expected elements of every result (and then of the KV cache, if there is one), in order.
  std::function<std::vector<Expected>(const Inputs &)> oracle;
  /// Rows to run with.
  std::vector<int64_t> tokens = {1, 2, 3, 7, 17, 64, 129};
  /// Only with --full.
  bool full = false;
  /// Positions that sequences may reach, and how many sequences there are at most.
  int64_t maxPosition = 600, sequences = 4;
  /// Sequences have 1, 6, 11 tokens and so on, and the last one the rest; else about as many each.
  bool ragged = false;
  double scale = 1; ///< of random floats
  /// How far, relative to 1 + |value|, other targets may be from the reference where there is no
  /// oracle; 0 demands equality with the reference in any case.
  double apart = 1;
  /// Without an oracle: results may also be one step of their element type apart.
  bool stepsApart = false;
  /// Only the reference and architectures with FP8 products of mma.sync run it.
  bool fp8Products = false;
  /// CUDA targets have no kernel for it.
  bool nativeOnly = false;
  /// No target but the reference has.
  bool referenceOnly = false;
};

/// All cases, family by family.
std::vector<Case> matmulCases();
std::vector<Case> rowCases();
std::vector<Case> attentionCases();
std::vector<Case> expertCases();

/// Inputs for `function`, drawn from `seed`: index tensors are recognised by their argument's name
/// attribute "test.role": tokens (below test.limit), positions, selected (of those up to a
/// token's own), reaches, sequences, offsets (of
/// sequences), table, rows, places (of the L rows, or none), order (of the rows of test.limit
/// experts), starts.
Inputs makeInputs(mlir::func::FuncOp function, const Case &which, int64_t tokens, uint64_t seed);

/// The dims of steps of so many tokens.
std::vector<Dims> stepsOf(const Case &which, llvm::ArrayRef<int64_t> tokens);

/// `values` as they compare: results, then the cache's elements times their scales.
std::vector<double> flatten(const std::vector<HostValue> &results, const Inputs &inputs,
                            mlir::func::FuncOp function);

/// The keys or the values of a block: bytes from its start, and columns of a head.
struct CacheSection {
  int64_t offset, scales, columns;
};

/// Keys, then values unless they are in the keys.
llvm::SmallVector<CacheSection, 2> sectionsOf(llm::KvType type);

/// Elements of a cache of `type` (keys then values, block by block), times their scales.
std::vector<double> decodeCache(llm::KvType type, const std::vector<uint8_t> &memory);

/// Rounds to `element` as a kernel's store does.
double rounded(mlir::Type element, double value);

/// A float that is `value` within `tolerance` before it is rounded to `element`.
Expected stored(mlir::Type element, double value, double tolerance);

/// An element type by its MLIR name.
mlir::Type elementType(llvm::StringRef name);

/// Activation text: tensor<?xCOLUMNSxTYPE, "T">.
std::string activation(int64_t columns, llvm::StringRef element, llvm::StringRef rows = "T");

/// Axes of frequencies: runs of so many for each axis.
std::vector<int64_t> sectionAxes(const std::vector<int64_t> &sections);
/// Of `count` frequencies those of three axes by turns, as far as sections[1] and sections[2] go;
/// the rest have the first.
std::vector<int64_t> interleavedAxes(const std::vector<int64_t> &sections, int64_t count);
/// How a rotation takes them; empty without any.
std::string axesText(const std::vector<int64_t> &axes);

/// A region of random allowed operations over `arguments` values, drawn from `seed`, with a result
/// within [-1, 1]. `exact`: only operations whose result IEEE arithmetic determines (no exp, no
/// tanh); otherwise only continuous ones.
std::string randomRegion(unsigned arguments, bool exact, uint64_t seed);

} // namespace ingot::conformance
