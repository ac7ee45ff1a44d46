// SPDX-License-Identifier: Apache-2.0
// tune: times every kernel that a launch may run and writes down which is the fastest.
#include "runtime/tools/Commands.h"
#include "runtime/tools/KernelWork.h"
#include "runtime/tools/ProgressLine.h"
#include "runtime/tools/SessionArguments.h"
#include "runtime/tools/Table.h"

#include "runtime/engine/Verify.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <sstream>

namespace ingot::runtime {
namespace {

/// Facts that kernels of engines with candidates state; the compiler compares them when it reads
/// the lockfile (docs/tuning.md).
constexpr std::string_view kProduct = "product", kCandidate = "tuning_candidate",
                           kDigest = "tuning_digest";
constexpr int64_t kLadder[] = {1,   2,   4,   8,   16,  24,   32,   48,   64,   96,  128,
                               192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096};
/// What must be gained before another kernel than that of fewer rows, or the default, is taken.
constexpr double kBetter = 0.98;

struct TuneOptions {
  std::string engine, output;
  std::vector<int64_t> tokens;
  int64_t repeats = 5;
  SessionOptions session;
};

/// A kernel that may be chosen.
struct Candidate {
  std::string name, digest;
  bool operator<(const Candidate &other) const {
    return std::tie(name, digest) < std::tie(other.name, other.digest);
  }
  bool operator==(const Candidate &other) const = default;
};

/// The order of a lockfile: word by word, numbers by their value.
struct ByWords {
  bool operator()(const std::string &left, const std::string &right) const {
    std::istringstream a(left), b(right);
    for (std::string x, y; a >> x && b >> y;) {
      bool numbers = std::isdigit(static_cast<unsigned char>(x[0])) &&
                     std::isdigit(static_cast<unsigned char>(y[0]));
      if (numbers && x.size() != y.size())
        return x.size() < y.size();
      if (x != y)
        return x < y;
    }
    return left < right;
  }
};

/// What was measured of one product at one number of rows.
struct RowBucket {
  int64_t rows;
  Candidate usual; ///< what runs without a lockfile
  std::map<Candidate, double> seconds;
};

/// One line of the lockfile.
struct Line {
  std::string product;
  int64_t first, last;
  Candidate chosen;
  double seconds, usualSeconds; ///< at `last` rows
};

class Tuner {
public:
  Tuner(MeasuredEngine &engine, int64_t repeats)
      : executor(engine.executor()), engine(engine), timer(engine.executor(), repeats) {}

  /// Measures every product that has `tokens` rows in a step of so many tokens.
  Status measure(int64_t tokens);

  /// The choices, in the order of products and rows.
  std::vector<Line> lines() const;

private:
  /// The instructions of one product at the step's shape, and the kernels each may run.
  struct Product {
    std::vector<TimedInstruction> instructions;
    std::vector<std::map<Candidate, const schema::Variant *>> variants;
  };

  const schema::Kernel &kernelOf(const schema::Variant &variant) const {
    return *executor.target().kernels()->Get(variant.kernel());
  }
  Candidate candidateOf(const schema::Variant &variant) const {
    const schema::Kernel &kernel = kernelOf(variant);
    return {std::string(factTextOf(kernel, kCandidate)), std::string(factTextOf(kernel, kDigest))};
  }
  std::map<std::string, Product> productsOf(const MeasuredShape &shape) const;
  Result<RowBucket> measure(const Product &product, int64_t rows);

  Executor &executor;
  MeasuredEngine &engine;
  KernelTimer timer;
  ProgressLine progress;
  std::map<std::string, std::vector<RowBucket>, ByWords> buckets; ///< by product, rows ascending
};

std::map<std::string, Tuner::Product> Tuner::productsOf(const MeasuredShape &shape) const {
  std::map<std::string, Product> products;
  for (uint32_t program : engine.programs()) {
    const auto *instructions = executor.target().programs()->Get(program)->instructions();
    for (uint32_t i = 0; i < count(instructions); ++i) {
      std::map<Candidate, const schema::Variant *> found;
      std::vector<const schema::Variant *> variants = executor.variantsOf(program, i);
      for (const schema::Variant *variant : variants)
        if (Candidate candidate = candidateOf(*variant); !candidate.name.empty())
          found.insert({candidate, variant});
      if (found.size() < 2 || rowsOf(kernelOf(*variants.front()), shape) != shape.tokens)
        continue;
      Product &product = products[std::string(factTextOf(kernelOf(*variants.front()), kProduct))];
      product.instructions.push_back({program, i, variants.front()});
      product.variants.push_back(std::move(found));
    }
  }
  return products;
}

Result<RowBucket> Tuner::measure(const Product &product, int64_t rows) {
  RowBucket bucket = {rows, candidateOf(*product.instructions.front().variant), {}};
  for (const auto &[candidate, variant] : product.variants.front()) {
    std::vector<TimedInstruction> instructions = product.instructions;
    bool all = true;
    for (size_t i = 0; i < instructions.size(); ++i) {
      auto found = product.variants[i].find(candidate);
      all &= found != product.variants[i].end();
      if (found != product.variants[i].end())
        instructions[i].variant = found->second;
    }
    if (!all)
      continue;
    Result<double> seconds = timer.time(instructions);
    if (!seconds.ok())
      return std::move(seconds).status().in("kernel '" + candidate.name + "'");
    bucket.seconds[candidate] = *seconds;
  }
  return bucket;
}

Status Tuner::measure(int64_t tokens) {
  Result<MeasuredShape> shape = engine.prepare(tokens, 1);
  if (!shape.ok())
    return std::move(shape).status();
  const std::map<std::string, Product> products = productsOf(*shape);
  size_t number = 0;
  for (const auto &[name, product] : products) {
    ++number;
    progress.update([&, name = name] {
      return "at " + grouped(uint64_t(tokens)) + " rows, product " + grouped(number) + " of " +
             grouped(products.size()) + ": " + name;
    });
    Result<RowBucket> bucket = measure(product, tokens);
    if (!bucket.ok())
      return std::move(bucket).status().in(name + " at " + std::to_string(tokens) + " rows");
    buckets[name].push_back(std::move(*bucket));
  }
  return {};
}

std::vector<Line> Tuner::lines() const {
  std::vector<Line> lines;
  for (const auto &[product, measured] : buckets) {
    int64_t first = 1;
    for (const RowBucket &bucket : measured) {
      bool follows = !lines.empty() && lines.back().product == product;
      Candidate kept = follows ? lines.back().chosen : bucket.usual;
      auto seconds = bucket.seconds.find(kept);
      auto best =
          std::min_element(bucket.seconds.begin(), bucket.seconds.end(),
                           [](const auto &a, const auto &b) { return a.second < b.second; });
      if (seconds == bucket.seconds.end() || best->second < kBetter * seconds->second)
        seconds = best;
      auto usual = bucket.seconds.find(bucket.usual);
      double usualSeconds = usual == bucket.seconds.end() ? 0 : usual->second;
      if (follows && lines.back().chosen == seconds->first) {
        lines.back().last = bucket.rows;
        lines.back().seconds = seconds->second;
        lines.back().usualSeconds = usualSeconds;
      } else {
        lines.push_back(
            {product, first, bucket.rows, seconds->first, seconds->second, usualSeconds});
      }
      first = bucket.rows + 1;
    }
  }
  return lines;
}

constexpr double kMicro = 1e6;

std::string lockfile(const std::vector<Line> &lines, const std::string &target,
                     const std::string &device) {
  std::string text =
      "ingot-tuning 1\n# measured on " + printable(device) +
      "\n# op n k format target rows kernel digest # time at the most rows, the cost "
      "model's choice beside it\n";
  for (const Line &line : lines)
    text += line.product + " " + target + " " + std::to_string(line.first) + "-" +
            std::to_string(line.last) + " " + line.chosen.name + " " + line.chosen.digest + " # " +
            fixedPoint(line.seconds * kMicro, 2) + " us, default " +
            fixedPoint(line.usualSeconds * kMicro, 2) + " us\n";
  return text;
}

void print(const std::vector<Line> &lines) {
  Table table({"product", ">rows", "kernel", ">us", ">default us", ">gain"});
  for (const Line &line : lines)
    table.add({line.product, std::to_string(line.first) + "-" + std::to_string(line.last),
               line.chosen.name, fixedPoint(line.seconds * kMicro, 2),
               fixedPoint(line.usualSeconds * kMicro, 2),
               line.seconds > 0 ? fixedPoint(line.usualSeconds / line.seconds, 2) : "-"});
  table.print(stdout);
}

Status tune(const TuneOptions &options) {
  Result<std::unique_ptr<MeasuredEngine>> engine =
      MeasuredEngine::open(options.engine, options.session);
  if (!engine.ok())
    return std::move(engine).status();
  Executor &executor = (*engine)->executor();
  std::set<int64_t> ladder(options.tokens.begin(), options.tokens.end());
  if (ladder.empty()) {
    for (int64_t rows : kLadder)
      if (rows < executor.plan().maxTokens)
        ladder.insert(rows);
    ladder.insert(executor.plan().maxTokens);
  }
  Tuner tuner(**engine, options.repeats);
  for (int64_t rows : ladder)
    if (Status status = tuner.measure(rows); !status.ok())
      return status;
  std::vector<Line> lines = tuner.lines();
  if (lines.empty())
    return Status::error("INGOT-E6023",
                         "target '" + executor.target().name()->str() +
                             "' of the engine has no kernels to choose from",
                         "build the engine with --tuning-candidates for a target that has some");
  std::string text =
      lockfile(lines, executor.target().name()->str(), executor.device().description());
  if (Status status = writeTextFile(options.output, text); !status.ok())
    return status;
  print(lines);
  return flushOutput();
}

} // namespace

int runTune(int argc, char **argv) {
  CommandLine app(
      "Times every kernel of an engine that was built with --tuning-candidates and writes "
      "the fastest ones\nto a lockfile, which 'ingot build --tuning' follows.",
      argv[0],
      "examples:\n"
      "  {} candidates.ingot -o tuning.lock\n"
      "  {} candidates.ingot -o tuning.lock --tokens 1,8,16,64,512 -r 9");
  TuneOptions options;
  app.addOption("engine", options.engine, "engine file").required().file(FileUse::ReadsIfThere);
  app.addOption("-o,--output", options.output, "lockfile to write")
      .required()
      .file(FileUse::Writes);
  app.addOption("--tokens", options.tokens,
                "numbers of rows to measure at; a list; each stands for those down to the one "
                "before; default: 1,2,4,8,16,24,... up to the engine's most tokens")
      .separatedBy(',')
      .positive();
  app.addOption("-r,--repeats", options.repeats, "measurements of each figure")
      .positive()
      .showDefault();
  addMemoryOptions(app, options.session.memory);
  addDeviceOptions(app, options.session.device);
  addTargetOption(app, options.session.target);
  int exitStatus = 0;
  if (!parseArguments(app, argc, argv, exitStatus))
    return exitStatus;
  Status status = tune(options);
  return status.ok() ? 0 : reportError(status);
}

} // namespace ingot::runtime
