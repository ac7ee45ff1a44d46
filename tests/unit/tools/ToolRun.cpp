// SPDX-License-Identifier: Apache-2.0
// Arguments, capture and temporary files.
#include "tests/unit/tools/ToolRun.h"

#include <cstdio>
#include <gtest/gtest.h>
#include <unistd.h>

namespace ingot::test {

ToolResult runTool(const std::string &name, const std::vector<std::string> &arguments) {
  const runtime::Command *command = runtime::findCommand(name.c_str());
  if (!command) {
    ADD_FAILURE() << "no command " << name;
    return {-1, "", ""};
  }
  std::vector<std::string> words = {"ingot-run " + name};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char *> argv;
  for (std::string &word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  int status = command->run(int(words.size()), argv.data());
  ToolResult result = {status, testing::internal::GetCapturedStdout(), ""};
  result.errors = testing::internal::GetCapturedStderr();
  return result;
}

TemporaryFile::TemporaryFile(const std::vector<uint8_t> &bytes) {
  name = testing::TempDir() + "ingot-tools-XXXXXX";
  int descriptor = mkstemp(name.data());
  EXPECT_GE(descriptor, 0);
  EXPECT_EQ(write(descriptor, bytes.data(), bytes.size()), ssize_t(bytes.size()));
  close(descriptor);
}

TemporaryFile::TemporaryFile(const std::string &text)
    : TemporaryFile(std::vector<uint8_t>(text.begin(), text.end())) {}

TemporaryFile::~TemporaryFile() { unlink(name.c_str()); }

TemporaryFile toyFile(const ToyOptions &options) { return TemporaryFile(makeToyEngine(options)); }

} // namespace ingot::test
