// SPDX-License-Identifier: Apache-2.0
// The targets that conformance runs on this machine, and the command line of the tests.
#pragma once

#include "tests/conformance/Cases.h"
#include <string>
#include <vector>

namespace ingot::conformance {

/// Names given with --targets: no others are compared with the reference. Empty: all are.
std::vector<std::string> &chosenTargets();
bool isChosen(llvm::StringRef target);

/// Names of all targets other than the reference whose code this machine can run, best first; with
/// --emulate those of the emulated CPU.
const std::vector<std::string> &fastTargets();

/// The one whose tiles of AMX are scalar code, for machines that have none.
inline constexpr const char *kEmulatedAmx = "x86-64-v4+vnni+amx-emulated";

/// CUDA targets that the simulator runs: those whose kernels differ, or all with --full, when each
/// case is run on all of them.
const std::vector<std::string> &simulatedTargets();

/// The reference, the best of the fast ones and the first simulated one.
std::vector<std::string> typicalTargets();

/// Whether --full was given: the larger grid, on every target.
bool &fullGrid();

/// All cases of all families, for the whole program.
const std::vector<Case> &allCases();

/// Whether a CUDA target runs `which`.
bool runsOn(const Case &which, llvm::StringRef architecture);

/// `which` compiled for a target, in its fused form where it has one, for such `runs` or all; null
/// after a failure.
std::unique_ptr<CompiledFunction> compileCase(const Case &which, const std::string &target,
                                              llvm::ArrayRef<Dims> runs = {},
                                              CudaCode code = CudaCode::Ptx);

/// The values of a run as they compare, with the element type of each result; null in the cache.
struct Output {
  std::vector<double> values;
  std::vector<mlir::Type> elements;
};
Output runCase(CompiledFunction &compiled, Inputs inputs);

/// How far value `index` may be from `wanted`, where another target computes it. `oracle` is what
/// the case's gives for these inputs; empty without one.
double toleranceOf(const Case &which, const std::vector<Expected> &oracle, size_t index,
                   double wanted, mlir::Type element);

/// The largest distance of a result of `which`, on the target it was compiled for, from the sum in
/// double precision, in units of the tolerance; infinite after a failure. fill(arguments) changes
/// those that makeInputs gives for so many tokens.
double worstError(const Case &which, CompiledFunction &compiled, int64_t tokens,
                  llvm::function_ref<void(std::vector<HostValue> &)> fill);

/// Checks that rows of `which` do not depend on the batch they are in, on the target it was
/// compiled for: `rows` of them, each of a few alone, and a shuffled half of all.
void checkInvariance(const Case &which, CompiledFunction &compiled, int64_t rows = 67);

/// Whether that holds for `which`, whose rows are those of its inputs.
bool hasInvariantRows(const Case &which);

/// Registers one test for each case, which runs it on all targets.
void registerCases();

/// Registers tests of CUDA kernels on GPUs of different sizes.
void registerMultiprocessorTests();

/// Registers tests of the emulated CPU itself.
void registerEmulatedDeviceTests();

/// Registers tests that compile cases for CUDA targets that are not simulated.
void registerCudaCases(const std::vector<Case> &cases);

} // namespace ingot::conformance
