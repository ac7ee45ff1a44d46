// SPDX-License-Identifier: Apache-2.0
// Lays weights out in the file and divides the memory.
#include "compiler/weights/WeightStreamer.h"

#include "compiler/weights/TileRun.h"
#include "dialects/engine/EngineDialect.h"

#include <cstdio>
#include <map>
#include <sched.h>
#include <unistd.h>

namespace ingot::compiler {

using checkpoint::Error;
using checkpoint::Expected;
using checkpoint::message;
using checkpoint::Outcome;

/// For the allocator, the writer's tables and whatever the build still loads.
static constexpr uint64_t slack = uint64_t{32} << 20;
/// A thread's stack, hash states and allocator, beside its tile.
static constexpr uint64_t threadOverhead = uint64_t{1} << 20;
static constexpr uint64_t mebi = uint64_t{1} << 20;
/// Minimums are stated in multiples of this, at least half of it above the need: the next process
/// to be given one measures itself anew, and is never of quite the same size.
static constexpr uint64_t step = 16 * mebi;

struct WeightStreamer::State {
  const checkpoint::Checkpoint *checkpoint = nullptr;
  WeightGraph graph;
  std::vector<PackedWeight> packed;
  std::vector<StreamedWeight> entries;
  std::vector<std::optional<size_t>> packedOfEntry; ///< nothing: made at load
  std::unique_ptr<TilePlan> plan;
  uint64_t total = 0, minimum = 0;
  unsigned threads = 1;
};

WeightStreamer::WeightStreamer(std::unique_ptr<State> state) : state(std::move(state)) {}
WeightStreamer::WeightStreamer(WeightStreamer &&) noexcept = default;
WeightStreamer &WeightStreamer::operator=(WeightStreamer &&) noexcept = default;
WeightStreamer::~WeightStreamer() = default;

uint64_t WeightStreamer::minimumMemory() const { return state->minimum; }
unsigned WeightStreamer::threads() const { return state->threads; }
uint64_t WeightStreamer::totalBytes() const { return state->total; }
const std::vector<StreamedWeight> &WeightStreamer::weights() const { return state->entries; }

uint64_t residentMemory() {
  unsigned long long all = 0, resident = 0;
  if (std::FILE *file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%llu %llu", &all, &resident) != 2)
      resident = 0;
    std::fclose(file);
  }
  return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

static unsigned availableThreads() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof(set), &set) != 0)
    return 1;
  return static_cast<unsigned>(CPU_COUNT(&set));
}

/// Equal values in equal layouts are stored once.
Outcome WeightStreamer::layOut(State &state, std::optional<uint64_t> randomWeights) {
  struct Content {
    uint32_t number;
    std::optional<size_t> packed;
  };
  std::map<std::pair<WeightValue, std::vector<int64_t>>, Content> known;
  for (const StoredWeight &stored : state.graph.stores()) {
    std::vector<int64_t> layoutKey;
    for (const auto &digit : stored.digits)
      layoutKey.insert(layoutKey.end(), {digit.axis, digit.stride, digit.radix});
    auto [entry, isNew] = known.try_emplace({stored.value, std::move(layoutKey)},
                                            Content{static_cast<uint32_t>(known.size()), {}});
    const WeightShape &shape = state.graph.shape(stored.value);
    PackedLayout layout(stored.digits, shape.rows, shape.columns, elementBits(shape.element));
    StreamedWeight made;
    made.name = stored.name;
    made.format = stored.format;
    made.function = stored.function;
    made.type = stored.type;
    made.content = entry->second.number;
    made.bytes = static_cast<uint64_t>(layout.bytesOf(layout.places()));
    if (randomWeights && dependsOnSource(state.graph, stored.value)) {
      auto fill = fillOf(state.graph, stored, *randomWeights);
      if (!fill)
        return fill.error();
      made.fill = *std::move(fill);
      state.entries.push_back(std::move(made));
      state.packedOfEntry.push_back(std::nullopt);
      continue;
    }
    if (isNew) {
      entry->second.packed = state.packed.size();
      PackedWeight weight{stored.value, std::move(layout), shape.element};
      if (stored.value.result == 0)
        weight.padding = state.graph.node(stored.value).padding;
      weight.bytes = made.bytes;
      uint64_t alignment = weight.bytes >= 4096 ? 4096 : 64;
      weight.offset = (state.total + alignment - 1) / alignment * alignment;
      state.total = weight.offset + weight.bytes;
      state.packed.push_back(std::move(weight));
    }
    made.offset = state.packed[*entry->second.packed].offset;
    state.entries.push_back(std::move(made));
    state.packedOfEntry.push_back(entry->second.packed);
  }
  return {};
}

Outcome WeightStreamer::divideMemory(State &state, StreamOptions options) {
  uint64_t reserved = residentMemory() + slack + options.reserve;
  uint64_t perThread = static_cast<uint64_t>(state.plan->leastMemory()) + threadOverhead;
  uint64_t needed = reserved + perThread;
  state.minimum = (needed + step / 2 + step - 1) / step * step;
  if (options.memoryCap < needed)
    return Error{"INGOT-E3100",
                 message("--max-build-memory ", options.memoryCap / mebi,
                         "MiB is too small; this model needs at least ", state.minimum / mebi,
                         "MiB"),
                 "", message("give --max-build-memory ", state.minimum / mebi, "MiB or more")};
  uint64_t available = options.memoryCap - reserved;
  uint64_t asked = options.threads ? options.threads : availableThreads();
  state.threads = static_cast<unsigned>(std::min<uint64_t>(asked, available / perThread));
  state.plan->size(static_cast<int64_t>(available / state.threads - threadOverhead));
  return {};
}

Expected<WeightStreamer> WeightStreamer::create(llvm::ArrayRef<mlir::func::FuncOp> functions,
                                                const checkpoint::Checkpoint &checkpoint,
                                                StreamOptions options) {
  auto state = std::make_unique<State>();
  state->checkpoint = &checkpoint;
  auto graph = WeightGraph::read(functions, checkpoint);
  if (!graph)
    return graph.error();
  state->graph = *std::move(graph);
  if (auto laidOut = layOut(*state, options.randomWeights); !laidOut)
    return laidOut.error();
  state->plan = std::make_unique<TilePlan>(state->graph, state->packed);
  if (auto divided = divideMemory(*state, options); !divided)
    return divided.error();
  return WeightStreamer(std::move(state));
}

Outcome WeightStreamer::run(const WeightSink &sink, const WeightProgress &progress) {
  WeightSource source(*state->checkpoint, state->graph);
  TileRun run(state->graph, state->packed, *state->plan, source, state->threads);
  if (auto done = run.run(sink, progress); !done)
    return done;
  for (size_t i = 0; i < state->entries.size(); ++i)
    if (auto packed = state->packedOfEntry[i])
      state->entries[i].digest = run.digests()[*packed];
  return {};
}

} // namespace ingot::compiler
