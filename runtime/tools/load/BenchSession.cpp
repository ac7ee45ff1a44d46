// SPDX-License-Identifier: Apache-2.0
// bench throughput and bench latency: a load on an engine in this process, without a server.
#include "runtime/tools/SessionArguments.h"
#include "runtime/tools/load/LoadCommand.h"
#include "runtime/tools/load/LoadCommands.h"
#include "runtime/tools/load/SessionLoad.h"

#include <csignal>

namespace ingot::runtime {
namespace {

struct EngineArguments {
  std::string engine;
  SessionOptions session;
  LoadArguments load;
};

void addOptions(CommandLine &app, EngineArguments &arguments) {
  app.addOption("engine", arguments.engine, "engine file").required().file(FileUse::ReadsIfThere);
  addLoadOptions(app, arguments.load);
  addSessionOptions(app, arguments.session);
}

int measure(const char *command, EngineArguments &arguments) {
  readLoad(arguments.load);
  Result<std::unique_ptr<Session>> opened = Session::open(arguments.engine, arguments.session);
  if (!opened.ok())
    return reportError(opened.status());
  Session &session = **opened;
  WorkloadOptions &workload = arguments.load.workload;
  workload.vocabulary = session.file().metadata().serving()->vocabulary();
  if (workload.maxContext == 0)
    workload.maxContext = session.memoryPlan().maxContext;
  std::string target = session.engine().target().name()->str();
  std::string device = session.engine().device().description();
  int status = measureLoad(
      arguments.load,
      {{"command", command},
       {"engine", arguments.engine},
       {"target", target},
       {"device", device},
       {"threads", session.memoryPlan().threads}},
      arguments.engine + ", target " + target + " on " + device,
      [&](Workload &requests, const Pacing &pacing, LoadProgress &progress, double &seconds) {
        return runSessionLoad(session, requests, pacing, arguments.load.ignoreEos, progress,
                              seconds);
      });
  Status unchanged = session.file().unchanged();
  return unchanged.ok() ? status : reportError(unchanged);
}

} // namespace

int runBenchThroughput(int argc, char **argv) {
  CommandLine app("Puts a load on an engine in this process: all requests at once, unless options "
                  "say otherwise.",
                  argv[0],
                  "examples:\n"
                  "  {} model.ingot --prompt-tokens 512 --output-tokens 128 "
                  "--ignore-eos\n"
                  "  {} model.ingot --rate 4 --duration 60\n"
                  "  {} model.ingot --sharegpt conversations.json --requests 500");
  EngineArguments arguments;
  addOptions(app, arguments);
  int exitStatus = 0;
  if (!parseArguments(app, argc, argv, exitStatus))
    return exitStatus;
  return measure("throughput", arguments);
}

int runBenchLatency(int argc, char **argv) {
  CommandLine app("Puts a load on an engine in this process: one request after the other, unless "
                  "options say otherwise.",
                  argv[0],
                  "examples:\n"
                  "  {} model.ingot --requests 20\n"
                  "  {} model.ingot --concurrency 8 --shared-prefix 1500 --svg load.svg");
  EngineArguments arguments;
  addOptions(app, arguments);
  int exitStatus = 0;
  if (!parseArguments(app, argc, argv, exitStatus))
    return exitStatus;
  const LoadArguments &load = arguments.load;
  if (load.rate.empty() && load.workload.trace.empty() && load.pacing.concurrency == 0)
    arguments.load.pacing.concurrency = 1;
  return measure("latency", arguments);
}

} // namespace ingot::runtime
