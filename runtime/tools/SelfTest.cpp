// SPDX-License-Identifier: Apache-2.0
// selftest: does this engine do on this machine what it did when it was built?
#include "runtime/tools/CheckProgress.h"
#include "runtime/tools/Commands.h"
#include "runtime/tools/InvarianceCheck.h"
#include "runtime/tools/MeasuringDevice.h"
#include "runtime/tools/ProductCheck.h"
#include "runtime/tools/SessionArguments.h"
#include "runtime/tools/Table.h"

#include "runtime/engine/Verify.h"

#include <algorithm>
#include <chrono>

namespace ingot::runtime {
namespace {

/// Nothing failed, and there were no golden tokens to compare.
constexpr int kNoGoldenTokens = 3;

struct SelfTestOptions {
  std::string engine;
  double tolerance = 0.02;
  int64_t tokens = INT64_MAX; ///< of each prompt that is made here, and of each continuation
  SessionOptions session;
};

/// What the device `measured` gave when the session was loaded, beside the contract.
void checkMemory(const MeasuringDevice &measured, const MemoryPlan &plan, Verdict &verdict) {
  uint64_t buffers = plan.arenaBytes + plan.kvBytes + plan.stateBytes + plan.madeBytes;
  verdict.add("memory",
              measured.allocatedBytes() == buffers &&
                  measured.scratchBytes() == plan.scratchBytes &&
                  measured.adoptedBytes() <= plan.weightBytes - plan.madeBytes,
              inBytes(measured.allocatedBytes()) + " allocated, contract " + grouped(buffers) +
                  "; scratch " + grouped(measured.scratchBytes()) + ", contract " +
                  grouped(plan.scratchBytes) + "; weights " + grouped(measured.adoptedBytes()) +
                  ", contract " + grouped(plan.weightBytes - plan.madeBytes));
}

/// Compares one continuation with the recorded one. Where the two best logits were closer than the
/// tolerance either may win, and what follows is another text: the comparison ends there.
struct GoldenComparison {
  size_t compared = 0, ties = 0;
  std::string mismatch;

  /// `tokens`: how many of the recorded ones were asked for.
  void compare(size_t index, const schema::GoldenCase &golden, const Continuation &output,
               int64_t tokens, double tolerance) {
    for (uint32_t i = 0; i < std::min<int64_t>(tokens, count(golden.tokens())); ++i) {
      int32_t expected = golden.tokens()->Get(i);
      bool ended = i >= output.size();
      if (!ended && output[i].token == expected) {
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
                   (ended ? "missing" : std::to_string(output[i].token)) + ", recorded " +
                   std::to_string(expected) +
                   (known ? " with margin " + fixedPoint(golden.margins()->Get(i), 6) : "");
      return;
    }
  }
};

/// What the build recorded of golden tokens; null in engines that others have made.
const schema::Option *goldenRecord(const schema::Engine &engine) {
  const auto *options = engine.provenance()->options();
  for (uint32_t i = 0; i < count(options); ++i)
    if (options->Get(i)->name()->string_view() == "golden tokens")
      return options->Get(i);
  return nullptr;
}

std::string textOf(const flatbuffers::String *text) { return text ? text->str() : std::string(); }

Status checkGolden(Session &session, const SelfTestOptions &options, Verdict &verdict) {
  const auto *cases = session.file().metadata().golden();
  const schema::Option *record = goldenRecord(session.file().metadata());
  if (count(cases) == 0) {
    verdict.miss("golden", "the engine has no golden tokens" +
                               (record ? ": " + textOf(record->reason()) : std::string()));
    return {};
  }
  std::vector<Tokens> prompts;
  std::vector<int64_t> lengths;
  for (const schema::GoldenCase *golden : *cases) {
    Tokens &prompt = prompts.emplace_back();
    for (uint32_t i = 0; i < count(golden->prompt()); ++i)
      prompt.push_back(golden->prompt()->Get(i));
    lengths.push_back(std::min(options.tokens, std::max<int64_t>(1, count(golden->tokens()))));
  }
  Result<std::vector<Continuation>> outputs = continueGreedily(session, prompts, lengths);
  if (!outputs.ok())
    return std::move(outputs).status();
  GoldenComparison comparison;
  for (uint32_t i = 0; i < cases->size(); ++i)
    comparison.compare(i, *cases->Get(i), (*outputs)[i], lengths[i], options.tolerance);
  if (!comparison.mismatch.empty()) {
    verdict.add("golden", false, comparison.mismatch);
    return {};
  }
  std::string found = counted(comparison.compared, "token") + " of " +
                      counted(prompts.size(), "case") + " equal, " +
                      counted(comparison.ties, "case") + " left at a margin within " +
                      fixedPoint(options.tolerance, 4);
  // Tokens that the same kernels made say nothing of these, only of the machine.
  if (record && textOf(record->effective()) == session.engine().target().name()->string_view())
    found += "; recorded by this target's own kernels";
  if (comparison.compared)
    verdict.add("golden", true, found);
  else
    verdict.miss("golden", found);
  return {};
}

/// Whether the engine runs on hardware that computes as fast as it will when it serves.
bool isGpu(Device &device) { return device.loads(CodeKind::Cubin); }

/// What can be checked of a loaded engine, in the order in which later checks rely on earlier ones.
Status checkSession(Session &session, const SelfTestOptions &options, Verdict &verdict) {
  if (Status status = checkGolden(session, options, verdict); !status.ok())
    return status;
  const CheckSizes sizes =
      (isGpu(session.engine().device()) ? kGpuSizes : kHostSizes).within(options.tokens);
  if (Status status = checkBatches(session, sizes, verdict); !status.ok())
    return status;
  if (Status status = checkSteps(session, sizes, verdict); !status.ok())
    return status;
  if (Status status = checkReuse(session, sizes, verdict); !status.ok())
    return status;
  return checkProducts(session, verdict);
}

/// What checkSession will ask of `device`, which is not used.
Result<WorkTotals> countWork(Device &device, const std::shared_ptr<const EngineFile> &file,
                             const SelfTestOptions &options) {
  auto counting = std::make_unique<CountingDevice>(device);
  const CountingDevice &counted = *counting; // the session's, as long as it lives
  Result<std::unique_ptr<Session>> session =
      Session::createOn(std::move(counting), file, options.session);
  if (!session.ok())
    return std::move(session).status();
  Verdict unheard([](const std::string &) {});
  if (Status status = checkSession(**session, options, unheard); !status.ok())
    return status;
  return counted.totals();
}

/// The exit status of a self-test that found no fault.
Result<int> selfTest(const SelfTestOptions &options) {
  auto start = std::chrono::steady_clock::now();
  CheckProgress *progress = nullptr; // the session's, as long as it lives
  Verdict verdict([&](const std::string &line) {
    if (progress)
      progress->clear();
    std::fputs(line.c_str(), stdout);
  });
  Result<std::shared_ptr<const EngineFile>> file =
      EngineFile::open(options.engine, VerifyOptions{true});
  if (!file.ok())
    return std::move(file).status();
  std::printf("%s\n", printable(options.engine).c_str());
  verdict.add("file", true, "structure, coverage and all digests, weights included");
  Result<std::unique_ptr<Device>> actual = Session::deviceFor(**file, options.session);
  if (!actual.ok())
    return std::move(actual).status();
  // A GPU is done in seconds, and not when a call returns.
  if (!isGpu(**actual)) {
    Result<WorkTotals> work = countWork(**actual, *file, options);
    if (!work.ok())
      return std::move(work).status();
    auto timed = std::make_unique<CheckProgress>(std::move(*actual), *std::move(work));
    progress = timed.get();
    *actual = std::move(timed);
  }
  auto device = std::make_unique<MeasuringDevice>(*std::move(actual));
  const MeasuringDevice &measured = *device; // the session's, as long as it lives
  Result<std::unique_ptr<Session>> session =
      Session::createOn(std::move(device), *file, options.session);
  if (!session.ok())
    return std::move(session).status();
  checkMemory(measured, (*session)->memoryPlan(), verdict);
  std::string target = (*session)->engine().target().name()->str();
  if (Status status = checkSession(**session, options, verdict); !status.ok())
    return status;
  if (progress)
    progress->clear();
  std::string findings = (*session)->engine().device().findings();
  if (!options.session.device.simulate.empty())
    verdict.add("simulator", findings.empty(),
                findings.empty() ? "no finding" : findings.substr(0, findings.find('\n')));
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (Status status = verdict.status(); !status.ok())
    return status;
  std::printf("%s on %s with target %s in %.2f s\n",
              verdict.isComplete() ? "passed" : "no golden tokens; all else passed",
              printable((*session)->engine().device().description()).c_str(),
              printable(target).c_str(), seconds);
  if (Status status = flushOutput(); !status.ok())
    return status;
  return verdict.isComplete() ? 0 : kNoGoldenTokens;
}

} // namespace

int runSelfTest(int argc, char **argv) {
  CommandLine app(
      "Compares an engine's answers on this machine with the golden tokens that its build "
      "recorded, "
      "what\nis allocated with the memory contract, prompts alone with prompts together, prompts "
      "in "
      "one step with\nprompts in many, and, where the engine was built with --tuning-candidates, "
      "every kernel of a product\nwith the others. Exit status 3: nothing failed, and there were "
      "no "
      "golden tokens to compare.",
      argv[0],
      "examples:\n"
      "  {} model.ingot\n"
      "  {} model.ingot --target reference --threads 4\n"
      "  {} model.ingot --simulate sm_90a\n"
      "  {} model.ingot --simulate sm_90a --tokens 4");
  SelfTestOptions options;
  app.addOption("engine", options.engine, "engine file").required();
  app.addOption("--tolerance", options.tolerance,
                "a token may differ where the two best logits were at most so far apart")
      .notNegative()
      .showDefault();
  app.addOption("--tokens", options.tokens,
                "compute at most so many tokens of each answer, and of each prompt but the golden "
                "ones, to be done sooner (default: all)")
      .positive();
  addMemoryOptions(app, options.session.memory);
  addDeviceOptions(app, options.session.device);
  addTargetOption(app, options.session.target);
  int exitStatus = 0;
  if (!parseArguments(app, argc, argv, exitStatus))
    return exitStatus;
  Result<int> result = selfTest(options);
  return result.ok() ? *result : reportError(std::move(result).status());
}

} // namespace ingot::runtime
