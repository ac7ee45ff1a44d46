// SPDX-License-Identifier: Apache-2.0
// What `ingot-server` is told: flags, or a file of them.
#pragma once

#include "runtime/server/ConfigFile.h"
#include "runtime/serving/Loop.h"
#include "runtime/tools/CommandLine.h"
#include "runtime/tools/DialogueArguments.h"

#include <string>
#include <vector>

namespace ingot::runtime {

/// Times are in seconds.
struct ServerOptions {
  std::string engine;
  SessionOptions session;
  LoopOptions loop;

  std::string host = "127.0.0.1";
  int64_t port = 8000;                 ///< 0: one that is free
  std::string unixSocket;              ///< a path; not empty: instead of host and port
  std::vector<std::string> modelNames; ///< empty: the name of the engine's file
  std::string apiKeysFile;
  std::vector<std::string> corsOrigins;  ///< "*": all
  std::vector<std::string> allowedHosts; ///< beside those of AllowedHosts; "*": all
  DialogueArguments dialogue;
  bool noLog = false;
  bool checksOnly = false; ///< end before the engine is opened
  std::string configFile;  ///< read by withConfigFile

  int64_t ioThreads = 2;
  int64_t maxConnections = 4096;
  uint64_t maxBody = 0; ///< bytes; 0: 4 MiB, or 32 MiB of an engine that takes pictures
  uint64_t maxBodies = uint64_t(256) << 20; ///< bytes of all bodies that are being received
  int64_t maxHeader = 16 << 10;             ///< bytes
  int64_t headerSeconds = 10;
  int64_t bodySeconds = 60;
  int64_t writeSeconds = 60;       ///< that a client may take nothing of what waits for it
  int64_t idleSeconds = 75;        ///< between requests of a connection
  int64_t maxReasoningTokens = -1; ///< of an answer; -1: no limit
  int64_t requestSeconds = 0;      ///< from a request to its last token; 0: for ever
  int64_t commentSeconds = 15;     ///< of silence, after which a stream gets a comment

  uint64_t mostThought() const {
    return maxReasoningTokens < 0 ? guided::AnswerMarkers::unlimited : uint64_t(maxReasoningTokens);
  }
};

/// Adds all options; parsing fills `options`, which must outlive `app`.
void addServerOptions(CommandLine &app, ServerOptions &options);

/// The command line with what the file of --config says before it, but for options that are given
/// on the command line too.
struct ServerArguments {
  std::vector<std::string> words;
  std::string configFile;            ///< empty: none
  std::vector<ConfigEntry> settings; ///< what the words have of it

  /// The same error with the lines of the file that it comes from.
  Status locate(Status error) const;
};

/// INGOT-E7101: no such file. INGOT-E7217: a line of it.
Result<ServerArguments> withConfigFile(int argc, char **argv);

} // namespace ingot::runtime
