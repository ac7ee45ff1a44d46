// SPDX-License-Identifier: Apache-2.0
// Runs host kernels in an emulated CPU (Bochs, in a process of its own), for levels of x86-64 that
// this machine may lack.
#pragma once

#include "runtime/schema/KernelAbi.h"
#include "tests/conformance/HostTensor.h"
#include <memory>
#include <string>
#include <vector>

namespace ingot::conformance {

/// Whether --emulate was given: host kernels run in the emulated CPU, on the levels that it has.
bool &emulating();

/// The kernels of one library and the CPU that runs them. It reaches them, its stacks and an arena
/// with the buffers of a launch; an access beyond these is a failure, and so is an instruction that
/// it does not have. It ends with the first.
class EmulatedCpu {
public:
  /// `library`: the descriptor of a file with the kernels, which must stay open for a child
  /// process. Reports a GoogleTest failure and returns null where there is no emulator.
  static std::unique_ptr<EmulatedCpu> open(int library);
  ~EmulatedCpu();

  /// One launch: what each thread calls the kernel with, in order. Their buffers and scratch are
  /// `memory`, their barrier is the emulator's.
  struct Launch {
    std::string symbol;
    std::vector<void *> buffers;
    std::vector<int64_t> scalars;
    std::vector<std::vector<IngotLaunch>> threads;
  };

  /// Runs the kernel over copies of `memory`, which get what it leaves in them, beyond their ends
  /// too. False after a failure, which GoogleTest reports.
  bool run(const Launch &launch, llvm::ArrayRef<KernelBuffer *> memory);

private:
  EmulatedCpu() = default;
  /// Memory of the arena: `bytes` at a multiple of a page and `offset`. Ends the program where
  /// there is no more.
  uint8_t *allocate(size_t bytes, size_t offset = 0);
  /// Sends a line and reads the answer; false when the child is gone.
  bool ask(const std::string &line, std::string &answer);

  uint8_t *arena = nullptr; ///< both processes have it at this address
  size_t used = 0;
  int child = -1;
  int channel = -1;
};

} // namespace ingot::conformance
