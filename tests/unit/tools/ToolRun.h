// SPDX-License-Identifier: Apache-2.0
// Runs a command of runtime/tools inside the test, and keeps engines in temporary files.
#pragma once

#include "runtime/tools/Commands.h"
#include "tests/unit/engine/ToyEngine.h"

#include <nlohmann/json.hpp>

namespace ingot::test {

struct ToolResult {
  int status;
  std::string output, errors;

  nlohmann::json json() const { return nlohmann::json::parse(output, nullptr, false); }
};

/// Runs the command of that name as "ingot-run NAME ARGUMENTS...".
ToolResult runTool(const std::string &name, const std::vector<std::string> &arguments);

/// A file of these bytes that is removed with the object.
class TemporaryFile {
public:
  explicit TemporaryFile(const std::vector<uint8_t> &bytes);
  explicit TemporaryFile(const std::string &text);
  TemporaryFile(const TemporaryFile &) = delete;
  ~TemporaryFile();
  const std::string &path() const { return name; }

private:
  std::string name;
};

/// A toy engine in a file.
TemporaryFile toyFile(const ToyOptions &options = {});

} // namespace ingot::test
