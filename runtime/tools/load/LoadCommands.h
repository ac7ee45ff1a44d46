// SPDX-License-Identifier: Apache-2.0
// The commands `bench NAME` that put a load on something; Bench.cpp lists them.
#pragma once

namespace ingot::runtime {

int runBenchServe(int argc, char **argv);
int runBenchThroughput(int argc, char **argv);
int runBenchLatency(int argc, char **argv);

} // namespace ingot::runtime
