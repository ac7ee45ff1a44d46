// SPDX-License-Identifier: Apache-2.0
// Runs `ingot build` and keeps what it made until the program ends.
#include "tests/e2e/BuiltEngines.h"

#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <iostream>
#include <map>
#include <spawn.h>
#include <sstream>
#include <stdexcept>
#include <sys/wait.h>

extern char **environ;

namespace ingot::e2e {
namespace {

/// A folder of this process, removed with everything in it.
class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "ingot-e2e-XXXXXX").string();
    if (!mkdtemp(name.data()))
      throw std::runtime_error("cannot make " + name);
    folder = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  const std::filesystem::path &path() const { return folder; }

private:
  std::filesystem::path folder;
};

/// Runs a program with its output in `log`; returns its exit status, or -1 if a signal ended it.
int run(const std::vector<std::string> &command, const std::filesystem::path &log) {
  std::vector<char *> arguments;
  for (const std::string &word : command)
    arguments.push_back(const_cast<char *>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  int failed = posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed)
    throw std::runtime_error("cannot start " + command[0]);
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
    return -1;
  return WEXITSTATUS(status);
}

} // namespace

std::filesystem::path builtEngine(const EngineRecipe &wanted) {
  static TemporaryFolder folder;
  static std::map<std::string, std::filesystem::path> known;

  std::string key = wanted.model.string() + "\n" + wanted.target + "\n" + wanted.recipe;
  for (const std::string &option : wanted.options)
    key += "\n" + option;
  auto [entry, isNew] = known.try_emplace(key);
  if (!isNew)
    return entry->second;

  std::filesystem::path stem = folder.path() / std::to_string(known.size());
  std::filesystem::path engine = stem.string() + ".ingot", recipe = stem.string() + ".yaml";
  std::vector<std::string> command{INGOT_PROGRAMS "/ingot", "build", wanted.model, "-o", engine};
  if (wanted.target != hostTarget)
    command.insert(command.end(), {"--target", wanted.target});
  if (!wanted.recipe.empty()) {
    std::ofstream(recipe) << wanted.recipe;
    command.insert(command.end(), {"--recipe", recipe});
  }
  command.insert(command.end(), wanted.options.begin(), wanted.options.end());
  std::filesystem::path log = stem.string() + ".log";
  int status = run(command, log);
  std::string said = readText(log);
  if (status != 0) {
    known.erase(entry);
    throw std::runtime_error("ingot build " + wanted.model.string() + " for " + wanted.target +
                             " ended with " + std::to_string(status) + ":\n" + said);
  }
  std::cout << said << std::flush; // among it the seconds of its stages, for tests/time_spent.py
  return entry->second = engine;
}

std::filesystem::path fablesModel() {
  return std::filesystem::path(INGOT_SOURCE_DIR) / "examples/fables/model";
}

std::filesystem::path sharedData(std::string_view name) {
  std::filesystem::path path = std::filesystem::path(INGOT_SHARED_DIR) / "data" / name;
  return std::filesystem::exists(path) ? path : std::filesystem::path();
}

std::string readText(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf()))
    throw std::runtime_error("cannot read " + path.string());
  return std::move(text).str();
}

} // namespace ingot::e2e
