// SPDX-License-Identifier: Apache-2.0
// ingot-server: answers for its health at once, opens the engine, serves until it is told to end.
#include "runtime/api/Version.h"
#include "runtime/server/Listener.h"
#include "runtime/tools/Program.h"
#include "runtime/tools/SessionArguments.h"
#include "runtime/tools/Table.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

using namespace ingot::runtime;

namespace {

/// A descriptor for each connection; what the system allows without asking is often 1,024.
void allowConnections() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return;
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

/// The signals that end the process, which wait until somebody asks for them.
sigset_t blockEndSignals() {
  std::signal(SIGPIPE, SIG_IGN);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

/// Whether one of `signals` has come, at most a tenth of a second from now.
bool hasCome(const sigset_t &signals) {
  timespec tenth = {0, 100'000'000};
  return sigtimedwait(&signals, nullptr, &tenth) > 0;
}

/// The engine on its way from the file to the loop.
struct Loading {
  std::unique_ptr<ServedModel> model;
  bool isOnCpu = false;
  Status failure;
  std::atomic<bool> done = false;

  void run(const ServerOptions &options) {
    failure = load(options);
    done = true;
  }

private:
  Status load(const ServerOptions &options) {
    Result<std::unique_ptr<Session>> session = Session::open(options.engine, options.session);
    if (!session.ok())
      return std::move(session).status();
    Result<Dialogue> dialogue =
        makeDialogue((*session)->tokenizer(), options.dialogue, (*session)->images());
    if (!dialogue.ok())
      return std::move(dialogue).status();
    isOnCpu = (*session)->engine().device().loads(CodeKind::HostSharedObject);
    using namespace std::chrono;
    std::vector<std::string> names = options.modelNames;
    if (names.empty())
      names.push_back(std::filesystem::path(options.engine).stem().string());
    model = std::make_unique<ServedModel>(
        std::make_unique<Loop>(std::move(*session), options.loop), std::move(names),
        duration_cast<seconds>(system_clock::now().time_since_epoch()).count());
    model->dialogue = std::move(*dialogue);
    return {};
  }
};

/// Bytes of the process's memory that are there: neither reserved only, nor pages of a file.
uint64_t touchedBytes() {
  unsigned long long all = 0, resident = 0, shared = 0;
  if (FILE *file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%llu %llu %llu", &all, &resident, &shared) != 3)
      resident = shared = 0;
    std::fclose(file);
  }
  return (resident - shared) * uint64_t(sysconf(_SC_PAGESIZE));
}

/// What the engine reserves, and what of it exists: on a CPU pages are there once they are used.
std::string describeMemory(const MemoryPlan &plan, bool isOnCpu) {
  const uint64_t reserved = plan.totalBytes() - (isOnCpu ? plan.weightBytes - plan.madeBytes : 0);
  return roundly(reserved) + " reserved, " + roundly(plan.kvBytes) + " of it for the KV cache" +
         (isOnCpu ? "; " + roundly(touchedBytes()) + " touched so far" : "");
}

void announce(const ServedModel &model, const Listener &listener, bool isOnCpu) {
  const MemoryPlan &plan = model.loop->memoryPlan();
  if (plan.madeBytes)
    std::fputs("warning: the weights of this engine are random numbers; its text means nothing\n",
               stderr);
  std::printf("serving %s at %s: %lld sequences of %lld tokens; memory: %s\n",
              model.names.front().c_str(), listener.address().c_str(),
              static_cast<long long>(plan.maxSequences), static_cast<long long>(plan.maxContext),
              describeMemory(plan, isOnCpu).c_str());
  std::fflush(stdout);
}

/// Waits until every accepted request has been answered. A second signal ends the process as it is.
void drain(Listener &listener, Loop &loop, const sigset_t &signals) {
  loop.drain();
  listener.drain();
  std::fputs("draining: accepted requests go on, new ones are refused; another signal ends them\n",
             stderr);
  // The loop's thread may still be at work on a response that has left.
  while (!loop.waitIdle(std::chrono::steady_clock::now()) || listener.exchanges() > 0)
    if (hasCome(signals))
      std::_Exit(1);
}

Status serve(const ServerOptions &options) {
  sigset_t signals = blockEndSignals();
  allowConnections();
  if (Status hosts = AllowedHosts::check(options.allowedHosts); !hosts.ok())
    return hosts;
  ApiKeys keys;
  if (!options.apiKeysFile.empty()) {
    Result<ApiKeys> loaded = ApiKeys::load(options.apiKeysFile);
    if (!loaded.ok())
      return std::move(loaded).status();
    keys = std::move(*loaded);
  }
  Metrics metrics;
  Router router(options, std::move(keys), metrics);
  // Before the listener, whose threads use the model until they end.
  Loading loading;
  Result<std::unique_ptr<Listener>> listener = Listener::open(options, router, metrics);
  if (!listener.ok())
    return std::move(listener).status();
  if (Status usable = checkDialogue(options.dialogue); !usable.ok() || options.checksOnly)
    return usable;
  // It answers /health from now on, and nothing else before the engine is there.
  std::printf("opening %s for %s\n", options.engine.c_str(), (*listener)->address().c_str());
  std::fflush(stdout);

  std::thread loader([&] { loading.run(options); });
  while (!loading.done)
    if (hasCome(signals))
      std::_Exit(0); // nothing has been accepted
  loader.join();
  if (!loading.model)
    return loading.failure;
  router.serve(*loading.model);
  announce(*loading.model, **listener, loading.isOnCpu);
  while (!hasCome(signals))
    ;
  drain(**listener, *loading.model->loop, signals);
  return {};
}

int run(int argc, char **argv) {
  if (argc > 1 && std::strcmp(argv[1], "--version") == 0) {
    std::printf("ingot-server %s\n", versionText);
    return 0;
  }
  Result<ServerArguments> arguments = withConfigFile(argc, argv);
  if (!arguments.ok())
    return reportError(arguments.status());
  std::vector<char *> words;
  for (std::string &word : arguments->words)
    words.push_back(word.data());
  CommandLine app("Serves an engine made by 'ingot build' over HTTP, in the forms of OpenAI's "
                  "completions, chats and responses, and of Anthropic's messages.",
                  "ingot-server",
                  "examples:\n"
                  "  ingot-server model.ingot --port 8080 --max-context 8192\n"
                  "  ingot-server --config server.yaml");
  ServerOptions options;
  addServerOptions(app, options);
  bool isHelp = false;
  Status status = readArguments(app, int(words.size()), words.data(), isHelp);
  if (status.ok() && !isHelp)
    status = serve(options);
  return status.ok() ? 0 : reportError(arguments->locate(std::move(status)));
}

} // namespace

int main(int argc, char **argv) { return runProgram(argc, argv, run); }
