// SPDX-License-Identifier: Apache-2.0
// ingot-server: listens at once, loads the engine, serves until it is told to end.
#include "runtime/api/Version.h"
#include "runtime/server/Listener.h"
#include "runtime/tools/Program.h"
#include "runtime/tools/SessionArguments.h"

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
    Result<Dialogue> dialogue = makeDialogue((*session)->tokenizer(), options.dialogue);
    if (!dialogue.ok())
      return std::move(dialogue).status();
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

void announce(const ServedModel &model, const Listener &listener) {
  const MemoryPlan &plan = model.loop->memoryPlan();
  if (plan.madeBytes)
    std::fputs("warning: the weights of this engine are random numbers; its text means nothing\n",
               stderr);
  std::printf("serving %s at %s: %lld sequences of %lld tokens, %llu MiB of KV cache\n",
              model.names.front().c_str(), listener.address().c_str(),
              static_cast<long long>(plan.maxSequences), static_cast<long long>(plan.maxContext),
              static_cast<unsigned long long>(plan.kvBytes >> 20));
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

int serve(const ServerOptions &options) {
  sigset_t signals = blockEndSignals();
  allowConnections();
  if (Status hosts = AllowedHosts::check(options.allowedHosts); !hosts.ok())
    return reportError(hosts);
  ApiKeys keys;
  if (!options.apiKeysFile.empty()) {
    Result<ApiKeys> loaded = ApiKeys::load(options.apiKeysFile);
    if (!loaded.ok())
      return reportError(loaded.status());
    keys = std::move(*loaded);
  }
  Metrics metrics;
  Router router(options, std::move(keys), metrics);
  // Before the listener, whose threads use the model until they end.
  Loading loading;
  Result<std::unique_ptr<Listener>> listener = Listener::open(options, router, metrics);
  if (!listener.ok())
    return reportError(listener.status());
  if (options.checksOnly) {
    const Status usable = checkDialogue(options.dialogue);
    return usable.ok() ? 0 : reportError(usable);
  }
  std::printf("listening at %s\n", (*listener)->address().c_str());
  std::fflush(stdout);

  std::thread loader([&] { loading.run(options); });
  while (!loading.done)
    if (hasCome(signals))
      std::_Exit(0); // nothing has been accepted
  loader.join();
  if (!loading.model)
    return reportError(loading.failure);
  router.serve(*loading.model);
  announce(*loading.model, **listener);
  while (!hasCome(signals))
    ;
  drain(**listener, *loading.model->loop, signals);
  return 0;
}

int run(int argc, char **argv) {
  if (argc > 1 && std::strcmp(argv[1], "--version") == 0) {
    std::printf("ingot-server %s\n", versionText);
    return 0;
  }
  Result<std::vector<std::string>> words = withConfigFile(argc, argv);
  if (!words.ok())
    return reportError(words.status());
  std::vector<char *> arguments;
  for (std::string &word : *words)
    arguments.push_back(word.data());
  CommandLine app("Serves an engine made by 'ingot build' over HTTP, in the forms of OpenAI's "
                  "completions, chats and responses, and of Anthropic's messages.",
                  "ingot-server",
                  "examples:\n"
                  "  ingot-server model.ingot --port 8080 --max-context 8192\n"
                  "  ingot-server --config server.yaml");
  ServerOptions options;
  addServerOptions(app, options);
  int exitStatus = 0;
  if (!parseArguments(app, int(arguments.size()), arguments.data(), exitStatus))
    return exitStatus;
  return serve(options);
}

} // namespace

int main(int argc, char **argv) { return runProgram(argc, argv, run); }
