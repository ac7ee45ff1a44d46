// SPDX-License-Identifier: Apache-2.0
// plan: the exact bytes of a session, and which batch fits at which context.
#include "runtime/tools/Commands.h"
#include "runtime/tools/EngineOverview.h"
#include "runtime/tools/EngineSummary.h"
#include "runtime/tools/SessionArguments.h"
#include "runtime/tools/Table.h"

#include "runtime/devices/host/HostDevice.h"
#include "runtime/engine/TargetChoice.h"
#include "runtime/engine/Verify.h"
#include "runtime/schema/Names.h"
#include "runtime/serving/pictures/PictureReader.h"

#include <algorithm>

namespace ingot::runtime {
namespace {

using nlohmann::json;

/// A plan in which every sequence has its full context, and whether the memory holds it.
struct Cell {
  int64_t sequences, context;
  uint64_t bytes, kvBytes;
  bool fits;
};

MemoryRequest requestOf(const PlanArguments &arguments) {
  MemoryRequest request;
  request.memory = arguments.memory;
  request.fraction = arguments.fraction;
  request.kvBlocks = arguments.kvBlocks;
  request.maxSequences = arguments.maxSequences;
  request.maxContext = arguments.maxContext;
  request.maxTokens = arguments.maxTokens;
  request.maxLogitRows = arguments.maxLogitRows;
  return request;
}

/// The target that would be loaded here; on a machine that runs none, the most preferred one.
Result<uint32_t> targetFor(const schema::Engine &engine, const Device &device,
                           const std::string &name) {
  for (uint32_t i = 0; !name.empty() && i < count(engine.targets()); ++i)
    if (engine.targets()->Get(i)->name()->string_view() == name)
      return i;
  Result<uint32_t> chosen = chooseTarget(engine, device, name);
  if (chosen.ok() || !name.empty())
    return chosen;
  uint32_t best = 0;
  for (uint32_t i = 1; i < count(engine.targets()); ++i)
    if (engine.targets()->Get(i)->preference() > engine.targets()->Get(best)->preference())
      best = i;
  return best;
}

/// Powers of two from `first` up to `last`, and `last`.
std::vector<int64_t> steps(int64_t first, int64_t last) {
  std::vector<int64_t> values;
  for (int64_t value = first; value < last; value *= 2)
    values.push_back(value);
  values.push_back(last);
  return values;
}

/// Every batch at every context, all without a bound of memory: exact bytes of full caches.
std::vector<Cell> planCells(const schema::Engine &engine, const schema::Target &target,
                            int64_t threads, const PlanArguments &arguments,
                            const MemoryPlan &largest) {
  std::vector<Cell> cells;
  int64_t block = 1;
  for (const KvGroupPlan &group : largest.groups)
    block = std::max(block, group.blockTokens);
  int64_t firstContext = std::min(largest.maxContext, std::max<int64_t>(256, block));
  for (int64_t sequences : steps(1, largest.maxSequences))
    for (int64_t context : steps(firstContext, largest.maxContext)) {
      MemoryRequest request = requestOf(arguments);
      request.memory = 0;
      request.kvBlocks = 0;
      request.maxSequences = sequences;
      request.maxContext = context;
      Result<MemoryPlan> plan = planMemory(engine, target, threads, request);
      if (plan.ok())
        cells.push_back({sequences, context, plan->totalBytes(), plan->kvBytes,
                         !arguments.memory || plan->totalBytes() <= arguments.memory});
    }
  return cells;
}

void printSplit(FILE *stream, const MemoryPlan &plan, bool onHost) {
  Table table({"memory", ">bytes", "of"});
  table.add({"weights", grouped(plan.weightBytes - plan.madeBytes),
             onHost ? "the file's mapping" : "the device's memory"});
  if (plan.madeBytes)
    table.add({"random weights", grouped(plan.madeBytes), "made at load, not in the file"});
  table.add({"arena", grouped(plan.arenaBytes),
             "tier " + std::to_string(plan.tier) + ": steps of " +
                 grouped(uint64_t(plan.maxTokens)) + " tokens, " +
                 grouped(uint64_t(plan.maxSequences)) + " sequences, " +
                 grouped(uint64_t(plan.maxLogitRows)) + " logit rows"});
  for (const KvGroupPlan &group : plan.groups) {
    const std::string count = grouped(uint64_t(group.blocks)),
                      tokens = std::to_string(group.blockTokens);
    table.add({"KV '" + group.name + "'", grouped(uint64_t(group.blocks) * group.blockBytes),
               group.recurrent
                   ? count + " states of " + grouped(group.blockBytes) +
                         " bytes, kept at multiples of " + tokens + " positions"
                   : count + " blocks of " + tokens + " positions, " +
                         perPosition(group.blockBytes, group.blockTokens) + " bytes per position"});
  }
  table.add({"state", grouped(plan.stateBytes), counted(uint64_t(plan.maxSequences), "sequence")});
  if (onHost)
    table.add({"scratch", grouped(plan.scratchBytes), counted(uint64_t(plan.threads), "thread")});
  table.addTotal({"total", grouped(plan.totalBytes()), ""});
  table.print(stream);
}

/// What opening the engine on this machine gives the KV cache when nobody says how much.
void printDefault(FILE *stream, const schema::Engine &engine, const schema::Target &target,
                  const Device &device, const PlanArguments &arguments) {
  MemoryRequest request = requestOf(arguments);
  uint64_t mapped = target.memory()->weight_bytes() - madeWeightBytes(engine, target);
  request.memory = device.availableMemory(mapped, request.fraction);
  if (arguments.memory || request.memory == UINT64_MAX)
    return;
  Result<MemoryPlan> plan =
      planMemory(engine, target, device.dimension(schema::dim::threads), request);
  if (plan.ok())
    std::fprintf(stream, "\nopened here without --memory, the KV cache gets %s bytes\n",
                 grouped(plan->kvBytes).c_str());
}

void printCells(FILE *stream, const std::vector<Cell> &cells, uint64_t memory) {
  std::vector<std::string> titles = {">sequences"};
  for (const Cell &cell : cells)
    if (cell.sequences == cells.front().sequences)
      titles.push_back(">context " + grouped(uint64_t(cell.context)));
  Table table(std::move(titles));
  for (size_t i = 0; i < cells.size();) {
    std::vector<std::string> row = {grouped(uint64_t(cells[i].sequences))};
    for (int64_t sequences = cells[i].sequences;
         i < cells.size() && cells[i].sequences == sequences; ++i)
      row.push_back((cells[i].fits ? "" : "no: ") + grouped(cells[i].bytes));
    table.add(std::move(row));
  }
  std::fprintf(stream, "\nbytes in all when every sequence has its full context%s\n",
               memory ? ("; 'no' is more than the " + inBytes(memory) + " given").c_str() : "");
  table.print(stream);
}

/// Tokens of pictures of usual sizes; 0: too narrow, or too large to be encoded.
struct PictureCost {
  uint32_t width, height;
  uint64_t tokens;
};

std::vector<PictureCost> pictureCosts(const schema::Images &images) {
  std::vector<PictureCost> costs = {
      {448, 448, 0}, {1024, 1024, 0}, {1920, 1080, 0}, {4032, 3024, 0}};
  for (PictureCost &cost : costs)
    if (auto layout = images::layOut(cost.width, cost.height, imageSettings(images)); layout.ok())
      cost.tokens = layout->tokens();
  return costs;
}

void printPictures(FILE *stream, const schema::Images &images, const std::string &formats) {
  Table table({"picture", ">tokens"});
  for (const PictureCost &cost : pictureCosts(images))
    table.add(
        {std::to_string(cost.width) + " x " + std::to_string(cost.height), grouped(cost.tokens)});
  std::fprintf(stream, "\nthe encoder's weights are %s", printable(formats).c_str());
  std::fputs("\nthe arena is the encoder's, too; of pictures in a prompt", stream);
  std::fputs(images.sees_ahead() ? ", each computed in one step:\n" : ":\n", stream);
  table.print(stream);
}

json toJson(const schema::Target &target, const MemoryPlan &plan, const std::vector<Cell> &cells,
            uint64_t memory) {
  json out = describePlan(plan);
  out["target"] = target.name()->str();
  out["memory"] = memory;
  out["fits"] = json::array();
  for (const Cell &cell : cells)
    out["fits"].push_back({{"sequences", cell.sequences},
                           {"context", cell.context},
                           {"total_bytes", cell.bytes},
                           {"kv_bytes", cell.kvBytes},
                           {"fits", cell.fits}});
  return out;
}

Status planEngine(const schema::Engine &engine, const PlanArguments &arguments, FILE *stream) {
  if (count(engine.targets()) == 0)
    return Status::error("INGOT-E5006", "the engine has no target", "rebuild the engine");
  HostDevice device(arguments.threads);
  Result<uint32_t> chosen = targetFor(engine, device, arguments.target);
  if (!chosen.ok())
    return std::move(chosen).status();
  const schema::Target &target = *engine.targets()->Get(*chosen);
  int64_t threads = device.dimension(schema::dim::threads);
  MemoryRequest unbounded = requestOf(arguments);
  unbounded.memory = 0;
  Result<MemoryPlan> largest = planMemory(engine, target, threads, unbounded);
  if (!largest.ok())
    return std::move(largest).status();
  Result<MemoryPlan> plan = planMemory(engine, target, threads, requestOf(arguments));
  std::vector<Cell> cells = planCells(engine, target, threads, arguments, *largest);
  if (plan.ok() && arguments.json) {
    json out = toJson(target, *plan, cells, arguments.memory);
    if (engine.images()) {
      out["encoder_weights"] = encoderFormats(describeEngine(engine).at("weights"));
      for (const PictureCost &cost : pictureCosts(*engine.images()))
        out["pictures"].push_back(
            {{"width", cost.width}, {"height", cost.height}, {"tokens", cost.tokens}});
    }
    std::fprintf(stream, "%s\n", jsonText(out).c_str());
    return {};
  }
  if (!arguments.json) {
    bool onHost = target.arch()->string_view() == device.architecture();
    std::fprintf(stream, "target %s%s\n", printable(target.name()->str()).c_str(),
                 onHost ? (", " + counted(uint64_t(largest->threads), "thread")).c_str() : "");
    if (plan.ok())
      printSplit(stream, *plan, onHost);
    if (plan.ok() && onHost)
      printDefault(stream, engine, target, device, arguments);
    printCells(stream, cells, arguments.memory);
    if (engine.images())
      printPictures(stream, *engine.images(), encoderFormats(describeEngine(engine).at("weights")));
  }
  // The table still tells which smaller limits would fit.
  return plan.ok() ? Status() : std::move(plan).status();
}

} // namespace

Status planMetadata(std::span<const std::byte> metadata, const PlanArguments &arguments,
                    FILE *stream) {
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t *>(metadata.data()),
                                 metadata.size());
  if (!schema::VerifyEngineBuffer(verifier))
    return Status::error("INGOT-E5005", "the metadata is not a valid FlatBuffer of an engine",
                         "rebuild the engine");
  const schema::Engine &engine = *schema::GetEngine(metadata.data());
  if (Status status = verifyStructure(engine); !status.ok())
    return status;
  return planEngine(engine, arguments, stream);
}

int runPlan(int argc, char **argv) {
  CommandLine app("Says whether an engine fits into memory, at which batch and context. Nothing is "
                  "loaded.",
                  argv[0],
                  "examples:\n"
                  "  {} model.ingot --memory 16GiB\n"
                  "  {} model.ingot --memory 16GiB --max-sequences 32 --max-context 8192 --json");
  std::string path;
  PlanArguments arguments;
  MemoryRequest request;
  app.addOption("engine", path, "engine file").required();
  addMemoryOptions(app, request);
  addThreadsOption(app, arguments.threads);
  addTargetOption(app, arguments.target);
  app.addFlag("--json", arguments.json, "print JSON");
  int exitStatus = 0;
  if (!parseArguments(app, argc, argv, exitStatus))
    return exitStatus;
  arguments.memory = request.memory;
  arguments.fraction = request.fraction;
  arguments.kvBlocks = request.kvBlocks;
  arguments.maxSequences = request.maxSequences;
  arguments.maxContext = request.maxContext;
  arguments.maxTokens = request.maxTokens;
  arguments.maxLogitRows = request.maxLogitRows;
  Result<std::shared_ptr<const EngineFile>> file = EngineFile::open(path);
  if (!file.ok())
    return reportError(file.status());
  Status status = planEngine((*file)->metadata(), arguments, stdout);
  if (status.ok())
    status = flushOutput();
  return status.ok() ? 0 : reportError(status);
}

} // namespace ingot::runtime
