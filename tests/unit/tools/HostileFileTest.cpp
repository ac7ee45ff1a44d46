// SPDX-License-Identifier: Apache-2.0
// Every command on files that are no engine, cut short or damaged: an error with a code.
#include "tests/unit/tools/ToolRun.h"

#include <gmock/gmock.h>

using namespace ingot::test;
using testing::HasSubstr;

namespace {

std::vector<std::string> argumentsOf(const std::string &command, const std::string &engine) {
  if (command == "diff")
    return {engine, engine};
  if (command == "eval")
    return {engine, "--text", engine};
  if (command == "generate")
    return {engine, "-p", "a"};
  if (command == "match")
    return {engine, "--regex", engine, "--texts", engine};
  if (command == "template")
    return {engine, "--messages", engine};
  if (command == "tune")
    return {engine, "-o", testing::TempDir() + "no-lockfile"};
  return {engine};
}

void expectRefused(const std::vector<uint8_t> &bytes) {
  TemporaryFile file(bytes);
  for (const ingot::runtime::Command *command = ingot::runtime::allCommands(); command->name;
       ++command) {
    ToolResult result = runTool(command->name, argumentsOf(command->name, file.path()));
    EXPECT_EQ(result.status, std::string(command->name) == "diff" ? 2 : 1) << command->name;
    EXPECT_THAT(result.errors, HasSubstr("error: INGOT-E50")) << command->name;
    EXPECT_EQ(result.output, "") << command->name;
  }
}

} // namespace

TEST(HostileFileTest, NoEngine) {
  expectRefused({});
  expectRefused(std::vector<uint8_t>(5000, 'x'));
}

TEST(HostileFileTest, CutShort) {
  std::vector<uint8_t> engine = makeToyEngine();
  for (size_t size : {size_t(63), size_t(64), size_t(1000), engine.size() / 2, engine.size() - 1})
    expectRefused({engine.begin(), engine.begin() + long(size)});
}

TEST(HostileFileTest, DamagedMetadata) {
  std::vector<uint8_t> engine = makeToyEngine();
  engine[200] ^= 0x40;
  expectRefused(engine);
  // With a digest that fits, the structure itself is refused: the root points outside the file.
  engine = makeToyEngine();
  engine[64] = engine[65] = engine[66] = engine[67] = 0xFF;
  fixMetadataDigest(engine);
  expectRefused(engine);
}

TEST(HostileFileTest, EveryCommandTellsItsOptionsAndRefusesUnknownOnes) {
  for (const ingot::runtime::Command *command = ingot::runtime::allCommands(); command->name;
       ++command) {
    ToolResult help = runTool(command->name, {"--help"});
    EXPECT_EQ(help.status, 0) << command->name;
    EXPECT_THAT(help.output, HasSubstr("engine")) << command->name;
    ToolResult wrong = runTool(command->name, {"--no-such-option"});
    EXPECT_EQ(wrong.status, 2) << command->name;
    EXPECT_THAT(wrong.errors, HasSubstr("INGOT-E2103")) << command->name;
  }
}
