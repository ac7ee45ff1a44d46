// SPDX-License-Identifier: Apache-2.0
// The program: GoogleTest over all cases, or a record of their CUDA launches.
#include "tests/conformance/EmulatedDevice.h"
#include "tests/conformance/Recorder.h"
#include "tests/conformance/StageSeconds.h"
#include "tests/conformance/Targets.h"

#include "codegen/cuda/CudaArchitecture.h"
#include <CLI/CLI.hpp>
#include <gtest/gtest.h>
#include <iostream>

using namespace ingot;

/// Of the kernels that tests compile more than once.
static constexpr uint64_t kKeptBytes = uint64_t{64} << 20;

std::unique_ptr<codegen::BuildCache> &conformance::buildCache() {
  static std::unique_ptr<codegen::BuildCache> cache;
  return cache;
}

/// Opens what is asked for; says what is wrong with it, or why there is none.
static bool openCache(const codegen::BuildCache::Choice &choice) {
  std::string why;
  auto cache = codegen::BuildCache::open(choice, why, kKeptBytes);
  if (!cache) {
    std::cerr << "conformance: " << llvm::toString(cache.takeError()) << "\n";
    return false;
  }
  if (!why.empty())
    std::cerr << "conformance: no cache: " << why << "\n";
  conformance::buildCache() = std::move(*cache);
  return true;
}

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  conformance::RecordOptions record;
  CLI::App app("Checks every operation on every target, or records the CUDA launches of the cases "
               "for tests/gpu. GoogleTest's options are taken too.");
  app.add_flag("--full", conformance::fullGrid(), "the larger grid, on every target");
  CLI::Option *file = app.add_option(
      "--record", record.file, "run the cases in the simulator and write their launches here");
  app.add_option("--targets", conformance::chosenTargets(),
                 "check these alone, as on a new machine")
      ->excludes(file)
      ->delimiter(',');
  app.add_flag("--emulate", conformance::emulating(),
               "run x86-64-v4 and x86-64-v4+vnni, on any machine, in an emulated CPU")
      ->excludes(file);
  app.add_option("--architecture", record.architecture, "of the record")
      ->needs(file)
      ->capture_default_str();
  app.add_option("--cases", record.prefixes, "record cases whose names begin so")
      ->needs(file)
      ->delimiter(',');
  app.add_flag("--no-ptx", record.noPtx, "a record for devices only, which no simulator loads")
      ->needs(file);
  codegen::BuildCache::Choice cache;
  CLI::Option *folder = app.add_option("--cache", cache.folder,
                                       "folder of compiled kernels (default: that of ingot build)");
  app.add_flag("--no-cache", cache.none, "compile every kernel")->excludes(folder);
  CLI11_PARSE(app, argc, argv);
  if (!openCache(cache))
    return 1;
  if (!record.file.empty())
    return conformance::record(record) ? 0 : 1;
  if (conformance::emulating() && conformance::chosenTargets().empty())
    conformance::chosenTargets() = conformance::fastTargets();
  for (const std::string &name : conformance::chosenTargets())
    if (!llvm::is_contained(conformance::fastTargets(), name) &&
        !codegen::findCudaArchitecture(name)) {
      std::cerr << "conformance: " << name << " is no target that this machine runs\n";
      return 1;
    }
  conformance::registerCases();
  conformance::registerMultiprocessorTests();
  if (conformance::emulating())
    conformance::registerEmulatedDeviceTests();
  int status = RUN_ALL_TESTS();
  conformance::printStageSeconds();
  return status;
}
