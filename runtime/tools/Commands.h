// SPDX-License-Identifier: Apache-2.0
// The commands that only read an engine. Each takes the arguments after its name and returns an
// exit status: 0 well, 1 an error or a failed check, 2 a wrong command line (diff: 0 equal, 1
// different, 2 an error of any kind; selftest: 3 nothing failed, but there are no golden tokens).
#pragma once

#include "runtime/core/Status.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ingot::runtime {

class CommandLine;

struct Command {
  const char *name;
  const char *summary;
  int (*run)(int argc, char **argv); ///< argv[0] is "ingot-run <name>"
};

/// The command of that name, or null.
const Command *findCommand(const char *name);

/// All commands, ended by one without a name.
const Command *allCommands();

int runGenerate(int argc, char **argv);
int runInspect(int argc, char **argv);
int runPlan(int argc, char **argv);
int runDiff(int argc, char **argv);
int runVerify(int argc, char **argv);
int runSelfTest(int argc, char **argv);
int runBench(int argc, char **argv);
int runEval(int argc, char **argv);
int runTune(int argc, char **argv);
int runTemplate(int argc, char **argv);
int runMatch(int argc, char **argv);

/// What of the arguments of `generate` can be refused without the engine, which need not be there:
/// the exit status, or nothing. Help ends here too.
std::optional<int> refuseGenerate(int argc, char **argv);

/// What `plan` is asked; 0 and "" leave the choice to the engine and this machine.
struct PlanArguments {
  uint64_t memory = 0; ///< bytes for everything; 0: no bound
  double fraction = 0; ///< of free memory; 0: the device's
  int64_t kvBlocks = 0;
  int64_t maxSequences = 0;
  int64_t maxContext = 0;
  int64_t maxTokens = 0;
  int64_t maxLogitRows = 0;
  int64_t threads = 0;
  std::string target;
  bool json = false;
};

/// Prints the memory plan of an engine whose metadata (the FlatBuffer alone, verified here) is
/// given: what opening it with these arguments allocates, and which batch fits at which context.
/// INGOT-E5005 to E5011: the metadata. INGOT-E6001, E6002: the arguments. INGOT-E5016, E5017: no
/// such target.
Status planMetadata(std::span<const std::byte> metadata, const PlanArguments &arguments,
                    FILE *stream);

/// How much of a file `verifyEngine` reads, and which file it must be.
struct VerifyArguments {
  bool skipsWeights = false; ///< all but the weights' digests, which take reading the whole file
  std::string requireDigest; ///< 64 hexadecimal digits, or empty
};

/// Adds --skip-weights and --require-digest; parsing fills `arguments`, which must outlive `app`.
void addVerifyOptions(CommandLine &app, VerifyArguments &arguments);

/// Verifies an engine file and prints one line per thing that was checked. INGOT-E50xx, E7101;
/// INGOT-E5020 when the file is sound but not the one required.
Status verifyEngine(const std::string &path, const VerifyArguments &arguments, FILE *stream);

/// What a target of an engine needs of a machine.
struct TargetNeeds {
  std::string name, architecture;
  std::vector<std::string> features;
};

/// Whether this machine has a device that runs one of the targets. INGOT-E5016 where it has none,
/// and those of openDevice().
Status checkMachine(std::span<const TargetNeeds> targets);

} // namespace ingot::runtime
