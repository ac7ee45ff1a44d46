// SPDX-License-Identifier: Apache-2.0
// bench: tokens per second of prompts and of generation, beside what the memory can deliver.
#include "runtime/tools/BandwidthProbe.h"
#include "runtime/tools/BenchKernels.h"
#include "runtime/tools/Commands.h"
#include "runtime/tools/EngineSummary.h"
#include "runtime/tools/KernelTimer.h"
#include "runtime/tools/ProgressLine.h"
#include "runtime/tools/SessionArguments.h"
#include "runtime/tools/Table.h"
#include "runtime/tools/load/LoadCommands.h"

#include "runtime/engine/Verify.h"

#include <algorithm>
#include <chrono>

namespace ingot::runtime {
namespace {

struct BenchOptions {
  std::string engine;
  int64_t promptTokens = 512;
  int64_t generatedTokens = 128;
  int64_t depth = 1;
  int64_t repeats = 5;
  std::vector<int64_t> batches = {1};
  std::vector<int64_t> threads = {0};
  uint64_t probeBytes = uint64_t(1) << 30;
  int64_t warmUps = 1;
  bool json = false;
  std::string lines; ///< file that every result is appended to
  SessionOptions session;
  bool kernels = false;        ///< measure kernels alone
  bool serving = true;         ///< measure prompts and generation
  std::vector<int64_t> tokens; ///< of the kernels' steps
  int64_t context = 0;         ///< of their sequences
};

double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Time and tokens of one kind of step.
struct Pace {
  double seconds = 0;
  int64_t tokens = 0, steps = 0;
  double tokensPerSecond() const { return seconds > 0 ? double(tokens) / seconds : 0; }
  double stepsPerSecond() const { return seconds > 0 ? double(steps) / seconds : 0; }
};

struct Run {
  Pace prompts;     ///< steps that compute tokens of prompts
  Pace generations; ///< steps in which every sequence of the batch draws a token, and nothing else
};

/// The measured figures of one batch size at one number of threads.
struct Row {
  int64_t threads, batch;
  double promptRate = 0, generationRate = 0, stepRate = 0;
  double generationBytesPerSecond = 0, probeBytesPerSecond = 0;
  double loadSeconds = 0;
};

/// Submits `batch` prompts of random tokens and pumps until all have ended.
Result<Run> runBatch(Session &session, int64_t batch, int64_t promptTokens, int64_t generated) {
  uint64_t state = 1;
  uint32_t vocabulary = session.file().metadata().serving()->vocabulary();
  for (int64_t i = 0; i < batch; ++i) {
    Request request;
    for (int64_t j = 0; j < promptTokens; ++j) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      request.tokens.push_back(int32_t((state >> 33) % vocabulary));
    }
    request.sampling.temperature = 0;
    request.sampling.maxTokens = generated;
    request.sampling.ignoreEos = true;
    request.cachePrompt = false; // Every pass computes all of it.
    Result<uint64_t> id = session.submit(request);
    if (!id.ok())
      return std::move(id).status();
  }
  Run run;
  double seconds = 0;
  for (bool active = true; active;) {
    SessionCounters before = session.counters();
    auto start = std::chrono::steady_clock::now();
    Result<bool> stepped = session.step();
    seconds += secondsSince(start);
    if (!stepped.ok())
      return std::move(stepped).status();
    active = *stepped;
    int64_t ofPrompts = session.counters().promptTokens - before.promptTokens;
    int64_t drawn = session.counters().generatedTokens - before.generatedTokens;
    // A call that only starts a step is part of the time until the next tokens.
    if (ofPrompts == 0 && drawn == 0)
      continue;
    if (ofPrompts || drawn == batch) {
      Pace &pace = ofPrompts ? run.prompts : run.generations;
      pace.seconds += seconds;
      pace.tokens += ofPrompts ? ofPrompts : drawn;
      ++pace.steps;
    }
    seconds = 0;
    while (std::optional<Event> event = session.nextEvent())
      if (!event->error.ok())
        return std::move(event->error);
  }
  return run;
}

/// INGOT-E6022 unless the whole batch can run at once.
Status checkBatch(const Session &session, int64_t batch, int64_t positions) {
  const MemoryPlan &plan = session.memoryPlan();
  auto refuse = [&](const std::string &limit) {
    return Status::error("INGOT-E6022",
                         "a batch of " + std::to_string(batch) + " sequences of " +
                             std::to_string(positions) + " positions does not fit " + limit,
                         "choose a smaller --batch, or fewer tokens, or give more --memory");
  };
  if (batch > plan.maxSequences || batch > plan.maxLogitRows)
    return refuse("a step of " + std::to_string(std::min(plan.maxSequences, plan.maxLogitRows)) +
                  " sequences");
  if (positions > plan.maxContext)
    return refuse("the context of " + std::to_string(plan.maxContext) + " positions");
  for (const KvGroupPlan &group : plan.groups) {
    int64_t blocks =
        std::min((positions + group.blockTokens - 1) / group.blockTokens, group.blocksPerSequence);
    if (blocks > group.blocks / batch)
      return refuse("the KV cache of " + std::to_string(group.blocks) + " blocks");
  }
  return {};
}

/// Bytes that a generating step reads: all weights once, and every sequence's K and V at the mean
/// context of the run. A table of which only some rows are read counts in full.
double bytesPerStep(Session &session, const BenchOptions &options, int64_t batch) {
  double context = double(options.depth) + double(options.generatedTokens) / 2;
  const schema::Target &target = session.engine().target();
  double bytes = double(session.memoryPlan().weightBytes);
  for (uint32_t i = 0; i < count(target.kv_groups()); ++i) {
    const schema::KvGroup &group = *target.kv_groups()->Get(i);
    // Of recurrent state one is read.
    double seen = group.kind() == schema::KvKind::Sliding
                      ? std::min(context, double(group.window()))
                  : group.kind() == schema::KvKind::Recurrent ? double(group.block_tokens())
                                                              : context;
    bytes += double(batch) * seen * double(group.block_bytes()) / double(group.block_tokens());
  }
  return bytes;
}

/// Medians over the repeats; probe, prompts and generation take turns, so that a machine whose
/// speed drifts slows all three.
Result<Row> measure(Session &session, BandwidthProbe *probe, const BenchOptions &options,
                    int64_t batch, ProgressLine &progress) {
  std::vector<double> promptRates, generationRates, stepRates, bandwidths;
  for (int64_t i = -options.warmUps; i < options.repeats; ++i) {
    bool warmUp = i < 0; // brings weights and caches into memory
    progress.update([&] {
      return "batch of " + grouped(uint64_t(batch)) +
             (warmUp ? ": warming up"
                     : ", measurement " + grouped(uint64_t(i + 1)) + " of " +
                           grouped(uint64_t(options.repeats)));
    });
    if (probe && !warmUp) {
      Result<double> bandwidth = probe->measure();
      if (!bandwidth.ok())
        return std::move(bandwidth).status();
      bandwidths.push_back(*bandwidth);
    }
    if (options.promptTokens > 0) {
      Result<Run> run = runBatch(session, batch, options.promptTokens, 1);
      if (!run.ok())
        return std::move(run).status();
      if (!warmUp)
        promptRates.push_back(run->prompts.tokensPerSecond());
    }
    if (options.generatedTokens > 0) {
      // The first token of each comes with its prompt.
      int64_t drawn = (warmUp ? 1 : options.generatedTokens) + 1;
      Result<Run> run = runBatch(session, batch, options.depth, drawn);
      if (!run.ok())
        return std::move(run).status();
      if (!warmUp) {
        generationRates.push_back(run->generations.tokensPerSecond());
        stepRates.push_back(run->generations.stepsPerSecond());
      }
    }
  }
  Row row = {session.memoryPlan().threads, batch};
  row.promptRate = median(promptRates);
  row.generationRate = median(generationRates);
  row.stepRate = median(stepRates);
  row.generationBytesPerSecond = row.stepRate * bytesPerStep(session, options, batch);
  row.probeBytesPerSecond = median(bandwidths);
  return row;
}

nlohmann::json jsonOf(const BenchOptions &options, const Row &row) {
  return {{"threads", row.threads},
          {"batch", row.batch},
          {"depth", options.depth},
          {"prompt_tokens", options.promptTokens},
          {"prompt_tokens_per_second", row.promptRate},
          {"generated_tokens_per_second", row.generationRate},
          {"steps_per_second", row.stepRate},
          {"decode_bytes_per_second", row.generationBytesPerSecond},
          {"dram_bytes_per_second", row.probeBytesPerSecond},
          {"load_seconds", row.loadSeconds}};
}

/// What is measured with one load of the engine, and what came of it.
class Bench {
public:
  explicit Bench(BenchOptions options) : options(std::move(options)) {}

  /// Everything that is asked for at one number of threads.
  Status measureThreads(int64_t threads);

  std::vector<Row> rows;
  std::vector<nlohmann::json> steps; ///< of the kernels
  std::string target, device;

private:
  Status measureKernels(MeasuredEngine &engine, BandwidthProbe *probe);
  Status measureServing(Session &session, BandwidthProbe *probe, double loadSeconds);
  /// Appends a result to the file of lines, with what it is of.
  Status addLine(const char *kind, const nlohmann::json &result) const;

  BenchOptions options;
};

Status Bench::addLine(const char *kind, const nlohmann::json &result) const {
  if (options.lines.empty())
    return {};
  return appendLine(
      options.lines,
      {{"engine", options.engine}, {"target", target}, {"device", device}, {kind, result}});
}

Status Bench::measureKernels(MeasuredEngine &engine, BandwidthProbe *probe) {
  if (!options.json)
    std::printf("%s, target %s on %s; medians of %s\n", printable(options.engine).c_str(),
                printable(target).c_str(), printable(device).c_str(),
                grouped(uint64_t(options.repeats)).c_str());
  KernelBenchOptions kernels = {options.tokens, options.context, options.repeats, !options.json};
  Status written;
  Status status = benchKernels(engine, kernels, probe, [&](const nlohmann::json &step) {
    steps.push_back(step);
    if (Status added = addLine("step", step); written.ok())
      written = std::move(added);
    std::fflush(stdout);
  });
  return status.ok() ? std::move(written) : std::move(status);
}

Status Bench::measureServing(Session &session, BandwidthProbe *probe, double loadSeconds) {
  int64_t positions = std::max(options.promptTokens, options.depth + options.generatedTokens);
  for (int64_t batch : options.batches)
    if (Status status = checkBatch(session, batch, positions); !status.ok())
      return status;
  ProgressLine progress;
  for (int64_t batch : options.batches) {
    Result<Row> row = measure(session, probe, options, batch, progress);
    if (!row.ok())
      return std::move(row).status();
    row->loadSeconds = loadSeconds;
    rows.push_back(*row);
    if (Status status = addLine("serving", jsonOf(options, *row)); !status.ok())
      return status;
  }
  return {};
}

Status Bench::measureThreads(int64_t threads) {
  options.session.device.threads = threads;
  auto start = std::chrono::steady_clock::now();
  Result<std::unique_ptr<Session>> session = Session::open(options.engine, options.session);
  double loadSeconds = secondsSince(start);
  if (!session.ok())
    return std::move(session).status();
  Executor &executor = (*session)->engine();
  target = executor.target().name()->str();
  device = executor.device().description();
  if (executor.device().loads(CodeKind::HostSharedObject))
    device += ", " + counted(uint64_t(executor.plan().threads), "thread");
  std::unique_ptr<BandwidthProbe> probe;
  if (options.probeBytes) {
    Result<std::unique_ptr<BandwidthProbe>> created =
        BandwidthProbe::create(executor.device(), options.probeBytes, executor.plan().threads);
    if (!created.ok())
      return std::move(created).status();
    probe = std::move(*created);
  }
  if (options.kernels) { // before the session serves anything: cache and slots are this one's
    Result<std::unique_ptr<MeasuredEngine>> engine = MeasuredEngine::over(executor);
    if (!engine.ok())
      return std::move(engine).status();
    if (Status status = measureKernels(**engine, probe.get()); !status.ok())
      return status;
  }
  return options.serving ? measureServing(**session, probe.get(), loadSeconds) : Status();
}

void printRows(const BenchOptions &options, const std::vector<Row> &rows,
               const std::string &target) {
  constexpr double giga = 1e9;
  std::printf("%s, target %s: prompts of %s, %s generated after %s; medians of %s\n",
              printable(options.engine).c_str(), printable(target).c_str(),
              counted(uint64_t(options.promptTokens), "token").c_str(),
              grouped(uint64_t(options.generatedTokens)).c_str(),
              grouped(uint64_t(options.depth)).c_str(), grouped(uint64_t(options.repeats)).c_str());
  Table table({">threads", ">batch", ">prompt tokens/s", ">generated tokens/s", ">steps/s",
               ">decode GB/s", ">DRAM GB/s", ">share", ">load s"});
  for (const Row &row : rows)
    table.add({std::to_string(row.threads), std::to_string(row.batch),
               fixedPoint(row.promptRate, 1), fixedPoint(row.generationRate, 1),
               fixedPoint(row.stepRate, 1), fixedPoint(row.generationBytesPerSecond / giga, 2),
               row.probeBytesPerSecond ? fixedPoint(row.probeBytesPerSecond / giga, 2) : "-",
               row.probeBytesPerSecond
                   ? fixedPoint(row.generationBytesPerSecond / row.probeBytesPerSecond, 2)
                   : "-",
               fixedPoint(row.loadSeconds, 3)});
  table.print(stdout);
}

/// All results as one document.
nlohmann::json jsonOf(const BenchOptions &options, const Bench &bench) {
  nlohmann::json out = {{"engine", options.engine},
                        {"target", bench.target},
                        {"device", bench.device},
                        {"repeats", options.repeats},
                        {"results", nlohmann::json::array()}};
  if (options.serving)
    out.update({{"prompt_tokens", options.promptTokens},
                {"generated_tokens", options.generatedTokens},
                {"depth", options.depth}});
  for (const nlohmann::json &step : bench.steps)
    out["results"].push_back(step);
  for (const Row &row : bench.rows)
    out["results"].push_back(jsonOf(options, row));
  return out;
}

void addOptions(CommandLine &app, BenchOptions &options) {
  app.addOption("engine", options.engine, "engine file").required().file(FileUse::ReadsIfThere);
  app.addOption("-p,--prompt-tokens", options.promptTokens, "tokens of each prompt; 0: no prompts")
      .notNegative()
      .showDefault();
  app.addOption("-n,--generated-tokens", options.generatedTokens,
                "tokens generated in each sequence; 0: none")
      .notNegative()
      .showDefault();
  app.addOption("--depth", options.depth, "tokens in the context before generation starts")
      .positive()
      .showDefault();
  app.addOption("--batch", options.batches, "sequences at once; a list, as in 1,4,8,32")
      .separatedBy(',')
      .positive();
  app.addOption("--threads", options.threads, "threads; a list; default: as many as CPUs to use")
      .separatedBy(',')
      .positive();
  app.addOption("-r,--repeats", options.repeats, "measurements of each figure")
      .positive()
      .showDefault();
  app.addOption("--warm-ups", options.warmUps, "repeats beforehand that do not count; 0: none")
      .group("Measuring")
      .notNegative()
      .showDefault();
  app.addOption("--probe", options.probeBytes,
                "bytes of the bandwidth probe, more than the caches hold; 0: no probe; "
                "default: 1GiB")
      .bytes()
      .group("Measuring");
  app.addFlag("--json", options.json, "print JSON");
  app.addOption("--lines", options.lines,
                "file that every result is appended to as a line of JSON as soon as it is there")
      .file(FileUse::Writes);
  CommandOption kernels = app.addFlag("--kernels", options.kernels,
                                      "time every kernel of a step alone, beside the whole step; "
                                      "prompts and generation too where an option of theirs is "
                                      "given, in the same load");
  app.addOption("--tokens", options.tokens,
                "tokens of the steps of --kernels; a list; up to the most sequences of a step "
                "each is of a sequence of its own, beyond all are of one; default: 1,10,64,512")
      .separatedBy(',')
      .positive()
      .needs(kernels)
      .group("Kernels");
  app.addOption("--context", options.context,
                "positions of every sequence of --kernels; default: 1024, or the engine's most")
      .positive()
      .needs(kernels)
      .group("Kernels");
  addMemoryOptions(app, options.session.memory);
  addGpuOptions(app, options.session.device);
  addTargetOption(app, options.session.target);
}

/// Whether an option about prompts or generation is given.
bool asksForServing(const CommandLine &app) {
  for (const char *name :
       {"--prompt-tokens", "--generated-tokens", "--depth", "--batch", "--warm-ups"})
    if (app.count(name) > 0)
      return true;
  return false;
}

/// What measures requests instead of steps. An engine of such a name is written ./serve.
constexpr Command loadCommands[] = {
    {"serve", "put a load on a server", runBenchServe},
    {"throughput", "put a load on an engine, all at once", runBenchThroughput},
    {"latency", "put a load on an engine, one request after the other", runBenchLatency},
};

const Command *findLoadCommand(std::string_view name) {
  for (const Command &command : loadCommands)
    if (name == command.name)
      return &command;
  return nullptr;
}

/// One line for each of them, for help.
std::string listOfLoadCommands() {
  std::string list = "commands, each with options of its own:";
  for (const Command &command : loadCommands)
    list += std::string("\n  bench ") + command.name + ": " + command.summary;
  return list;
}

} // namespace

int runBench(int argc, char **argv) {
  if (const Command *command = argc > 1 ? findLoadCommand(argv[1]) : nullptr) {
    std::string name = std::string(argv[0]) + " " + command->name;
    argv[1] = name.data();
    return command->run(argc - 1, argv + 1);
  }
  CommandLine app(
      "Measures an engine on this machine: prompt and generation tokens/s, load time, and "
      "how much of the\nmemory's bandwidth generation uses; or every kernel of a step "
      "alone.\n\n" +
          listOfLoadCommands(),
      argv[0],
      "examples:\n"
      "  {} model.ingot\n"
      "  {} model.ingot -p 512 -n 128 --batch 1,4,8,32 --threads 4,8 --json\n"
      "  {} model.ingot --kernels --tokens 1,10,64,512 --context 1024\n"
      "  {} model.ingot --kernels --batch 10 -p 0 -n 32 --lines results.jsonl");
  BenchOptions options;
  addOptions(app, options);
  int exitStatus = 0;
  if (!parseArguments(app, argc, argv, exitStatus))
    return exitStatus;
  options.serving = !options.kernels || asksForServing(app);
  Bench bench(options);
  for (int64_t threads : options.threads)
    if (Status status = bench.measureThreads(threads); !status.ok())
      return reportError(status);
  if (options.json)
    std::printf("%s\n", jsonText(jsonOf(options, bench)).c_str());
  else if (options.serving)
    printRows(options, bench.rows, bench.target);
  Status written = flushOutput();
  return written.ok() ? 0 : reportError(written);
}

} // namespace ingot::runtime
