// SPDX-License-Identifier: Apache-2.0
// ingot serve: builds a model where that was not done yet, and becomes the server of its engine.
#include "compiler/hub/ModelName.h"
#include "compiler/tools/Commands.h"
#include "compiler/tools/ModelArguments.h"
#include "compiler/tools/PulledModels.h"
#include "runtime/tools/Program.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <llvm/ADT/STLExtras.h>
#include <unistd.h>

using namespace ingot;
using namespace ingot::compiler;

static std::string help() {
  return "Serves a model over HTTP: builds it for this machine where that was not done yet, keeps "
         "the\nengine, and starts `ingot-server` with it.\n"
         "usage: ingot serve MODEL [OPTIONS]\n\n" +
         listOfBuildOptions(kServe) +
         "All other options are those of `ingot-server ENGINE`; see `ingot-server --help`. The "
         "model is\n"
         "called as it is given, or as its folder or file, unless --served-model-name says "
         "otherwise.\n\n"
         "examples:\n"
         "  ingot serve HuggingFaceTB/SmolLM2-135M-Instruct\n"
         "  ingot serve my-model.gguf --recipe int4 --port 8080\n";
}

static constexpr char kNoServer[] = "INGOT-E7221";

/// What clients call a model: its file's or folder's name, or the one it was given by; of an
/// address the end.
static std::string nameOf(const std::string &model) {
  if (hub::isModelName(model) && model.find("://") == model.npos)
    return model;
  std::filesystem::path path = std::filesystem::path(model).lexically_normal();
  if (path.filename().empty())
    path = path.parent_path();
  return path.extension() == ".gguf" ? path.stem() : path.filename();
}

/// Lets the server check its options and end: its status. Whatever it would refuse is refused
/// before an engine is built.
static int checkServer(const std::filesystem::path &server, std::vector<std::string> words) {
  words.insert(words.begin(), {"ingot-server", "--check"});
  std::vector<char *> arguments = argumentVector(words);
  const pid_t child = fork();
  if (child == 0) {
    execv(server.c_str(), arguments.data());
    _exit(cannotStart(kNoServer, server, errno));
  }
  return child < 0 ? cannotStart(kNoServer, server, errno) : statusOfChild(child);
}

int compiler::runServe(int argc, char **argv) {
  if (asksForHelp(argc, argv)) {
    fputs(help().c_str(), stdout);
    return 0;
  }
  if (argc < 2 || argv[1][0] == '-')
    return runtime::reportError(runtime::usageError("ingot serve", kMissingModel));
  ModelArguments parts = splitModelArguments(argc, argv, kServe);
  if (llvm::is_contained(parts.use, "--no-cache"))
    return runtime::reportError(runtime::usageError(
        "ingot serve", "--no-cache: a server's engine is kept; name a folder by --cache"));
  const std::filesystem::path server = programBeside("ingot-server");
  std::vector<std::string> checked = parts.use;
  checked.insert(checked.begin(), argv[1]);
  if (int status = checkServer(server, checked); status || llvm::is_contained(checked, "--check"))
    return status;
  UsedEngine engine;
  if (int status = findOrBuild(parts, kServe, "ingot serve", engine))
    return status;
  bool isNamed = std::any_of(parts.use.begin(), parts.use.end(), [](const std::string &word) {
    return word.starts_with("--served-model-name");
  });
  parts.use.insert(parts.use.begin(), {"ingot-server", engine.path.string()});
  if (!isNamed)
    parts.use.insert(parts.use.end(), {"--served-model-name", nameOf(argv[1])});
  // In place of this process, so that signals reach it and the compiler takes no memory.
  execv(server.c_str(), argumentVector(parts.use).data());
  return cannotStart(kNoServer, server, errno);
}
