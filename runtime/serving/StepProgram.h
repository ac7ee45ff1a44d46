// SPDX-License-Identifier: Apache-2.0
// The program "step": turns a batch into its input buffers and runs it.
#pragma once

#include "runtime/engine/Executor.h"
#include "runtime/serving/Scheduler.h"

namespace ingot::runtime {

/// An input that this runtime can fill: its name, and how it is made from a batch.
struct StepInput;

class StepProgram {
public:
  /// Binds the inputs by name. INGOT-E5011: an input this runtime does not know. INGOT-E5022: no
  /// program "step", or no output "logits" of f32.
  static Result<StepProgram> bind(Executor &executor);

  /// Sets the shape and writes the inputs of a batch. Tokens that the host does not know yet are
  /// copied from `drawn`, the buffer of the tokens of the last draw, which nothing else needs.
  /// INGOT-E6015 when it exceeds the plan, INGOT-E6054 where embeddings are not those that it
  /// reads.
  Status prepare(std::span<const BatchEntry> batch, const KvCache &cache, uint32_t drawn = 0);
  /// Runs what `prepare` set up.
  void run() { executor->run(program); }

  uint32_t index() const { return program; }
  uint32_t logits() const { return logitsBuffer; }
  /// Columns of the logits.
  int64_t vocabulary() const { return vocabularySize; }

private:
  struct Binding {
    const StepInput *input;
    uint32_t buffer;
    size_t group;                ///< of a block table
    int64_t width;               ///< elements of a row
    size_t added;                ///< of rows of pictures: behind which layer, or 0
    std::vector<std::byte> data; ///< room for the largest step
  };

  StepProgram() = default;
  Status bindInput(uint32_t buffer);
  uint64_t fill(Binding &binding, std::span<const BatchEntry> batch, const KvCache &cache);
  void copyDrawn(uint32_t buffer, std::span<const BatchEntry> batch, uint32_t drawn);

  Executor *executor = nullptr;
  uint32_t program = 0;
  uint32_t logitsBuffer = 0;
  int64_t vocabularySize = 0;
  int64_t embeddingWidth = 0; ///< 0: it reads tokens
  std::vector<Binding> bindings;
};

} // namespace ingot::runtime
