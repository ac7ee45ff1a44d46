// SPDX-License-Identifier: Apache-2.0
// Options of a session, and how commands report errors.
#include "runtime/tools/SessionArguments.h"

#include <cstdio>

namespace ingot::runtime {

void addSessionOptions(CLI::App &app, SessionOptions &options) {
  const char *group = "Limits";
  app.add_option("--memory", options.memory.memory,
                 "bytes for weights, activations and KV cache, as in 16GiB")
      ->transform(CLI::AsSizeValue(false))
      ->group(group);
  app.add_option("--max-sequences", options.memory.maxSequences, "sequences in one step")
      ->check(CLI::PositiveNumber)
      ->group(group);
  app.add_option("--max-context", options.memory.maxContext, "positions of one sequence")
      ->check(CLI::PositiveNumber)
      ->group(group);
  app.add_option("--max-tokens", options.memory.maxTokens, "tokens of one step")
      ->check(CLI::PositiveNumber)
      ->group(group);
  app.add_option("--max-logit-rows", options.memory.maxLogitRows, "logit rows of one step")
      ->check(CLI::PositiveNumber)
      ->group(group);
  app.add_option("--threads", options.threads, "threads; default: as many as there are CPUs to use")
      ->check(CLI::PositiveNumber)
      ->group(group);
  app.add_option("--target", options.target, "name of the target to run; default: the best one")
      ->group(group);
  app.add_flag("--verify-weights", options.verifyWeights, "compare the digests of all weights")
      ->group(group);
}

int reportError(const Status &status) {
  std::fprintf(stderr, "error %s\n", status.toString().c_str());
  return 1;
}

bool parseArguments(CLI::App &app, int argc, char **argv, int &exitStatus) {
  try {
    app.parse(argc, argv);
    return true;
  } catch (const CLI::ParseError &error) {
    exitStatus = app.exit(error);
    return false;
  }
}

} // namespace ingot::runtime
