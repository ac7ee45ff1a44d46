// SPDX-License-Identifier: Apache-2.0
// ingot-run model.ingot -p "...": streams text; with --prompts, many requests in flight at once.
#include "runtime/tools/Commands.h"
#include "runtime/tools/RequestJson.h"
#include "runtime/tools/SessionArguments.h"

#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>

namespace ingot::runtime {
namespace {

struct GenerateOptions {
  std::string engine;
  std::string prompt;
  std::string promptsFile;
  std::vector<int32_t> promptIds;
  bool greedy = false;
  bool printIds = false;
  bool echo = false;
  SessionOptions session;
  Request request;
};

/// Seconds and tokens of prompts and of generation: a step with prompt tokens counts for prompts.
class Speedometer {
public:
  explicit Speedometer(const Session &session) : session(session) {}

  void before() {
    start = std::chrono::steady_clock::now();
    counters = session.counters();
  }

  void after() {
    double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    bool prompts = session.counters().promptTokens > counters.promptTokens;
    (prompts ? promptSeconds : generationSeconds) += seconds;
  }

  void report() const {
    const SessionCounters &total = session.counters();
    auto rate = [](int64_t tokens, double seconds) {
      return seconds > 0 ? double(tokens) / seconds : 0.0;
    };
    std::fprintf(
        stderr, "prompt: %lld tokens, %.1f tokens/s; generation: %lld tokens, %.1f tokens/s\n",
        static_cast<long long>(total.promptTokens), rate(total.promptTokens, promptSeconds),
        static_cast<long long>(total.generatedTokens),
        rate(total.generatedTokens, generationSeconds));
  }

private:
  const Session &session;
  std::chrono::steady_clock::time_point start;
  SessionCounters counters;
  double promptSeconds = 0, generationSeconds = 0;
};

void addSamplingOptions(CommandLine &app, GenerateOptions &options) {
  SamplingParameters &sampling = options.request.sampling;
  const char *group = "Sampling (default: the engine's)";
  app.addFlag("--greedy", options.greedy, "always the likeliest token").group(group);
  app.addOption("--temp", sampling.temperature, "temperature; 0 = greedy").group(group);
  app.addOption("--top-k", sampling.topK, "the k likeliest; 0 = off").group(group);
  app.addOption("--top-p", sampling.topP, "the likeliest of this mass; 1 = off").group(group);
  app.addOption("--min-p", sampling.minP, "above this share of the best; 0 = off").group(group);
  app.addOption("--typical-p", sampling.typicalP, "locally typical mass; 1 = off").group(group);
  app.addOption("--repeat-penalty", sampling.repetitionPenalty, "1 = off").group(group);
  app.addOption("--presence-penalty", sampling.presencePenalty, "0 = off").group(group);
  app.addOption("--frequency-penalty", sampling.frequencyPenalty, "0 = off").group(group);
  app.addOption("--seed", sampling.seed, "random stream of the request").group(group);
  app.addOption("--logprobs", sampling.logprobs, "log-probabilities with so many alternatives")
      .group(group);
  app.addOption("-n,--tokens", sampling.maxTokens, "tokens to generate; 0 = up to the context")
      .group("Text");
  app.addOption("--stop", sampling.stopStrings, "text that ends the answer; may be repeated")
      .oneValueEach()
      .group("Text");
  app.addFlag("--ignore-eos", sampling.ignoreEos, "go on after the model's end token")
      .group("Text");
}

void addOptions(CommandLine &app, GenerateOptions &options) {
  app.addOption("engine", options.engine, "engine file").required();
  CommandOption text = app.addOption("-p,--prompt", options.prompt, "prompt").group("Text");
  CommandOption ids = app.addOption("--prompt-ids", options.promptIds, "prompt as token ids")
                          .separatedBy(',')
                          .group("Text");
  CommandOption file =
      app.addOption("--prompts", options.promptsFile,
                    "one JSON object per line: prompt or prompt_ids, id, and any sampling "
                    "parameter; '-' reads from standard input")
          .group("Text");
  text.excludes(ids).excludes(file);
  ids.excludes(file);
  app.addFlag("--parse-special", options.request.parseSpecial,
              "recognise special tokens written in the prompt")
      .group("Text");
  app.addFlag("--ids", options.printIds, "print token ids instead of text").group("Text");
  app.addFlag("--echo", options.echo, "print the prompt before the answer").group("Text");
  addSamplingOptions(app, options);
  addSessionOptions(app, options.session);
}

/// Parameters not given on the command line come from the engine.
void applyDefaults(const CommandLine &app, const Session &session, GenerateOptions &options) {
  SamplingParameters defaults = session.defaultSampling();
  SamplingParameters &sampling = options.request.sampling;
  if (options.greedy) {
    sampling.temperature = 0;
    return;
  }
  auto fill = [&](const char *option, auto &value, auto fallback) {
    if (app.count(option) == 0)
      value = fallback;
  };
  fill("--temp", sampling.temperature, defaults.temperature);
  fill("--top-k", sampling.topK, defaults.topK);
  fill("--top-p", sampling.topP, defaults.topP);
  fill("--min-p", sampling.minP, defaults.minP);
  fill("--repeat-penalty", sampling.repetitionPenalty, defaults.repetitionPenalty);
}

void printEvent(const Event &event, const GenerateOptions &options, bool first) {
  if (options.printIds && event.token >= 0)
    std::printf("%s%d", first ? "" : " ", event.token);
  else if (!options.printIds)
    std::fwrite(event.text.data(), 1, event.text.size(), stdout);
  std::fflush(stdout);
}

void printLogprobs(const Event &event) {
  std::fprintf(stderr, "%d %.6f", event.token, double(event.logprob));
  for (const TokenLogprob &entry : event.top)
    std::fprintf(stderr, " %d:%.6f", entry.token, double(entry.logprob));
  std::fputc('\n', stderr);
}

int streamOne(Session &session, GenerateOptions &options) {
  options.request.text = options.prompt;
  options.request.tokens = options.promptIds;
  Result<uint64_t> id = session.submit(options.request);
  if (!id.ok())
    return reportError(id.status());
  if (options.echo && !options.printIds)
    std::fputs(options.prompt.c_str(), stdout);
  Speedometer speed(session);
  bool first = true;
  Status failure;
  for (bool active = true; active;) {
    speed.before();
    Result<bool> stepped = session.step();
    speed.after();
    if (!stepped.ok())
      return reportError(stepped.status());
    active = *stepped;
    while (std::optional<Event> event = session.nextEvent()) {
      printEvent(*event, options, first);
      first = false;
      if (options.request.sampling.logprobs >= 0 && event->token >= 0)
        printLogprobs(*event);
      failure = std::move(event->error);
    }
  }
  std::fputc('\n', stdout);
  if (Status written = flushOutput(); !written.ok())
    return reportError(written);
  speed.report();
  return failure.ok() ? 0 : reportError(failure);
}

/// What has come of one request of a --prompts file.
struct Answer {
  nlohmann::json id;
  bool wantsLogprobs = false;
  std::string text;
  nlohmann::json tokens = nlohmann::json::array();
  nlohmann::json logprobs = nlohmann::json::array();
};

void add(Answer &answer, const Event &event) {
  answer.text += event.text;
  if (event.token >= 0)
    answer.tokens.push_back(event.token);
  if (!answer.wantsLogprobs || event.token < 0)
    return;
  nlohmann::json entry = {{"token", event.token}, {"logprob", event.logprob}};
  entry["top"] = nlohmann::json::array();
  for (const TokenLogprob &other : event.top)
    entry["top"].push_back({{"token", other.token}, {"logprob", other.logprob}});
  answer.logprobs.push_back(std::move(entry));
}

void print(const Answer &answer, const Event &last) {
  nlohmann::json line = {{"id", answer.id},
                         {"text", answer.text},
                         {"tokens", answer.tokens},
                         {"prompt_tokens", last.promptTokens},
                         {"finish", nameOf(last.finish)}};
  if (!answer.logprobs.empty())
    line["logprobs"] = answer.logprobs;
  std::cout << line.dump() << '\n';
}

/// Submits every line; a line that is refused is answered with its error and does not stop others.
/// True when all were accepted.
bool submitLines(Session &session, std::istream &input, const GenerateOptions &options,
                 std::map<uint64_t, Answer> &answers) {
  bool accepted = true;
  size_t number = 0;
  for (std::string line; std::getline(input, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos)
      continue;
    Request request = options.request;
    Answer answer;
    answer.id = number;
    Status status = readRequest(line, request, answer.id);
    if (status.ok()) {
      answer.wantsLogprobs = request.sampling.logprobs >= 0;
      Result<uint64_t> id = session.submit(request);
      if (id.ok()) {
        answers.emplace(*id, std::move(answer));
        continue;
      }
      status = std::move(id).status();
    }
    accepted = false;
    status = std::move(status).in("line " + std::to_string(number));
    std::cout << nlohmann::json{{"id", answer.id}, {"error", status.toString()}}.dump() << '\n';
  }
  return accepted;
}

int answerFile(Session &session, GenerateOptions &options) {
  std::ifstream file;
  bool fromInput = options.promptsFile == "-";
  if (!fromInput) {
    file.open(options.promptsFile);
    if (!file)
      return reportError(Status::error("INGOT-E7101", options.promptsFile + ": cannot be opened",
                                       "check the path and its permissions"));
  }
  std::map<uint64_t, Answer> answers;
  bool accepted = submitLines(session, fromInput ? std::cin : file, options, answers);
  Speedometer speed(session);
  for (bool active = !answers.empty(); active;) {
    speed.before();
    Result<bool> stepped = session.step();
    speed.after();
    if (!stepped.ok())
      return reportError(stepped.status());
    active = *stepped;
    while (std::optional<Event> event = session.nextEvent()) {
      auto answer = answers.find(event->request);
      add(answer->second, *event);
      if (event->finish == FinishReason::None)
        continue;
      print(answer->second, *event);
      answers.erase(answer);
    }
  }
  if (Status written = flushOutput(); !written.ok())
    return reportError(written);
  speed.report();
  return accepted ? 0 : 1;
}

} // namespace

int runGenerate(int argc, char **argv) {
  CommandLine app("Runs an engine made by 'ingot build'. Other commands: ingot-run --list-commands",
                  "ingot-run");
  GenerateOptions options;
  addOptions(app, options);
  int exitStatus = 0;
  if (!parseArguments(app, argc, argv, exitStatus))
    return exitStatus;
  bool fromFile = app.count("--prompts") != 0;
  if (!fromFile && app.count("--prompt") == 0 && app.count("--prompt-ids") == 0) {
    std::fputs("error: give a prompt with -p, --prompt-ids or --prompts; see --help\n", stderr);
    return 2;
  }
  Result<std::unique_ptr<Session>> session = Session::open(options.engine, options.session);
  if (!session.ok())
    return reportError(session.status());
  if ((*session)->memoryPlan().madeBytes)
    std::fputs("warning: the weights of this engine are random numbers; its text means nothing\n",
               stderr);
  applyDefaults(app, **session, options);
  return fromFile ? answerFile(**session, options) : streamOne(**session, options);
}

} // namespace ingot::runtime
