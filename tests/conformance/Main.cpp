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
  CLI11_PARSE(app, argc, argv);
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
