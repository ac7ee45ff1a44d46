// SPDX-License-Identifier: Apache-2.0
// selftest: does this engine do on this machine what it did when it was built?
#include "runtime/tools/Commands.h"
#include "runtime/tools/MeasuringDevice.h"
#include "runtime/tools/SessionArguments.h"
#include "runtime/tools/Table.h"

#include "runtime/engine/Verify.h"

#include <algorithm>
#include <chrono>
#include <map>

namespace ingot::runtime {
namespace {

using Tokens = std::vector<int32_t>;

struct SelfTestOptions {
  std::string engine;
  double tolerance = 0.02;
  SessionOptions session;
};

/// Prints results as they come and remembers the first failure.
class Verdict {
public:
  void add(const char *check, bool passed, const std::string &what) {
    std::printf("  %-9s %-10s %s\n", check, passed ? "passed" : "FAILED", printable(what).c_str());
    if (!passed && failure.empty())
      failure = std::string(check) + ": " + what;
  }
  void skip(const char *check, const char *why) {
    std::printf("  %-9s %-10s %s\n", check, "-", why);
  }
  Status status() const {
    return failure.empty()
               ? Status()
               : Status::error("INGOT-E6020", "the self-test failed: " + failure,
                               "rebuild the engine for this machine; if that does not help, report "
                               "this with the output of 'inspect --json'");
  }

private:
  std::string failure;
};

/// Greedy continuations of all prompts, run together.
Result<std::vector<Tokens>> generate(Session &session, const std::vector<Tokens> &prompts,
                                     const std::vector<int64_t> &lengths) {
  std::map<uint64_t, size_t> places;
  for (size_t i = 0; i < prompts.size(); ++i) {
    Request request;
    request.tokens = prompts[i];
    request.sampling.temperature = 0;
    request.sampling.maxTokens = lengths[i];
    request.sampling.ignoreEos = true;
    Result<uint64_t> id = session.submit(request);
    if (!id.ok())
      return std::move(id).status().in("prompt " + std::to_string(i));
    places[*id] = i;
  }
  std::vector<Tokens> outputs(prompts.size());
  for (bool active = !prompts.empty(); active;) {
    Result<bool> stepped = session.step();
    if (!stepped.ok())
      return std::move(stepped).status();
    active = *stepped;
    while (std::optional<Event> event = session.nextEvent())
      if (event->token >= 0)
        outputs[places.at(event->request)].push_back(event->token);
  }
  return outputs;
}

/// Allocates exactly as a session does, through a device that counts.
Status checkMemory(const std::shared_ptr<const EngineFile> &file, const SessionOptions &options,
                   Verdict &verdict) {
  uint32_t target = 0;
  Result<MemoryPlan> plan = Session::plan(*file, options, &target);
  if (!plan.ok())
    return std::move(plan).status();
  Result<std::unique_ptr<Device>> actual = Session::deviceFor(*file, options);
  if (!actual.ok())
    return std::move(actual).status();
  auto device = std::make_unique<MeasuringDevice>(std::move(*actual));
  const MeasuringDevice &measured = *device;
  Result<std::unique_ptr<Executor>> executor =
      Executor::create(file, target, std::move(device), *plan);
  if (!executor.ok())
    return std::move(executor).status();
  uint64_t buffers = plan->arenaBytes + plan->kvBytes + plan->stateBytes + plan->madeBytes;
  verdict.add("memory",
              measured.allocatedBytes() == buffers &&
                  measured.scratchBytes() == plan->scratchBytes &&
                  measured.adoptedBytes() <= plan->weightBytes - plan->madeBytes,
              inBytes(measured.allocatedBytes()) + " allocated, contract " + grouped(buffers) +
                  "; scratch " + grouped(measured.scratchBytes()) + ", contract " +
                  grouped(plan->scratchBytes) + "; weights " + grouped(measured.adoptedBytes()) +
                  ", contract " + grouped(plan->weightBytes - plan->madeBytes));
  return {};
}

/// Compares one continuation with the recorded one. Where the two best logits were closer than the
/// tolerance either may win, and what follows is another text: the comparison ends there.
struct GoldenComparison {
  size_t compared = 0, ties = 0;
  std::string mismatch;

  void compare(size_t index, const schema::GoldenCase &golden, const Tokens &output,
               double tolerance) {
    for (uint32_t i = 0; i < count(golden.tokens()); ++i) {
      int32_t expected = golden.tokens()->Get(i);
      bool ended = i >= output.size();
      if (!ended && output[i] == expected) {
        ++compared;
        continue;
      }
      bool known = i < count(golden.margins());
      if (!ended && known && double(golden.margins()->Get(i)) <= tolerance) {
        ++ties;
        return;
      }
      if (mismatch.empty())
        mismatch = "case " + std::to_string(index) + ", token " + std::to_string(i) + " is " +
                   (ended ? "missing" : std::to_string(output[i])) + ", recorded " +
                   std::to_string(expected) +
                   (known ? " with margin " + fixedPoint(golden.margins()->Get(i), 6) : "");
      return;
    }
  }
};

Status checkGolden(Session &session, double tolerance, Verdict &verdict) {
  const auto *cases = session.file().metadata().golden();
  if (count(cases) == 0) {
    verdict.skip("golden", "the engine has no golden cases");
    return {};
  }
  std::vector<Tokens> prompts;
  std::vector<int64_t> lengths;
  for (const schema::GoldenCase *golden : *cases) {
    Tokens &prompt = prompts.emplace_back();
    for (uint32_t i = 0; i < count(golden->prompt()); ++i)
      prompt.push_back(golden->prompt()->Get(i));
    lengths.push_back(std::max<int64_t>(1, count(golden->tokens())));
  }
  Result<std::vector<Tokens>> outputs = generate(session, prompts, lengths);
  if (!outputs.ok())
    return std::move(outputs).status();
  GoldenComparison comparison;
  for (uint32_t i = 0; i < cases->size(); ++i)
    comparison.compare(i, *cases->Get(i), (*outputs)[i], tolerance);
  verdict.add("golden", comparison.mismatch.empty(),
              comparison.mismatch.empty()
                  ? counted(comparison.compared, "token") + " of " +
                        counted(prompts.size(), "case") + " equal, " +
                        counted(comparison.ties, "case") + " left at a margin within " +
                        fixedPoint(tolerance, 4)
                  : comparison.mismatch);
  return {};
}

/// Engines built with "--determinism fast" promise no equality between batches.
bool promisesInvariance(const schema::Engine &engine) {
  const auto *options = engine.provenance()->options();
  for (uint32_t i = 0; i < count(options); ++i)
    if (options->Get(i)->name()->string_view() == "--determinism" && options->Get(i)->effective() &&
        options->Get(i)->effective()->string_view() == "fast")
      return false;
  return true;
}

/// The same prompts alone and together must give the same tokens.
Status checkBatches(Session &session, Verdict &verdict) {
  if (!promisesInvariance(session.file().metadata())) {
    verdict.skip("batches", "the engine was built with --determinism fast");
    return {};
  }
  constexpr size_t prompts = 3;
  const MemoryPlan &plan = session.memoryPlan();
  uint32_t vocabulary = session.file().metadata().serving()->vocabulary();
  std::vector<Tokens> all(prompts);
  for (size_t i = 0; i < prompts; ++i)
    for (int64_t j = 0; j < std::min<int64_t>(plan.maxContext / 2, 5 + 9 * int64_t(i)) || j == 0;
         ++j)
      all[i].push_back(int32_t((uint64_t(j) * 7919 + i * 104729 + 1) % vocabulary));
  constexpr int64_t wanted = 12;
  int64_t length = std::clamp<int64_t>(plan.maxContext / 2, 1, wanted);
  Result<std::vector<Tokens>> together =
      generate(session, all, std::vector<int64_t>(prompts, length));
  if (!together.ok())
    return std::move(together).status();
  for (size_t i = 0; i < prompts; ++i) {
    Result<std::vector<Tokens>> alone = generate(session, {all[i]}, {length});
    if (!alone.ok())
      return std::move(alone).status();
    if (alone->front() != (*together)[i]) {
      verdict.add("batches", false,
                  "prompt " + std::to_string(i) + " gives other tokens alone than beside others");
      return {};
    }
  }
  verdict.add("batches", true,
              counted(prompts, "prompt") + " give the same " + counted(uint64_t(length), "token") +
                  " alone and together");
  return {};
}

Status selfTest(const SelfTestOptions &options) {
  auto start = std::chrono::steady_clock::now();
  Verdict verdict;
  Result<std::shared_ptr<const EngineFile>> file =
      EngineFile::open(options.engine, VerifyOptions{true});
  if (!file.ok())
    return std::move(file).status();
  std::printf("%s\n", printable(options.engine).c_str());
  verdict.add("file", true, "structure, coverage and all digests, weights included");
  if (Status status = checkMemory(*file, options.session, verdict); !status.ok())
    return status;
  Result<std::unique_ptr<Session>> session = Session::create(*file, options.session);
  if (!session.ok())
    return std::move(session).status();
  std::string target = (*session)->engine().target().name()->str();
  if (Status status = checkGolden(**session, options.tolerance, verdict); !status.ok())
    return status;
  if (Status status = checkBatches(**session, verdict); !status.ok())
    return status;
  std::string findings = (*session)->engine().device().findings();
  if (!options.session.device.simulate.empty())
    verdict.add("simulator", findings.empty(),
                findings.empty() ? "no finding" : findings.substr(0, findings.find('\n')));
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (Status status = verdict.status(); !status.ok())
    return status;
  std::printf("passed on %s with target %s in %.2f s\n",
              printable((*session)->engine().device().description()).c_str(),
              printable(target).c_str(), seconds);
  return flushOutput();
}

} // namespace

int runSelfTest(int argc, char **argv) {
  CLI::App app("Runs an engine's golden cases on this machine, compares what is allocated with the "
               "memory\ncontract, and prompts alone with prompts together.\n\nexamples:\n"
               "  selftest model.ingot\n"
               "  selftest model.ingot --target reference --threads 4\n"
               "  selftest model.ingot --simulate sm_90a",
               argv[0]);
  SelfTestOptions options;
  app.add_option("engine", options.engine, "engine file")->required();
  app.add_option("--tolerance", options.tolerance,
                 "a token may differ where the two best logits were at most so far apart")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  addMemoryOptions(app, options.session.memory);
  addDeviceOptions(app, options.session.device);
  addTargetOption(app, options.session.target);
  int exitStatus = 0;
  if (!parseArguments(app, argc, argv, exitStatus))
    return exitStatus;
  Status status = selfTest(options);
  return status.ok() ? 0 : reportError(status);
}

} // namespace ingot::runtime
