// SPDX-License-Identifier: Apache-2.0
// What a launch must move and compute, from sizes and from the facts that its kernel states.
#pragma once

#include "runtime/tools/KernelTimer.h"
#include "runtime/tools/MeasuredEngine.h"

namespace ingot::runtime {

/// The work of one launch or copy.
struct KernelWork {
  double bytes = 0;      ///< of weights, of values read and written, of the KV cache
  double operations = 0; ///< 0: the kernel states none
  double peak = 0;       ///< operations per second that the kernel states as its peak; 0: none
};

/// A fact of the kernel as a number; 0 when it does not state it or states no number.
double factOf(const schema::Kernel &kernel, std::string_view key);
/// As a text; empty when the kernel does not state it.
std::string_view factTextOf(const schema::Kernel &kernel, std::string_view key);

/// Rows of the step that the kernel's facts are about; 0 when they are about none.
int64_t rowsOf(const schema::Kernel &kernel, const MeasuredShape &shape);

/// Seconds of one launch in a step of so many tokens as the compiler's cost model has them
/// (predicted_us of docs/cuda-kernels.md); 0 where the kernel does not state them.
double predictedSeconds(const schema::Kernel &kernel, int64_t tokens);

/// The work of an instruction at the step that the executor is at. Each buffer counts once, in
/// full, with these exceptions: of weights and the KV cache what the kernel's facts say, of the
/// workspace and of state rows nothing.
KernelWork workOf(const Executor &executor, const TimedInstruction &timed,
                  const MeasuredShape &shape);

/// Everything that decides how long an instruction takes: kernel and sizes of its arguments.
std::vector<uint64_t> signatureOf(const Executor &executor, const TimedInstruction &timed);

} // namespace ingot::runtime
