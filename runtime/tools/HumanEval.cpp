// SPDX-License-Identifier: Apache-2.0
// Prompts go in as they are: completions are put behind the very same text.
#include "runtime/tools/HumanEval.h"

#include "runtime/tools/LineReader.h"
#include "runtime/tools/ProgressLine.h"
#include "runtime/tools/Prompts.h"
#include "runtime/tools/RequestJson.h"
#include "runtime/tools/SessionArguments.h"
#include "runtime/tools/Table.h"

#include <cstdio>
#include <map>

namespace ingot::runtime {
namespace {

struct Task {
  nlohmann::json id;
  std::string prompt;
  std::vector<std::string> completions;
};

Result<std::vector<Task>> readTasks(const std::string &path) {
  Result<LineReader> lines = LineReader::open(path);
  if (!lines.ok())
    return std::move(lines).status();
  std::vector<Task> tasks;
  std::string line;
  for (size_t number = 1;; ++number) {
    const Result<LineReader::Next> next = lines->next(line, /*wait=*/true);
    if (!next.ok())
      return next.status();
    if (*next == LineReader::Next::End)
      return tasks;
    if (line.find_first_not_of(" \t\r") == std::string::npos)
      continue;
    const auto task = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!task.is_object() || !task.contains("task_id") || !task.contains("prompt") ||
        !task["prompt"].is_string())
      return Status::error("INGOT-E6018",
                           path + ":" + std::to_string(number) +
                               ": the line is no task: an object with task_id and prompt",
                           "give HumanEval.jsonl, unpacked");
    tasks.push_back({task["task_id"], task["prompt"], {}});
  }
}

/// Answers all tasks; as many as there is room for at a time.
class Completion {
public:
  Completion(LoopReader &reader, const HumanEvalOptions &options, std::vector<Task> &tasks)
      : reader(reader), options(options), tasks(tasks) {}

  Status run() {
    const auto most = size_t(mostInFlight(reader.loop().memoryPlan()));
    for (size_t next = 0; next < tasks.size() || !open.empty();) {
      if (next < tasks.size() && open.size() < most) {
        if (Status status = submit(next++); !status.ok())
          return status;
        continue;
      }
      if (Status status = take(reader.take()); !status.ok())
        return status;
    }
    return {};
  }

private:
  Status submit(size_t index) {
    Task &task = tasks[index];
    Request request;
    request.text = task.prompt;
    request.choices = options.samples;
    request.sampling.temperature = options.temperature;
    request.sampling.seed = options.seed + index;
    request.sampling.maxTokens = options.maxTokens;
    // What may follow a function's body in a file.
    request.sampling.stopStrings = {"\nclass", "\ndef", "\n#", "\nif", "\nprint"};
    const std::string name = task.id.dump();
    if (Status status = encodePrompt(reader.loop().tokenizer(), request, name); !status.ok())
      return std::move(status).in(name);
    Result<uint64_t> id = reader.submit(std::move(request));
    if (!id.ok())
      return std::move(id).status().in(name);
    task.completions.resize(size_t(options.samples));
    open[*id] = {index, options.samples};
    return {};
  }

  Status take(const Event &event) {
    const auto found = open.find(event.request);
    auto &[index, answers] = found->second;
    tasks[index].completions[size_t(event.choice)] += event.text;
    if (!event.error.ok())
      return Status(event.error).in(tasks[index].id.dump());
    if (event.finish != FinishReason::None && --answers == 0) {
      open.erase(found);
      ++completed;
    }
    progress.update([this] {
      return grouped(completed) + " of " + grouped(tasks.size()) + " tasks completed";
    });
    return {};
  }

  LoopReader &reader;
  const HumanEvalOptions &options;
  std::vector<Task> &tasks;
  std::map<uint64_t, std::pair<size_t, int32_t>> open; ///< task, and answers that go on
  size_t completed = 0;
  ProgressLine progress;
};

} // namespace

Status completeHumanEval(std::unique_ptr<Session> session, const HumanEvalOptions &options) {
  if (!session->tokenizer())
    return Status::error("INGOT-E6008", "the engine has no tokenizer", "build it with one");
  Result<std::vector<Task>> tasks = readTasks(options.tasks);
  if (!tasks.ok())
    return std::move(tasks).status();
  const int64_t most = mostInFlight(session->memoryPlan());
  LoopReader reader(std::move(session), most);
  if (Status status = Completion(reader, options, *tasks).run(); !status.ok())
    return status;
  if (Status status = reader.loop().file().unchanged(); !status.ok())
    return status;
  std::string text;
  for (const Task &task : *tasks)
    for (const std::string &completion : task.completions)
      text += textOf({{"task_id", task.id}, {"completion", completion}}) + "\n";
  if (Status status = writeTextFile(options.completions, text); !status.ok())
    return status;
  reader.report();
  std::printf("wrote %s, %d for each of %zu tasks; to score them, which runs what the model wrote: "
              "evaluate_functional_correctness %s\n",
              options.completions.c_str(), options.samples, tasks->size(),
              options.completions.c_str());
  return flushOutput();
}

} // namespace ingot::runtime
