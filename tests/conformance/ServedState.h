// SPDX-License-Identifier: Apache-2.0
// Functions with recurrent state over sequences: steps cut anywhere, on blocks as the serving
// runtime hands them out.
#pragma once

#include "runtime/serving/KvCache.h"
#include "tests/conformance/Targets.h"

namespace ingot::conformance {

/// A sequence: its inputs, which its tokens determine, and what came out so far, as codes.
struct Stream {
  runtime::Sequence sequence;
  std::vector<HostTensor> inputs; ///< with a row for each token
  std::vector<uint32_t> results;

  int64_t tokens() const { return inputs.front().rows; }
};

/// One target's engine of a function, its state, and who has which block of it. The function's
/// arguments are activations, then positions, offsets of sequences, block table, state and weights;
/// it returns one activation.
class ServedState {
public:
  /// How many blocks there are, and for how many a sequence has room.
  struct Blocks {
    int64_t count, width;
  };

  /// Random weights; null, and a GoogleTest failure, where `text` does not compile.
  static std::unique_ptr<ServedState> start(const std::string &target, const std::string &text,
                                            Blocks blocks);

  /// As at the start: no sequence has blocks, and nothing is written.
  void reset();

  /// A sequence of tokens from `first` on.
  Stream open(int64_t tokens, int32_t first = 0) const;

  /// Computes the next tokens of each of the streams in one step.
  void step(llvm::ArrayRef<std::pair<Stream *, int64_t>> parts);

  /// Computes what is left of a stream, `each` tokens a step.
  void finish(Stream &stream, int64_t each);

  std::vector<HostTensor> weights;
  runtime::KvCache cache;

private:
  /// Arguments so many places before the state.
  static constexpr size_t positionsBefore = 3, offsetsBefore = 2, tableBefore = 1;

  ServedState(std::unique_ptr<CompiledFunction> function, llm::StateType type, Blocks blocks);

  llvm::ArrayRef<mlir::Type> types() const;
  int64_t resultColumns() const;
  /// The arguments of a step, of which only the rows of tensors are known.
  std::vector<HostValue> argumentsOf(Dims dims) const;

  std::unique_ptr<CompiledFunction> compiled;
  llm::StateType type;
  Blocks blocks;
  size_t statePlace;           ///< of the arguments
  std::vector<uint8_t> memory; ///< the state's
};

} // namespace ingot::conformance
