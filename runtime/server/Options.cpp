// SPDX-License-Identifier: Apache-2.0
// Flags of `ingot-server`, and how those of a file join them.
#include "runtime/server/Options.h"

#include "runtime/core/NearestName.h"
#include "runtime/tools/DialogueArguments.h"
#include "runtime/tools/SessionArguments.h"

#include <algorithm>

namespace ingot::runtime {
namespace {

constexpr uint64_t mostConfigBytes = 1 << 20;

void addAddressOptions(CommandLine &app, ServerOptions &options) {
  const char *group = "Address and names";
  app.addOption("--host", options.host, "address to listen at")
      .group(group)
      .frequent()
      .showDefault();
  app.addOption("--port", options.port, "port to listen at; 0: one that is free")
      .between(0, 65535)
      .group(group)
      .frequent()
      .showDefault();
  app.addOption("--unix-socket", options.unixSocket, "listen at this path instead").group(group);
  app.addOption("--served-model-name", options.modelNames,
                "what clients call the model; several times for several names; default: the name "
                "of the engine's file")
      .oneValueEach()
      .group(group)
      .frequent();
  app.addOption("--api-keys", options.apiKeysFile,
                "file of keys, one a line, of which a client must give one")
      .file(FileUse::Reads)
      .group(group)
      .frequent();
  app.addOption("--cors-origins", options.corsOrigins,
                "origins whose pages may ask; several times for several; '*' for all")
      .oneValueEach()
      .group(group);
  app.addOption("--allowed-hosts", options.allowedHosts,
                "hosts for which a server at a loopback address answers beside localhost, and one "
                "elsewhere alone; several times for several; '*' for all")
      .oneValueEach()
      .group(group);
}

void addLimitOptions(CommandLine &app, ServerOptions &options) {
  const char *group = "Limits of clients";
  app.addOption("--queue-limit", options.loop.queueLimit,
                "answers that may wait beside those of a step; more are refused (429)")
      .notNegative()
      .group(group)
      .frequent()
      .showDefault();
  app.addOption("--max-reasoning-tokens", options.maxReasoningTokens,
                "tokens of reasoning in an answer, which goes on behind them; default: no limit")
      .notNegative()
      .group(group);
  app.addOption("--max-connections", options.maxConnections, "connections at a time")
      .positive()
      .group(group)
      .showDefault();
  app.addOption("--max-body", options.maxBody,
                "bytes of a request's body; default: 4 MiB, or 32 MiB for an engine that takes "
                "pictures")
      .bytes()
      .group(group);
  app.addOption("--max-bodies", options.maxBodies, "bytes of all bodies that are on their way")
      .bytes()
      .group(group)
      .showDefault();
  app.addOption("--max-header", options.maxHeader, "bytes of a request's header")
      .between(512, 1 << 20)
      .group(group)
      .showDefault();
  struct {
    const char *name;
    int64_t &seconds;
    const char *help;
  } times[] = {
      {"--header-seconds", options.headerSeconds, "for a header to arrive"},
      {"--body-seconds", options.bodySeconds, "for a body to arrive"},
      {"--write-seconds", options.writeSeconds,
       "that a client may take nothing of what waits for it"},
      {"--idle-seconds", options.idleSeconds, "between requests of a connection"},
      {"--comment-seconds", options.commentSeconds,
       "of silence, after which a stream gets a comment"},
  };
  for (auto &time : times)
    app.addOption(time.name, time.seconds, time.help).between(1, 86400).group(group).showDefault();
  app.addOption("--request-seconds", options.requestSeconds,
                "from a request to its last token; 0: for ever")
      .between(0, 86400)
      .group(group)
      .showDefault();
}

bool isGiven(const std::vector<std::string> &arguments, const std::string &name) {
  std::string option = "--" + name;
  return std::any_of(arguments.begin(), arguments.end(), [&](const std::string &argument) {
    return argument == option || argument.starts_with(option + '=');
  });
}

std::string configPath(const std::vector<std::string> &arguments) {
  constexpr std::string_view withValue = "--config=";
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].starts_with(withValue))
      return arguments[i].substr(withValue.size());
    if (arguments[i] == "--config" && i + 1 < arguments.size())
      return arguments[i + 1];
  }
  return {};
}

/// What is wrong with an entry of a file, whatever others say; empty: nothing.
std::string problemOf(const ConfigEntry &entry) {
  if (entry.name == "config")
    return "a file of options names no other one";
  ServerOptions options;
  CommandLine app("", "");
  addServerOptions(app, options);
  std::vector<std::string> names = app.names();
  if (std::find(names.begin(), names.end(), entry.name) == names.end())
    return "there is no option '" + entry.name + "'" + didYouMean(entry.name, names);
  std::vector<std::string> words = {"", "--engine=engine"};
  if (entry.name == "engine")
    words.pop_back();
  for (const std::string &value : entry.values)
    words.push_back("--" + entry.name + '=' + value);
  std::vector<const char *> argv;
  for (const std::string &word : words)
    argv.push_back(word.c_str());
  if (entry.values.empty())
    return "";
  CommandLine::Outcome outcome = app.parse(int(argv.size()), argv.data());
  return outcome.isOfSeveral ? "" : outcome.error;
}

} // namespace

void addServerOptions(CommandLine &app, ServerOptions &options) {
  app.addOption("--engine,engine", options.engine, "engine file")
      .required()
      .file(FileUse::ReadsIfThere);
  addAddressOptions(app, options);
  addDialogueOptions(app, options.dialogue);
  addLimitOptions(app, options);
  app.addOption("--io-threads", options.ioThreads, "threads that read and write connections")
      .between(1, 64)
      .group("Process")
      .showDefault();
  app.addOption(
         "--config", options.configFile,
         "YAML file of options and `engine`, each as `name: value`; those on the command line win")
      .file(FileUse::Reads)
      .group("Process")
      .frequent();
  app.addFlag("--check", options.checksOnly,
              "check options, their files and the address, and end; the engine is not opened")
      .group("Process")
      .frequent();
  app.addFlag("--no-log", options.noLog, "write no line for each request").group("Process");
  addSessionOptions(app, options.session);
}

Status ServerArguments::locate(Status error) const {
  const std::string places = placesOf(error.message(), configFile, settings);
  return places.empty()
             ? error
             : Status::error(error.code(), std::string(error.message()), "see " + places);
}

Result<ServerArguments> withConfigFile(int argc, char **argv) {
  ServerArguments arguments{{argv, argv + argc}, {}, {}};
  arguments.configFile = configPath(arguments.words);
  if (arguments.configFile.empty())
    return arguments;
  const std::string &path = arguments.configFile;
  Result<std::string> text = readTextFile(path, mostConfigBytes);
  if (!text.ok())
    return std::move(text).status();
  Result<std::vector<ConfigEntry>> entries = readConfig(*text);
  if (!entries.ok())
    return std::move(entries).status().in(path);
  std::vector<std::string> ofFile;
  for (ConfigEntry &entry : *entries) {
    if (std::string problem = problemOf(entry); !problem.empty())
      return Status::error("INGOT-E7217",
                           path + ": line " + std::to_string(entry.line) + ": " + problem,
                           "change the line, or leave it out; --help tells all names");
    if (isGiven(arguments.words, entry.name))
      continue;
    for (const std::string &value : entry.values)
      ofFile.push_back("--" + entry.name + '=' + value);
    arguments.settings.push_back(std::move(entry));
  }
  arguments.words.insert(arguments.words.begin() + 1, ofFile.begin(), ofFile.end());
  return arguments;
}

} // namespace ingot::runtime
