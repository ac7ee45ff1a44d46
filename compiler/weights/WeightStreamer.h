// SPDX-License-Identifier: Apache-2.0
// WeightStreamer: evaluates the weights of @weights functions tile by tile, in parallel, from the
// checkpoint's files straight to where the engine file wants them.
#pragma once

#include "compiler/checkpoint/files/Digest.h"
#include "compiler/weights/RandomWeights.h"
#include "compiler/weights/TilePlan.h"
#include "compiler/weights/WeightSink.h"

namespace ingot::compiler {

/// Bytes of this process that are in memory now.
uint64_t residentMemory();

struct StreamOptions {
  /// Bytes that the whole process may have resident, everything included.
  uint64_t memoryCap = uint64_t{2} << 30;
  /// Bytes that the process will yet take before run(), for work that is still to come.
  uint64_t reserve = 0;
  /// Threads that evaluate; 0: as many as the process may run on.
  unsigned threads = 0;
  /// Seed of random weights: weights of the checkpoint are described, not evaluated.
  std::optional<uint64_t> randomWeights = std::nullopt;
};

/// A weight that an llm.store_weight asks for. Equal expressions share their bytes.
struct StreamedWeight {
  std::string name;
  std::string format;    ///< as in the recipe; may be empty
  uint32_t function = 0; ///< index of the function that stores it
  mlir::RankedTensorType type;
  uint64_t offset = 0; ///< from the start of the weights: a multiple of 4096, of 64 if smaller
  uint64_t bytes = 0;
  uint32_t content = 0;                   ///< equal for weights of equal bytes, and for no others
  std::optional<engine::WeightFill> fill; ///< made at load: has no offset and no digest
  checkpoint::Digest digest = {};         ///< SHA-256 of its bytes, after run()
};

/// The bytes given to the sink depend on the functions and the checkpoint only, never on the cap or
/// the number of threads.
class WeightStreamer {
public:
  /// Lays the weights out in order of their first appearance and measures the process. `checkpoint`
  /// must outlive the streamer; the functions are not needed afterwards, their context is.
  /// Errors: INGOT-E3100 for a cap that is too small, and those of WeightGraph::read and fillOf.
  static checkpoint::Expected<WeightStreamer> create(llvm::ArrayRef<mlir::func::FuncOp> functions,
                                                     const checkpoint::Checkpoint &checkpoint,
                                                     StreamOptions options);
  WeightStreamer(WeightStreamer &&) noexcept;
  WeightStreamer &operator=(WeightStreamer &&) noexcept;
  ~WeightStreamer();

  /// A cap that create() accepts in this process, and in another that is up to 8 MiB larger.
  uint64_t minimumMemory() const;
  /// Threads that run() uses, fewer than asked for where the cap is small.
  unsigned threads() const;
  /// Bytes of all streamed weights with the gaps between them.
  uint64_t totalBytes() const;
  /// In order of function and appearance.
  const std::vector<StreamedWeight> &weights() const;

  /// Evaluates everything. Errors: those of the sink, INGOT-E3103, and those of Checkpoint::read.
  checkpoint::Outcome run(const WeightSink &sink, const WeightProgress &progress = nullptr);

private:
  struct State;
  explicit WeightStreamer(std::unique_ptr<State> state);
  static checkpoint::Outcome layOut(State &state, std::optional<uint64_t> randomWeights);
  static checkpoint::Outcome divideMemory(State &state, StreamOptions options);

  std::unique_ptr<State> state;
};

} // namespace ingot::compiler
