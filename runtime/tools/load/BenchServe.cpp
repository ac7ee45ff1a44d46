// SPDX-License-Identifier: Apache-2.0
// bench serve: a load on a server, as its clients would make it.
#include "runtime/tools/SessionArguments.h"
#include "runtime/tools/load/HttpLoad.h"
#include "runtime/tools/load/LoadCommand.h"
#include "runtime/tools/load/LoadCommands.h"

#include <algorithm>

namespace ingot::runtime {
namespace {

struct ServeArguments {
  std::string url = "http://127.0.0.1:8000";
  std::string keyFile;
  int64_t vocabulary = 0;
  HttpOptions http;
  LoadArguments load;
};

void addOptions(CommandLine &app, ServeArguments &arguments) {
  const char *group = "Server";
  app.addOption("--url", arguments.url, "address of an OpenAI-compatible server")
      .showDefault()
      .group(group);
  app.addOption("--model", arguments.http.model, "default: the first of /v1/models").group(group);
  app.addOption("--api-key-file", arguments.keyFile, "file whose first line is the key")
      .file(FileUse::Reads)
      .group(group);
  app.addOption("--timeout", arguments.http.timeout,
                "seconds without a byte after which a request has failed")
      .positive()
      .showDefault()
      .group(group);
  addLoadOptions(app, arguments.load);
  app.addFlag("--text", arguments.load.workload.words,
              "prompts are words, about a token each, for servers that take no ids")
      .group("Requests");
  app.addOption("--max-context", arguments.load.workload.maxContext,
                "cuts requests of more tokens, prompt and answer together; leaves out such "
                "conversations; default: what the server says")
      .positive()
      .group("Requests");
  app.addOption("--vocabulary", arguments.vocabulary,
                "ids of prompts are below this; default: what the server says, or 1000")
      .between(8, 1 << 24)
      .group("Requests");
}

/// The first line of the file. INGOT-E7101, E7246.
Result<std::string> readKey(const std::string &path) {
  Result<std::string> text = readTextFile(path, 1 << 16);
  if (!text.ok())
    return text;
  std::string key = text->substr(0, text->find_first_of("\r\n"));
  auto isPlain = [](unsigned char c) { return c > ' ' && c < 0x7F; };
  if (key.empty() || !std::all_of(key.begin(), key.end(), isPlain))
    return Status::error("INGOT-E7246", path + ": its first line is no API key",
                         "write the key alone into it: characters of ASCII without spaces");
  return key;
}

/// Everything that must be known before the first request.
Status prepare(ServeArguments &arguments) {
  Result<ServerAddress> address = ServerAddress::parse(arguments.url);
  if (!address.ok())
    return std::move(address).status();
  arguments.http.address = std::move(*address);
  arguments.http.ignoreEos = arguments.load.ignoreEos;
  if (!arguments.keyFile.empty()) {
    Result<std::string> key = readKey(arguments.keyFile);
    if (!key.ok())
      return std::move(key).status();
    arguments.http.apiKey = std::move(*key);
  }
  WorkloadOptions &workload = arguments.load.workload;
  if (arguments.http.model.empty() || arguments.vocabulary == 0 || workload.maxContext == 0) {
    Result<ListedModel> model = askForModel(arguments.http);
    if (!model.ok())
      return std::move(model).status();
    arguments.http.model = model->name;
    workload.vocabulary = model->vocabulary >= 8 ? model->vocabulary : workload.vocabulary;
    if (workload.maxContext == 0)
      workload.maxContext = model->context;
  }
  if (arguments.vocabulary)
    workload.vocabulary = arguments.vocabulary;
  return {};
}

} // namespace

int runBenchServe(int argc, char **argv) {
  CommandLine app(
      "Puts a load on a server of OpenAI's /v1/completions and measures every streamed "
      "answer.",
      argv[0],
      "examples:\n"
      "  {} --url http://127.0.0.1:8000 --concurrency 8\n"
      "  {} --rate 4 --duration 60 --prompt-tokens 64..512 --output-tokens 128 \\\n"
      "      --ignore-eos --slo ttft:500,itl:50 --json load.json --svg load.svg\n"
      "  {} --trace AzureLLMInferenceTrace_conv.csv --time-scale 20 --length-scale 0.25\n"
      "  {} --concurrency 32 --shared-prefix 1500:4 --cancel-share 0.1");
  ServeArguments arguments;
  addOptions(app, arguments);
  int exitStatus = 0;
  if (!parseArguments(app, argc, argv, exitStatus))
    return exitStatus;
  readLoad(arguments.load);
  if (Status status = prepare(arguments); !status.ok())
    return reportError(status);
  const HttpOptions &http = arguments.http;
  return measureLoad(
      arguments.load, {{"command", "serve"}, {"url", arguments.url}, {"model", http.model}},
      http.model + " at " + arguments.url,
      [&](Workload &workload, const Pacing &pacing, LoadProgress &progress, double &seconds) {
        return runHttpLoad(http, workload, pacing, progress, seconds);
      });
}

} // namespace ingot::runtime
