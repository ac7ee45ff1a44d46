// SPDX-License-Identifier: Apache-2.0
// From words to a load, and from records to a table and files.
#include "runtime/tools/load/LoadCommand.h"

#include "runtime/tools/SessionArguments.h"
#include "runtime/tools/Table.h"
#include "runtime/tools/load/EarlierTexts.h"
#include "runtime/tools/load/LoadPlot.h"
#include "runtime/tools/load/LoadReport.h"

#include <algorithm>
#include <cmath>

namespace ingot::runtime {
namespace {

constexpr int64_t usualRequests = 100;

std::string problemOfRange(const std::string &word) {
  return LengthRange::parse(word) ? "" : word + " is no number of tokens, as 128 or 64..512";
}

std::string problemOfPrefix(const std::string &word) {
  return SharedPrefix::parse(word) ? "" : word + " is no number of tokens, as 1500 or 1500:4";
}

std::string problemOfLimits(const std::string &word) {
  return ServiceLimits::parse(word) ? "" : word + " names no limits, as ttft:500,itl:50,e2e:9000";
}

/// A number in full; nothing for other words.
std::optional<double> numberOf(const std::string &word) {
  char *end = nullptr;
  double value = std::strtod(word.c_str(), &end);
  return word.empty() || *end || std::isnan(value) ? std::nullopt : std::optional(value);
}

std::string problemOfRate(const std::string &word) {
  std::optional<double> value = numberOf(word);
  return value && *value > 0 ? "" : word + " is no rate: a number above 0, or inf";
}

std::string problemOfShare(const std::string &word) {
  std::optional<double> value = numberOf(word);
  return value && *value >= 0 && *value <= 1 ? "" : word + " is no share of 0 to 1";
}

void addPacingOptions(CommandLine &app, LoadArguments &arguments) {
  const char *group = "Load";
  CommandOption rate =
      app.addOption("--rate", arguments.rate,
                    "requests per second, at random times (Poisson); inf: all at once, as without "
                    "this")
          .check(problemOfRate)
          .group(group)
          .frequent();
  app.addOption("--concurrency", arguments.pacing.concurrency,
                "clients that each make a request after the other")
      .between(1, 100000)
      .excludes(rate)
      .group(group)
      .frequent();
  app.addOption("--requests", arguments.workload.requests,
                "how many; default: 100, all of a trace, or as many as --duration takes")
      .positive()
      .group(group)
      .frequent();
  app.addOption("--duration", arguments.duration, "seconds after which no request is made")
      .positive()
      .group(group)
      .frequent();
  app.addOption("--warm-ups", arguments.warmUps, "requests beforehand that do not count")
      .between(0, 10000)
      .showDefault()
      .group(group);
  app.addOption("--cancel-share", arguments.workload.cancelShare,
                "share of the requests that the client cancels somewhere in their answer")
      .check(problemOfShare)
      .group(group);
  app.addOption("--seed", arguments.workload.seed, "equal seeds make equal requests")
      .showDefault()
      .group(group);
}

void addWorkloadOptions(CommandLine &app, LoadArguments &arguments) {
  WorkloadOptions &workload = arguments.workload;
  const char *group = "Requests";
  CommandOption trace =
      app.addOption("--trace", workload.trace,
                    "CSV of TIMESTAMP,ContextTokens,GeneratedTokens: lengths, and times unless "
                    "--rate or --concurrency is given")
          .file(FileUse::Reads)
          .group(group)
          .frequent();
  CommandOption shareGpt =
      app.addOption("--sharegpt", workload.shareGpt,
                    "JSON of conversations: their first questions, and answers of a token for each "
                    "4 bytes")
          .file(FileUse::Reads)
          .excludes(trace)
          .group(group);
  app.addOption("--prompt-tokens", arguments.promptTokens, "of each prompt, or of any in a..b")
      .check(problemOfRange)
      .excludes(trace)
      .excludes(shareGpt)
      .showDefault()
      .group(group)
      .frequent();
  app.addOption("--output-tokens", arguments.outputTokens, "the most of each answer, likewise")
      .check(problemOfRange)
      .excludes(trace)
      .excludes(shareGpt)
      .showDefault()
      .group(group)
      .frequent();
  app.addOption("--time-scale", workload.timeScale, "multiplies the times of the trace")
      .positive()
      .needs(trace)
      .group(group);
  app.addOption("--length-scale", workload.lengthScale, "multiplies the lengths of the trace")
      .positive()
      .needs(trace)
      .group(group);
  CommandOption prefix =
      app.addOption("--shared-prefix", arguments.sharedPrefix,
                    "tokens before the prompts, the same for all or, as in 1500:4, for each of so "
                    "many groups")
          .check(problemOfPrefix)
          .group(group);
  app.addOption("--shared-prefix-share", workload.prefixShare, "share of the requests that have it")
      .check(problemOfShare)
      .needs(prefix)
      .group(group);
  app.addFlag("--ignore-eos", arguments.ignoreEos, "answers go on to their length").group(group);
}

void addOutputOptions(CommandLine &app, LoadArguments &arguments) {
  const char *group = "Output";
  app.addOption("--slo", arguments.slo,
                "limits in milliseconds for goodput, as ttft:500,itl:50,e2e:9000; itl is a "
                "request's mean")
      .check(problemOfLimits)
      .group(group)
      .frequent();
  app.addOption("--json", arguments.json, "file for all figures and every request")
      .file(FileUse::Writes)
      .group(group)
      .frequent();
  app.addOption("--svg", arguments.svg, "file for a picture of the latencies")
      .file(FileUse::Writes)
      .group(group);
  app.addOption("--compare", arguments.compare,
                "file that --json wrote of equal requests: texts must be equal")
      .file(FileUse::Reads)
      .group(group);
  app.addFlag("--allow-failures", arguments.allowFailures,
              "requests that fail are no error of the command")
      .group(group);
}

/// What is not counted: other prompts, at most 8 at once.
Status warmUp(const LoadArguments &arguments, const LoadRunner &run) {
  if (arguments.warmUps == 0)
    return {};
  WorkloadOptions options = arguments.workload;
  options.seed = ~options.seed;
  options.requests = arguments.warmUps;
  options.cancelShare = 0;
  Result<Workload> workload = Workload::create(options);
  if (!workload.ok())
    return std::move(workload).status();
  LoadProgress progress;
  double seconds = 0;
  Pacing pacing;
  pacing.concurrency = std::min<int64_t>(arguments.warmUps, 8);
  Result<std::vector<LoadRecord>> records = run(*workload, pacing, progress, seconds);
  return records.ok() ? Status() : std::move(records).status();
}

Status failed(const LoadSummary &summary) {
  return Status::error("INGOT-E7245",
                       grouped(summary.failed) + " of " + counted(summary.requests, "request") +
                           " failed",
                       "see the table above, or give --allow-failures");
}

} // namespace

void addLoadOptions(CommandLine &app, LoadArguments &arguments) {
  addPacingOptions(app, arguments);
  addWorkloadOptions(app, arguments);
  addOutputOptions(app, arguments);
}

void readLoad(LoadArguments &arguments) {
  WorkloadOptions &workload = arguments.workload;
  if (!arguments.rate.empty())
    workload.rate = numberOf(arguments.rate);
  if (arguments.duration > 0)
    arguments.pacing.duration = arguments.duration;
  // A load that is all at once would never end.
  bool takesTime = arguments.pacing.concurrency || (workload.rate && std::isfinite(*workload.rate));
  if (workload.requests == 0 && workload.trace.empty() && !(takesTime && arguments.duration > 0))
    workload.requests = usualRequests;
  workload.prompt = LengthRange::parse(arguments.promptTokens).value_or(workload.prompt);
  workload.output = LengthRange::parse(arguments.outputTokens).value_or(workload.output);
  workload.prefix = SharedPrefix::parse(arguments.sharedPrefix).value_or(workload.prefix);
  arguments.limits = ServiceLimits::parse(arguments.slo).value_or(arguments.limits);
}

int measureLoad(const LoadArguments &arguments, nlohmann::ordered_json subject,
                const std::string &title, const LoadRunner &run) {
  Result<Workload> workload = Workload::create(arguments.workload);
  if (!workload.ok())
    return reportError(workload.status());
  std::optional<EarlierTexts> earlier;
  if (!arguments.compare.empty()) {
    Result<EarlierTexts> read = EarlierTexts::read(arguments.compare);
    if (!read.ok())
      return reportError(read.status());
    earlier = std::move(*read);
  }
  if (Status status = warmUp(arguments, run); !status.ok())
    return reportError(status);
  double seconds = 0;
  Result<std::vector<LoadRecord>> records = [&] {
    LoadProgress progress; // its line is gone before the table comes
    return run(*workload, arguments.pacing, progress, seconds);
  }();
  if (!records.ok())
    return reportError(records.status());
  std::sort(records->begin(), records->end(),
            [](const LoadRecord &a, const LoadRecord &b) { return a.number < b.number; });
  LoadSummary summary = summarize(*records, seconds, arguments.limits);
  std::printf("%s\n", printable(title).c_str());
  printLoad(summary, arguments.limits, stdout);
  subject["seed"] = arguments.workload.seed;
  Status written = flushOutput();
  if (written.ok() && !arguments.json.empty())
    written = writeTextFile(arguments.json,
                            jsonOfLoad(subject, summary, *records)
                                    .dump(1, ' ', false, nlohmann::json::error_handler_t::replace) +
                                "\n");
  if (written.ok() && !arguments.svg.empty())
    written = writeTextFile(arguments.svg, plotOfLoad(*records, title));
  if (written.ok() && earlier)
    written = earlier->compare(*records);
  if (written.ok() && summary.failed && !arguments.allowFailures)
    written = failed(summary);
  return written.ok() ? 0 : reportError(written);
}

} // namespace ingot::runtime
