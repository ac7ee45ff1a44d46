// SPDX-License-Identifier: Apache-2.0
// The loop of --prompts: lines in while there is room, events out.
#include "runtime/tools/Prompts.h"

#include "runtime/tools/LineReader.h"
#include "runtime/tools/PictureArguments.h"
#include "runtime/tools/RequestJson.h"
#include "runtime/tools/SessionArguments.h"

#include <cstdio>
#include <map>

namespace ingot::runtime {

Status encodePrompt(const Tokenizer *tokenizer, Request &request, const std::string &where) {
  // With pictures the text is not yet the prompt.
  if (!request.tokens.empty() || !tokenizer || !request.pictures.empty())
    return {};
  Result<std::vector<int32_t>> tokens =
      tokenizer->encode(request.text, request.addSpecial, request.parseSpecial);
  if (!tokens.ok())
    return std::move(tokens).status();
  request.tokens = std::move(*tokens);
  int32_t bos = tokenizer->bosId();
  if (request.addSpecial && bos >= 0 && request.tokens.size() > 1 && request.tokens[0] == bos &&
      request.tokens[1] == bos)
    std::fprintf(stderr,
                 "warning: %s begins with two BOS tokens: its own, and the one that is put before "
                 "it; --no-special (in JSON \"add_special\": false) leaves the latter out\n",
                 where.c_str());
  return {};
}

namespace {

/// What has come of one request.
struct Answer {
  nlohmann::json id;
  bool wantsLogprobs = false;
  std::optional<uint64_t> seed; ///< that nobody gave
  std::string text;
  nlohmann::json tokens = nlohmann::json::array();
  nlohmann::json logprobs = nlohmann::json::array();
  nlohmann::json promptLogprobs = nlohmann::json::array();

  void add(const Event &event);
  nlohmann::json line(const Event &last) const;
};

/// "token", "logprob" and "top", the alternatives.
template <class Logprob> nlohmann::json toJson(const Logprob &logprob) {
  nlohmann::json entry = {{"token", logprob.token}, {"logprob", logprob.logprob}};
  entry["top"] = nlohmann::json::array();
  for (const TokenLogprob &other : logprob.top)
    entry["top"].push_back({{"token", other.token}, {"logprob", other.logprob}});
  return entry;
}

void Answer::add(const Event &event) {
  text += event.text;
  for (const PromptLogprob &logprob : event.promptLogprobs)
    promptLogprobs.push_back(promptLogprobs.empty() ? nullptr : toJson(logprob));
  if (event.token >= 0)
    tokens.push_back(event.token);
  if (wantsLogprobs && event.token >= 0)
    logprobs.push_back(toJson(event));
}

nlohmann::json Answer::line(const Event &last) const {
  nlohmann::json line = {{"id", id},
                         {"text", text},
                         {"tokens", tokens},
                         {"prompt_tokens", last.promptTokens},
                         {"finish", nameOf(last.finish)}};
  if (!logprobs.empty())
    line["logprobs"] = logprobs;
  if (!promptLogprobs.empty())
    line["prompt_logprobs"] = promptLogprobs;
  if (seed)
    line["seed"] = *seed;
  if (!last.error.ok())
    line["error"] = last.error.toString();
  return line;
}

/// One run of a prompts file.
class PromptsRun {
public:
  PromptsRun(LoopReader &reader, const Request &defaults, bool seeded)
      : reader(reader), defaults(defaults), seeded(seeded),
        pictures(reader.loop().file().metadata().images()) {}

  Status run(LineReader &lines);
  bool allWell() const { return well; }

private:
  Status takeLines(LineReader &lines);
  Status submit(const std::string &line);
  Result<uint64_t> submitLine(const std::string &line, Answer &answer);
  Status take(const Event &event);
  Status print(const nlohmann::json &line);

  LoopReader &reader;
  const Request &defaults;
  bool seeded;
  PictureArguments pictures;
  std::map<uint64_t, Answer> answers; ///< of requests in flight
  size_t number = 0;                  ///< of the last line
  bool ended = false, well = true;
};

Status PromptsRun::print(const nlohmann::json &line) {
  std::string text = textOf(line) + "\n";
  std::fwrite(text.data(), 1, text.size(), stdout);
  return flushOutput();
}

Result<uint64_t> PromptsRun::submitLine(const std::string &line, Answer &answer) {
  Request request = defaults;
  uint64_t random = SamplingParameters::randomSeed();
  if (!seeded)
    request.sampling.seed = random;
  std::string where = "line " + std::to_string(number);
  std::vector<std::string> images;
  Status status = readRequest(line, request, answer.id, images);
  if (status.ok())
    status = pictures.read(images, request);
  if (status.ok())
    status = encodePrompt(reader.loop().tokenizer(), request, where);
  if (!status.ok())
    return std::move(status).in(where);
  answer.wantsLogprobs = request.sampling.logprobs >= 0;
  if (!seeded && request.sampling.seed == random && request.sampling.temperature > 0)
    answer.seed = random;
  Result<uint64_t> id = reader.submit(std::move(request));
  if (!id.ok())
    return std::move(id).status().in(where);
  return id;
}

/// A line that is refused is answered with its error and does not stop others.
Status PromptsRun::submit(const std::string &line) {
  ++number;
  if (line.find_first_not_of(" \t\r") == std::string::npos)
    return {};
  Answer answer;
  answer.id = number;
  Result<uint64_t> id = submitLine(line, answer);
  if (id.ok()) {
    answers.emplace(*id, std::move(answer));
    return {};
  }
  well = false;
  return print({{"id", answer.id}, {"error", id.status().toString()}});
}

/// Submits what lines there are, and waits for one where nothing else is to do.
Status PromptsRun::takeLines(LineReader &lines) {
  size_t most = size_t(mostInFlight(reader.loop().memoryPlan()));
  std::string line;
  while (!ended && answers.size() < most) {
    Result<LineReader::Next> next = lines.next(line, answers.empty());
    if (!next.ok())
      return std::move(next).status();
    if (*next == LineReader::Next::NotYet)
      break;
    ended = *next == LineReader::Next::End;
    if (!ended)
      if (Status status = submit(line); !status.ok())
        return status;
  }
  return {};
}

Status PromptsRun::take(const Event &event) {
  auto answer = answers.find(event.request);
  answer->second.add(event);
  if (event.finish == FinishReason::None)
    return {};
  well &= event.error.ok();
  Status status = print(answer->second.line(event));
  answers.erase(answer);
  return status;
}

Status PromptsRun::run(LineReader &lines) {
  while (true) {
    if (Status status = takeLines(lines); !status.ok())
      return status;
    if (answers.empty())
      return {};
    if (Status status = take(reader.take()); !status.ok())
      return status;
    // Those in flight have ended with the device; the lines that are left are not even read.
    if (answers.empty() && reader.loop().state() == LoopState::Broken)
      return reader.loop().failure();
  }
}

} // namespace

int answerPrompts(LoopReader &reader, const std::string &path, const Request &request,
                  bool seeded) {
  Result<LineReader> lines = LineReader::open(path);
  if (!lines.ok())
    return reportError(lines.status());
  PromptsRun run(reader, request, seeded);
  if (Status status = run.run(*lines); !status.ok())
    return reportError(status);
  reader.report();
  return run.allWell() ? 0 : 1;
}

} // namespace ingot::runtime
