// SPDX-License-Identifier: Apache-2.0
// The targets that conformance runs on this machine, and the command line of the tests.
#pragma once

#include "tests/conformance/Cases.h"
#include <string>
#include <vector>

namespace ingot::conformance {

/// Names of all targets other than the reference whose code this machine can run, best first.
const std::vector<std::string> &fastTargets();

/// CUDA targets that the simulator runs: those whose kernels differ, or all with --full.
const std::vector<std::string> &simulatedTargets();

/// Whether --full was given: the larger grid, on every target.
bool &fullGrid();

/// Registers one test for each case and target.
void registerCases();

/// Registers tests that compile cases for the CUDA targets, whose code this machine cannot run.
void registerCudaCases(const std::vector<Case> &cases);

} // namespace ingot::conformance
