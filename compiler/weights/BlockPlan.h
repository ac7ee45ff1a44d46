// SPDX-License-Identifier: Apache-2.0
// WeightEvaluator: evaluates a block of rows of some weights inside one piece of memory whose size
// is known beforehand.
#pragma once

#include "compiler/weights/WeightGraph.h"

#include <map>
#include <memory>
#include <optional>
#include <span>

namespace ingot::compiler {

/// The weight files of a checkpoint, read block by block without staying in the page cache.
/// Safe from several threads at once.
class WeightSource {
public:
  /// `graph` and `checkpoint` must outlive the source.
  WeightSource(const checkpoint::Checkpoint &checkpoint, const WeightGraph &graph);
  ~WeightSource();
  WeightSource(const WeightSource &) = delete;
  WeightSource &operator=(const WeightSource &) = delete;

  /// Fills `out` from byte `offset` of the tensor on. Errors: those of Checkpoint::read.
  checkpoint::Outcome read(const checkpoint::Tensor &tensor, int64_t offset,
                           std::span<std::byte> out) const;

private:
  const checkpoint::Checkpoint &checkpoint;
  std::map<uint32_t, int> descriptors; ///< by Tensor::fileIndex; for advice only
};

/// Ranges over whole weights, by node: those of llm.quantize with one scale for everything.
using WeightRanges = std::vector<std::optional<ValueRange>>;

/// How many rows of operand 0 or 1 of llm.interleave_rows stand before row `row` of its result,
/// padding rows included.
int64_t interleavedBefore(int64_t row, int64_t block, int64_t operand);

/// The input row of llm.permute_rows that stands in row `row` of its result.
int64_t permutedFrom(const WeightNode &permute, int64_t row);

/// The way back: where row `row` of its input stands in its result.
int64_t permutedTo(const WeightNode &permute, int64_t row);

/// Evaluated elements in a plan's memory.
struct WeightView {
  int64_t offset = 0; ///< bytes
  int64_t pitch = 0;  ///< elements from row to row
};

/// What to compute, in which order and where in memory, for some windows of some weights. Made for
/// each block anew; equal parts of the windows are computed once.
class BlockPlan {
public:
  explicit BlockPlan(const WeightGraph &graph) : graph(graph) {}

  /// Plans the evaluation of `window`, which lies in the weight and is not empty.
  WeightView request(WeightValue value, const Window &window);

  /// Bytes of memory that evaluate() needs, aligned to 64. Grows with the windows.
  int64_t memory() const { return used; }

  /// Errors: INGOT-E3103 for a value that cannot be quantized, and those of WeightSource.
  checkpoint::Outcome evaluate(const WeightSource &source, const WeightRanges &ranges,
                               std::byte *memory) const;

private:
  struct Input {
    WeightView view;
    Window window; ///< of the operand; empty: nothing of it is needed
  };
  struct Step {
    uint32_t node = 0;
    Window window; ///< of result 0; empty where only other results are wanted
    std::vector<Input> inputs;
    std::vector<WeightView> results;
    int64_t scratch = 0; ///< byte offset of working space
  };
  class Runner;

  const Step &stepFor(uint32_t node, const Window &window);
  Window packedWindow(const WeightNode &node, const Window &window) const;
  void planInputs(Step &step);
  void planResults(Step &step);
  Input input(WeightValue value, const Window &window);
  WeightView allocate(int64_t rows, int64_t columns, ElementType element);
  int64_t allocateFloats(int64_t count);
  WeightView requestQuantized(WeightValue value, const Window &window);
  std::optional<WeightView> requestOneInput(const WeightNode &node, const Window &window);

  const WeightGraph &graph;
  std::vector<Step> steps; ///< operands before users
  std::map<std::pair<uint32_t, Window>, size_t> planned;
  int64_t used = 0;
};

} // namespace ingot::compiler
