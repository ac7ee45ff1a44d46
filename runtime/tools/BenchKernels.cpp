// SPDX-License-Identifier: Apache-2.0
// Instructions that do the same work are one row; each row is timed alone.
#include "runtime/tools/BenchKernels.h"

#include "runtime/tools/KernelWork.h"
#include "runtime/tools/Table.h"

#include "runtime/engine/Verify.h"

#include <algorithm>
#include <map>

namespace ingot::runtime {
namespace {

constexpr int64_t kUsualTokens[] = {1, 10, 64, 512};
constexpr int64_t kUsualContext = 1024;
constexpr std::string_view kStepDoesNotFit = "INGOT-E6022";
constexpr double kGiga = 1e9, kTera = 1e12, kMicro = 1e6;

/// Instructions that run the same kernel on arguments of the same sizes.
struct Row {
  std::string kernel, symbol, site; ///< of the first one; `symbol`: of its code
  std::vector<TimedInstruction> instructions;
  KernelWork work;            ///< of one
  double seconds = 0;         ///< of one
  bool cached = false;        ///< all of them together fit the cache
  double predicted = 0;       ///< seconds of one by the compiler's cost model; 0: it does not say
  std::string predictedError; ///< of the model, as the kernel states it

  double perStep() const { return seconds * double(instructions.size()); }
};

/// One shape's rows and the step that they are of.
struct Measurement {
  MeasuredShape shape;
  std::vector<Row> rows;
  double stepSeconds = 0, probe = 0;

  double sum() const {
    double seconds = 0;
    for (const Row &row : rows)
      seconds += row.perStep();
    return seconds;
  }
  /// The least seconds that the row's work takes by bandwidth and peak; 0: neither is known.
  double floorOf(const Row &row) const {
    double memory = probe > 0 ? row.work.bytes / probe : 0;
    double products = row.work.peak > 0 ? row.work.operations / row.work.peak : 0;
    return std::max(memory, products);
  }
  double shareOf(const Row &row) const { return row.seconds > 0 ? floorOf(row) / row.seconds : 0; }
};

std::vector<Row> rowsOf(MeasuredEngine &engine, const MeasuredShape &shape) {
  Executor &executor = engine.executor();
  std::map<std::vector<uint64_t>, size_t> known;
  std::vector<Row> rows;
  for (uint32_t program : engine.programs()) {
    const auto *instructions = executor.target().programs()->Get(program)->instructions();
    for (uint32_t i = 0; i < count(instructions); ++i) {
      TimedInstruction timed = {program, i, nullptr};
      bool isCopy = instructions->Get(i)->operation_type() == schema::Operation::Copy;
      if (!isCopy)
        timed.variant = executor.variantsOf(program, i).front();
      auto [place, isNew] = known.insert({signatureOf(executor, timed), rows.size()});
      if (isNew) {
        Row row;
        row.site = instructions->Get(i)->name()->str();
        row.kernel = "copy";
        if (!isCopy) {
          const schema::Kernel &kernel = *executor.target().kernels()->Get(timed.variant->kernel());
          row.kernel = kernel.name()->str();
          row.symbol = kernel.symbol()->str();
          row.predicted = predictedSeconds(kernel, shape.tokens);
          row.predictedError = factTextOf(kernel, "predicted_error");
        }
        row.work = workOf(executor, timed, shape);
        rows.push_back(std::move(row));
      }
      rows[place->second].instructions.push_back(timed);
    }
  }
  uint64_t cache = executor.device().cacheBytes();
  for (Row &row : rows) {
    double together = row.work.bytes * double(row.instructions.size());
    row.cached = cache ? together <= double(cache) : row.instructions.size() == 1;
  }
  return rows;
}

Result<Measurement> measure(MeasuredEngine &engine, const KernelBenchOptions &options,
                            BandwidthProbe *probe, int64_t tokens, int64_t context) {
  Measurement measurement;
  Result<MeasuredShape> shape = engine.prepare(tokens, context);
  if (!shape.ok())
    return std::move(shape).status();
  measurement.shape = *shape;
  std::vector<double> bandwidths;
  for (int64_t i = 0; probe && i < options.repeats; ++i) {
    Result<double> bandwidth = probe->measure();
    if (!bandwidth.ok())
      return std::move(bandwidth).status();
    bandwidths.push_back(*bandwidth);
  }
  measurement.probe = median(std::move(bandwidths));
  KernelTimer timer(engine.executor(), options.repeats);
  engine.run(); // makes the recording, on devices that have such
  Result<double> step = timer.time([&] { engine.run(); });
  if (!step.ok())
    return std::move(step).status();
  measurement.stepSeconds = *step;
  measurement.rows = rowsOf(engine, *shape);
  for (Row &row : measurement.rows) {
    Result<double> seconds = timer.time(row.instructions);
    if (!seconds.ok())
      return std::move(seconds).status().in("op '" + row.site + "'");
    row.seconds = *seconds;
  }
  std::stable_sort(measurement.rows.begin(), measurement.rows.end(),
                   [](const Row &a, const Row &b) { return a.perStep() > b.perStep(); });
  return measurement;
}

void print(const Measurement &measurement) {
  const MeasuredShape &shape = measurement.shape;
  std::printf("\n%s of %s at context %s; memory %s GB/s\n",
              counted(uint64_t(shape.tokens), "token").c_str(),
              counted(uint64_t(shape.sequences), "sequence").c_str(),
              grouped(uint64_t(shape.context)).c_str(),
              measurement.probe > 0 ? fixedPoint(measurement.probe / kGiga, 1).c_str() : "-");
  Table table({"kernel", ">launches", ">us", ">MB", ">GB/s", ">GFLOP", ">TFLOP/s", ">of roofline",
               ">us a step", "first site"});
  for (const Row &row : measurement.rows) {
    const KernelWork &work = row.work;
    bool computes = work.operations > 0, bounded = measurement.floorOf(row) > 0;
    auto rate = [&](double amount) { return row.seconds > 0 ? amount / row.seconds : 0; };
    table.add({row.kernel, grouped(row.instructions.size()), fixedPoint(row.seconds * kMicro, 2),
               fixedPoint(work.bytes / kMicro, 3), fixedPoint(rate(work.bytes) / kGiga, 1),
               computes ? fixedPoint(work.operations / kGiga, 3) : "-",
               computes ? fixedPoint(rate(work.operations) / kTera, 2) : "-",
               bounded ? fixedPoint(measurement.shareOf(row), 2) + (row.cached ? "*" : " ") : "-",
               fixedPoint(row.perStep() * kMicro, 1), row.site});
  }
  table.addTotal({"sum", "", "", "", "", "", "", "", fixedPoint(measurement.sum() * kMicro, 1)});
  table.addTotal(
      {"whole step", "", "", "", "", "", "", "", fixedPoint(measurement.stepSeconds * kMicro, 1),
       fixedPoint(double(shape.logitRows) / measurement.stepSeconds, 1) + " generated tokens/s"});
  table.print(stdout);
}

nlohmann::json jsonOf(const Measurement &measurement, int64_t threads) {
  const MeasuredShape &shape = measurement.shape;
  nlohmann::json rows = nlohmann::json::array();
  for (const Row &row : measurement.rows)
    rows.push_back({{"kernel", row.kernel},
                    {"symbol", row.symbol},
                    {"site", row.site},
                    {"launches", row.instructions.size()},
                    {"seconds", row.seconds},
                    {"bytes", row.work.bytes},
                    {"operations", row.work.operations},
                    {"peak_operations_per_second", row.work.peak},
                    {"floor_seconds", measurement.floorOf(row)},
                    {"predicted_seconds", row.predicted},
                    {"predicted_error", row.predictedError},
                    {"may_be_cached", row.cached}});
  return {{"threads", threads},
          {"tokens", shape.tokens},
          {"sequences", shape.sequences},
          {"context", shape.context},
          {"memory_bytes_per_second", measurement.probe},
          {"kernels", rows},
          {"sum_seconds", measurement.sum()},
          {"step_seconds", measurement.stepSeconds}};
}

/// Steps up to the usual sizes that the engine takes.
std::vector<int64_t> usualTokens(const MemoryPlan &plan) {
  std::vector<int64_t> tokens;
  for (int64_t usual : kUsualTokens)
    if (usual <= plan.maxTokens)
      tokens.push_back(usual);
  return tokens;
}

} // namespace

Status benchKernels(MeasuredEngine &engine, const KernelBenchOptions &options,
                    BandwidthProbe *probe,
                    const std::function<void(const nlohmann::json &)> &take) {
  Executor &executor = engine.executor();
  const MemoryPlan &plan = executor.plan();
  int64_t context = options.context ? options.context : std::min(kUsualContext, plan.maxContext);
  Status unfit;
  bool measuredAny = false;
  for (int64_t each : options.tokens.empty() ? usualTokens(plan) : options.tokens) {
    Result<Measurement> measured = measure(engine, options, probe, each, context);
    if (measured.ok()) {
      measuredAny = true;
      if (options.print)
        print(*measured);
      take(jsonOf(*measured, plan.threads));
      continue;
    }
    if (measured.status().code() != kStepDoesNotFit)
      return std::move(measured).status();
    take({{"tokens", each}, {"context", context}, {"skipped", measured.status().toString()}});
    if (options.print)
      std::printf("\n%s: not measured: %s\n", counted(uint64_t(each), "token").c_str(),
                  printable(measured.status().toString()).c_str());
    if (unfit.ok())
      unfit = std::move(measured).status();
  }
  if (options.print && measuredAny)
    std::printf("\n* all launches together fit the device's cache\n");
  return measuredAny ? Status() : std::move(unfit);
}

} // namespace ingot::runtime
