// SPDX-License-Identifier: Apache-2.0
// Runs programs of an engine on numbers from a file, for tests that compare what they compute:
//   run-program ENGINE TARGET [--simulate ARCHITECTURE] < COMMANDS
// A command is a line; files hold bytes as they lie in memory:
//   set DIM SIZE | write BUFFER FILE | run PROGRAM | read BUFFER FILE
#include "runtime/devices/OpenDevice.h"
#include "runtime/engine/Executor.h"

#include <fstream>
#include <iostream>
#include <sstream>
#include <vector>

using namespace ingot::runtime;
namespace schema = ingot::schema;

namespace {

int fail(const std::string &what) {
  std::cerr << what << '\n';
  return 1;
}

class Programs {
public:
  explicit Programs(Executor &executor) : executor(executor) {}

  /// What is wrong with a command; empty where it was done.
  std::string perform(const std::string &line) {
    std::istringstream words(line);
    std::string command, name, value;
    words >> command >> name >> value;
    if (command == "set") {
      shape[name] = std::stoll(value);
      std::vector<DimSize> sizes;
      for (const auto &[dim, size] : shape)
        sizes.push_back({dim, size});
      const Status status = executor.beginStep(sizes);
      return status.ok() ? "" : status.toString();
    }
    if (command == "run") {
      std::optional<uint32_t> program = executor.findProgram(name);
      if (!program)
        return "no program " + name;
      executor.run(*program);
      return "";
    }
    const auto *buffers = executor.target().buffers();
    for (uint32_t i = 0; i < buffers->size(); ++i)
      if (buffers->Get(i)->name()->string_view() == name)
        return command == "write" ? write(i, value) : read(i, value);
    return "no buffer " + name;
  }

private:
  std::string write(uint32_t buffer, const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    if (bytes.size() != executor.bufferBytes(buffer))
      return path + " has " + std::to_string(bytes.size()) + " bytes, the buffer " +
             std::to_string(executor.bufferBytes(buffer));
    executor.write(buffer, bytes.data(), bytes.size());
    return "";
  }

  std::string read(uint32_t buffer, const std::string &path) {
    std::vector<char> bytes(executor.bufferBytes(buffer));
    if (Status status = executor.read(buffer, bytes.data(), bytes.size()); !status.ok())
      return status.toString();
    std::ofstream(path, std::ios::binary).write(bytes.data(), std::streamsize(bytes.size()));
    return "";
  }

  Executor &executor;
  std::map<std::string, int64_t> shape;
};

int run(const std::string &path, const std::string &name, const std::string &simulate) {
  auto file = EngineFile::open(path);
  if (!file.ok())
    return fail(file.status().toString());
  const auto *targets = (*file)->metadata().targets();
  uint32_t index = 0;
  while (index < targets->size() && targets->Get(index)->name()->string_view() != name)
    ++index;
  if (index == targets->size())
    return fail("no target " + name);
  const std::string_view architecture = targets->Get(index)->arch()->string_view();
  DeviceRequest wanted;
  wanted.simulate = simulate;
  auto device = openDevice(wanted, {&architecture, 1});
  if (!device.ok())
    return fail(device.status().toString());
  auto plan = planMemory((*file)->metadata(), *targets->Get(index), (*device)->dimension("threads"),
                         MemoryRequest());
  if (!plan.ok())
    return fail(plan.status().toString());
  auto executor = Executor::create(std::move(*file), index, std::move(*device), *plan);
  if (!executor.ok())
    return fail(executor.status().toString());
  Programs programs(**executor);
  for (std::string line; std::getline(std::cin, line);)
    if (const std::string what = programs.perform(line); !what.empty())
      return fail(line + ": " + what);
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 2)
    return run(words[0], words[1], "");
  if (words.size() == 4 && words[2] == "--simulate")
    return run(words[0], words[1], words[3]);
  return fail("usage: run-program ENGINE TARGET [--simulate ARCHITECTURE]");
}
