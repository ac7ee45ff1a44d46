// SPDX-License-Identifier: Apache-2.0
// eval: perplexity of a text under a windowing that is stated exactly.
#include "runtime/tools/Commands.h"
#include "runtime/tools/Divergence.h"
#include "runtime/tools/EngineSummary.h"
#include "runtime/tools/HumanEval.h"
#include "runtime/tools/LogitsFile.h"
#include "runtime/tools/ProgressLine.h"
#include "runtime/tools/SessionArguments.h"
#include "runtime/tools/Table.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

namespace ingot::runtime {
namespace {

enum class Scoring { All, SecondHalf };

struct EvalOptions {
  std::string engine, text, against, logitsFile;
  size_t window = 512;
  size_t maxTokens = 0;
  Scoring scoring = Scoring::All;
  bool bosEachWindow = false;
  bool noSpecial = false;
  bool parseSpecial = false;
  bool json = false;
  SessionOptions session;
  HumanEvalOptions humanEval;
};

constexpr const char *windowing =
    "Windowing: the text becomes one list of tokens (with the model's prefix, unless --no-special),"
    "\ncut to --max-tokens and then into windows of n tokens that do not overlap; each window is "
    "run\nalone, its positions starting at 0.\n"
    "  --scoring all          tokens 1 ... n-1 of each window count, given those before them in the"
    "\n                         window; a last window of at least 2 tokens counts as well\n"
    "  --scoring second-half  tokens n/2+1 ... n-1 count (predicted at n/2 ... n-2); a last window"
    "\n                         shorter than n is dropped\n"
    "  --bos-each-window      the first token of each window is replaced by the model's BOS\n"
    "llama.cpp's rule is: --scoring second-half --bos-each-window.";

/// What the engine's distributions are compared with: those of another engine, or of a file.
struct Base {
  std::unique_ptr<Session> engine;
  std::optional<LogitsFile> file;

  bool isThere() const { return engine || file; }
  float least() const { return file ? LogitsFile::least : -INFINITY; }
};

/// Sums over all tokens that count.
struct Tally {
  size_t windows = 0, scored = 0;
  double sum = 0, squares = 0; ///< of negative log-probabilities
  Divergence divergence;       ///< from the base

  double mean() const { return sum / double(scored); }
  double perplexity() const { return std::exp(mean()); }
  /// Standard error of the perplexity; 0 where it is not defined.
  double error() const {
    if (scored < 2)
      return 0;
    double variance = std::max(0.0, squares / double(scored) - mean() * mean());
    return perplexity() * std::sqrt(variance / double(scored - 1));
  }
};

Result<std::vector<int32_t>> readTokens(const Session &session, const EvalOptions &options) {
  constexpr uint64_t largestText = uint64_t(1) << 30;
  if (!session.tokenizer())
    return Status::error("INGOT-E6008", "the engine has no tokenizer", "build it with one");
  Result<std::string> text = readTextFile(options.text, largestText);
  if (!text.ok())
    return std::move(text).status();
  Result<std::vector<int32_t>> tokens =
      session.tokenizer()->encode(*text, !options.noSpecial, options.parseSpecial);
  if (!tokens.ok())
    return std::move(tokens).status().in(options.text);
  if (options.maxTokens && tokens->size() > options.maxTokens)
    tokens->resize(options.maxTokens);
  size_t needed = options.scoring == Scoring::SecondHalf ? options.window : 2;
  if (tokens->size() < needed)
    return Status::error("INGOT-E6019",
                         options.text + ": has " + std::to_string(tokens->size()) +
                             " tokens, too few to score under this windowing",
                         "give a longer text or a smaller --window");
  return tokens;
}

/// Calls `visit` with the logits of each position of `window`.
Status visitLogits(Session &session, const std::vector<int32_t> &window,
                   const std::function<void(size_t position, std::span<const float>)> &visit) {
  const MemoryPlan &plan = session.memoryPlan();
  const int64_t most = std::min(plan.maxTokens, plan.maxLogitRows);
  return session.readLogits(
      window, {&most, 1},
      [&](int64_t position, std::span<const float> logits) { visit(size_t(position), logits); });
}

/// The scores of a window, as Session::score has them; adds what its distributions from position
/// first - 1 on differ from the base's. `number`: of the window.
Result<std::vector<float>> compareWindow(Session &session, Base &base,
                                         const std::vector<int32_t> &window, size_t first,
                                         size_t number, Divergence &divergence) {
  std::vector<std::vector<float>> rows(window.size());
  auto counts = [&](size_t position) {
    return position + 1 >= first && position + 1 < window.size();
  };
  if (base.engine) {
    Status status = visitLogits(*base.engine, window, [&](size_t position, auto logits) {
      if (counts(position))
        rows[position] = logSoftmax(logits);
    });
    if (!status.ok())
      return status;
  }
  for (size_t position = 0; base.file && position < window.size(); ++position)
    if (counts(position))
      if (Status status = base.file->read(number, position, rows[position]); !status.ok())
        return status;
  std::vector<float> scores(window.size(), 0);
  Status status = visitLogits(session, window, [&](size_t position, auto logits) {
    if (!counts(position))
      return;
    const int32_t target = window[position + 1];
    const std::vector<float> own = logSoftmax(logits);
    scores[position + 1] = own[size_t(target)];
    if (std::isfinite(scores[position + 1]))
      divergence.add(rows[position], own, target, base.least());
  });
  if (!status.ok())
    return status;
  return scores;
}

/// `start`: the window's place in the text, in tokens.
Status scoreWindow(Session &session, Base &base, const EvalOptions &options,
                   std::vector<int32_t> window, size_t start, Tally &tally) {
  if (options.bosEachWindow)
    window[0] = session.file().metadata().serving()->bos();
  size_t first = options.scoring == Scoring::SecondHalf ? window.size() / 2 + 1 : 1;
  Result<std::vector<float>> scores =
      base.isThere() ? compareWindow(session, base, window, first, tally.windows, tally.divergence)
                     : session.score(window);
  if (!scores.ok())
    return std::move(scores).status();
  for (size_t i = first; i < window.size(); ++i) {
    double loss = -double((*scores)[i]);
    if (!std::isfinite(loss))
      return Status::error("INGOT-E6025",
                           "token " + std::to_string(start + i) +
                               " of the text has no finite log-probability: the logits before it "
                               "are NaN, or exclude it",
                           "see whether the checkpoint's weights are finite, and whether another "
                           "target gives numbers");
    tally.sum += loss;
    tally.squares += loss * loss;
    ++tally.scored;
  }
  ++tally.windows;
  return {};
}

Result<Tally> scoreAll(Session &session, Base &base, const EvalOptions &options,
                       const std::vector<int32_t> &tokens) {
  Tally tally;
  ProgressLine progress;
  size_t shortest = options.scoring == Scoring::SecondHalf ? options.window : 2;
  for (size_t first = 0; first < tokens.size(); first += options.window) {
    size_t end = std::min(first + options.window, tokens.size());
    if (end - first < shortest)
      break;
    if (Status status =
            scoreWindow(session, base, options,
                        {tokens.begin() + long(first), tokens.begin() + long(end)}, first, tally);
        !status.ok())
      return status;
    progress.update([&] {
      return grouped(end) + " of " + grouped(tokens.size()) + " tokens, perplexity " +
             fixedPoint(tally.perplexity(), 4);
    });
  }
  if (tally.scored == 0)
    return Status::error("INGOT-E6019", options.text + ": no token counts under this windowing",
                         "give a larger --window");
  return tally;
}

void report(Session &session, bool compared, const EvalOptions &options, size_t tokens,
            const Tally &tally, double seconds) {
  bool half = options.scoring == Scoring::SecondHalf;
  if (options.json) {
    nlohmann::json out = {{"text", options.text},
                          {"target", session.engine().target().name()->str()},
                          {"tokens", tokens},
                          {"window", options.window},
                          {"scoring", half ? "second-half" : "all"},
                          {"bos_each_window", options.bosEachWindow},
                          {"special_tokens", !options.noSpecial},
                          {"windows", tally.windows},
                          {"scored_tokens", tally.scored},
                          {"mean_nll", tally.mean()},
                          {"perplexity", tally.perplexity()},
                          {"standard_error", tally.error()},
                          {"seconds", seconds}};
    if (compared)
      out["divergence"] = tally.divergence.summary();
    std::printf("%s\n", jsonText(out).c_str());
    return;
  }
  std::printf("perplexity %.6f +/- %.6f (mean negative log-likelihood %.8f)\n", tally.perplexity(),
              tally.error(), tally.mean());
  std::printf(
      "%s tokens, %s windows of %s, %s%s: %s tokens scored in %.2f s\n", grouped(tokens).c_str(),
      grouped(tally.windows).c_str(), grouped(options.window).c_str(), half ? "second half" : "all",
      options.bosEachWindow ? ", BOS first in each" : "", grouped(tally.scored).c_str(), seconds);
  if (compared)
    std::fputs(tally.divergence.text().c_str(), stdout);
}

/// Opens what is compared with; a file says which windows there are, too.
Result<Base> openBase(const Session &session, EvalOptions &options) {
  Base base;
  const uint32_t vocabulary = session.file().metadata().serving()->vocabulary();
  uint32_t other = vocabulary;
  if (!options.against.empty()) {
    Result<std::unique_ptr<Session>> engine = Session::open(options.against, options.session);
    if (!engine.ok())
      return std::move(engine).status();
    base.engine = std::move(*engine);
    other = base.engine->file().metadata().serving()->vocabulary();
  }
  if (!options.logitsFile.empty()) {
    Result<LogitsFile> file = LogitsFile::open(options.logitsFile);
    if (!file.ok())
      return std::move(file).status();
    other = uint32_t(file->vocabulary());
    options.window = file->window();
    options.scoring = Scoring::SecondHalf;
    base.file = std::move(*file);
  }
  if (other != vocabulary)
    return Status::error("INGOT-E6027",
                         "the vocabulary has " + std::to_string(vocabulary) +
                             " tokens, and that of what it is compared with " +
                             std::to_string(other),
                         "compare engines and files of one model");
  return base;
}

Status evaluate(EvalOptions &options) {
  if (options.text.empty() && options.logitsFile.empty() && options.humanEval.tasks.empty())
    return Status::error("INGOT-E6029", "there is nothing to score",
                         "give --text, --kl-divergence-base or --humaneval");
  if (!options.humanEval.tasks.empty()) {
    Result<std::unique_ptr<Session>> session = Session::open(options.engine, options.session);
    return session.ok() ? completeHumanEval(std::move(*session), options.humanEval)
                        : std::move(session).status();
  }
  options.session.memory.maxSequences = 1;
  Result<std::unique_ptr<Session>> session = Session::open(options.engine, options.session);
  if (!session.ok())
    return std::move(session).status();
  if (options.bosEachWindow && (*session)->file().metadata().serving()->bos() < 0)
    return Status::error("INGOT-E6021", "the model has no BOS token for --bos-each-window",
                         "leave the option out");
  Result<Base> base = openBase(**session, options);
  if (!base.ok())
    return std::move(base).status();
  const int64_t context = std::min((*session)->memoryPlan().maxContext,
                                   base->engine ? base->engine->memoryPlan().maxContext
                                                : (*session)->memoryPlan().maxContext);
  if (int64_t(options.window) > context)
    return Status::error("INGOT-E6004",
                         "a window of " + std::to_string(options.window) +
                             " tokens is longer than the context of " + std::to_string(context),
                         "choose a smaller --window");
  Result<std::vector<int32_t>> tokens = base->file
                                            ? Result<std::vector<int32_t>>(base->file->tokens())
                                            : readTokens(**session, options);
  if (!tokens.ok())
    return std::move(tokens).status();
  auto start = std::chrono::steady_clock::now();
  Result<Tally> tally = scoreAll(**session, *base, options, *tokens);
  if (!tally.ok())
    return std::move(tally).status();
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (Status status = (*session)->file().unchanged(); !status.ok())
    return status;
  report(**session, base->isThere(), options, tokens->size(), *tally, seconds);
  return flushOutput();
}

void addHumanEvalOptions(CommandLine &app, HumanEvalOptions &options, CommandOption text,
                         CommandOption logits, CommandOption json) {
  constexpr const char *group = "HumanEval";
  CommandOption tasks = app.addOption("--humaneval", options.tasks,
                                      "HumanEval.jsonl: writes completions of its tasks, which are "
                                      "scored elsewhere")
                            .file(FileUse::Reads)
                            .excludes(text)
                            .excludes(logits)
                            .excludes(json)
                            .group(group);
  CommandOption completions =
      app.addOption("--completions", options.completions, "file to write them to")
          .file(FileUse::Writes)
          .needs(tasks)
          .group(group);
  tasks.needs(completions);
  app.addOption("--samples", options.samples, "completions of each task")
      .between(1, 128)
      .needs(tasks)
      .group(group)
      .showDefault();
  app.addOption("--answer-tokens", options.maxTokens, "tokens of a completion at most")
      .positive()
      .needs(tasks)
      .group(group)
      .showDefault();
  app.addOption("--temp", options.temperature, "temperature; 0: greedy")
      .notNegative()
      .needs(tasks)
      .group(group)
      .showDefault();
  app.addOption("--seed", options.seed, "of the draws where --temp is above 0")
      .needs(tasks)
      .group(group)
      .showDefault();
}

} // namespace

int runEval(int argc, char **argv) {
  CommandLine app("Measures the perplexity of a text, and how far an engine is from another.",
                  argv[0],
                  "examples:\n"
                  "  {} model.ingot --text wiki.test.raw\n"
                  "  {} model.ingot --text wiki.test.raw --scoring second-half "
                  "--bos-each-window\n"
                  "  {} model-int4.ingot --text wiki.test.raw --against model-bf16.ingot\n"
                  "  {} model.ingot --kl-divergence-base base.kld\n"
                  "  {} model.ingot --humaneval HumanEval.jsonl --completions samples.jsonl");
  app.setDetails(windowing);
  EvalOptions options;
  std::string scoring;
  app.addOption("engine", options.engine, "engine file").required().file(FileUse::ReadsIfThere);
  CommandOption text =
      app.addOption("--text", options.text, "UTF-8 text to score").file(FileUse::Reads);
  CommandOption against = app.addOption("--against", options.against,
                                        "also say how far the distributions are from those of this "
                                        "engine: KL divergence and how "
                                        "often the likeliest tokens are the same")
                              .file(FileUse::ReadsIfThere);
  CommandOption logits = app.addOption("--kl-divergence-base", options.logitsFile,
                                       "the same from those in a file that llama-perplexity "
                                       "--kl-divergence-base wrote, of its "
                                       "tokens and windows")
                             .file(FileUse::Reads);
  logits.excludes(text);
  against.needs(text);
  app.addOption("--window", options.window, "tokens of a window")
      .between(2, int64_t(1) << 31)
      .showDefault();
  app.addOption("--scoring", scoring, "all or second-half; default: all")
      .oneOf({"all", "second-half"})
      .typeName("RULE");
  app.addFlag("--bos-each-window", options.bosEachWindow, "begin each window with BOS");
  app.addOption("--max-tokens", options.maxTokens, "score only so many tokens of the text")
      .positive();
  app.addFlag("--no-special", options.noSpecial, "leave out the model's prefix and suffix");
  app.addFlag("--parse-special", options.parseSpecial, "recognise special tokens in the text");
  CommandOption json = app.addFlag("--json", options.json, "print JSON");
  addHumanEvalOptions(app, options.humanEval, text, logits, json);
  addTargetOption(app, options.session.target);
  addDeviceOptions(app, options.session.device);
  int exitStatus = 0;
  if (!parseArguments(app, argc, argv, exitStatus))
    return exitStatus;
  if (scoring == "second-half")
    options.scoring = Scoring::SecondHalf;
  const Status status = evaluate(options);
  return status.ok() ? 0 : reportError(status);
}

} // namespace ingot::runtime
