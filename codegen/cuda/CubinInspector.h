// SPDX-License-Identifier: Apache-2.0
// Reads what a cubin says of its one kernel: architecture, memory, registers, instructions.
#pragma once

#include "llvm/Support/Error.h"
#include <map>
#include <string>

namespace ingot::codegen {

/// The contents of a cubin that decide whether and how well it runs.
struct CubinFacts {
  int architecture = 0;              ///< 90
  bool architectureSpecific = false; ///< built for "sm_90a"; known from sm_90 on
  std::string kernel;
  int64_t registers = 0;    ///< of a thread
  int64_t stackBytes = 0;   ///< of a thread: frames and calls
  int64_t staticShared = 0; ///< of a block, without what the driver reserves
  int64_t codeBytes = 0;
  /// What a warp issues for one turn of the innermost loop that has the most products on tensor
  /// cores; 0 without such a loop. Code that a branch may skip counts where it copies or
  /// multiplies; else it is for the end of a segment, or waits.
  int64_t loopInstructions = 0;
  /// Number of instructions by name; by number ("0x9f0") where the name is not known.
  std::map<std::string, int64_t> instructions;

  /// Instructions called `name`.
  int64_t count(llvm::StringRef name) const;
  /// Loads and stores of local memory.
  int64_t localAccesses() const { return count("LDL") + count("STL"); }
};

/// Reads `bytes`; an error for anything but a cubin of one kernel as NVRTC 13 writes it. Bounds are
/// checked: damaged files give errors.
llvm::Expected<CubinFacts> inspectCubin(llvm::StringRef bytes);

} // namespace ingot::codegen
