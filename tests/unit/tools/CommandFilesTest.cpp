// SPDX-License-Identifier: Apache-2.0
// What a command may write over, and values that are empty.
#include "runtime/tools/CommandLine.h"
#include "tests/unit/tools/ToolRun.h"

#include <fstream>
#include <gmock/gmock.h>
#include <unistd.h>

using namespace ingot::runtime;
using namespace ingot::test;
using testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

/// An empty folder with a file `a`, removed at the end.
class CommandFilesTest : public testing::Test {
protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "ingot-files-XXXXXX";
    ASSERT_TRUE(mkdtemp(name.data()));
    folder = name;
    std::ofstream(folder / "a") << "text";
  }
  void TearDown() override { fs::remove_all(folder); }

  /// The code with which `first` and then `second` are refused, or "".
  std::string code(FileUse first, const fs::path &one, FileUse second, const fs::path &other) {
    CommandFiles files;
    files.add(first, "--first", one);
    files.add(second, "--second", other);
    message = files.check().toString();
    return message == "ok" ? "" : message.substr(0, 11);
  }
  std::string over(const fs::path &input, const fs::path &output) {
    return code(FileUse::Reads, input, FileUse::Writes, output);
  }

  fs::path folder;
  std::string message;
};

TEST_F(CommandFilesTest, AFileIsTheSameHoweverItIsCalled) {
  const fs::path file = folder / "a";
  fs::create_symlink("a", folder / "link");
  fs::create_symlink(folder / "link", folder / "second");
  fs::create_hard_link(file, folder / "hard");
  fs::create_directory(folder / "inner");
  fs::create_directory_symlink(folder, folder / "around");
  for (const fs::path &other :
       {file, folder / "link", folder / "second", folder / "hard", folder / "." / "a",
        folder / "inner" / ".." / "a", folder / "around" / "a", fs::relative(file)}) {
    EXPECT_EQ(over(file, other), "INGOT-E2163") << other;
    EXPECT_EQ(over(other, file), "INGOT-E2163") << other;
    EXPECT_EQ(code(FileUse::Writes, other, FileUse::Writes, file), "INGOT-E2163") << other;
    EXPECT_THAT(message, HasSubstr("--first " + other.string()));
    EXPECT_THAT(message, HasSubstr("--second " + file.string()));
  }
  EXPECT_EQ(over(file, folder / "b"), "");
  EXPECT_EQ(code(FileUse::Reads, file, FileUse::Reads, folder / "link"), "");
}

TEST_F(CommandFilesTest, WhatIsNotThereYetIsItsFolderAndName) {
  fs::create_directory(folder / "inner");
  fs::create_directory_symlink(folder / "inner", folder / "other");
  fs::create_symlink("inner/new", folder / "link");
  for (const fs::path &other : {folder / "inner" / "new", folder / "other" / "new", folder / "link",
                                folder / "inner" / ".." / "inner" / "new"})
    EXPECT_EQ(code(FileUse::Writes, folder / "inner" / "new", FileUse::Writes, other),
              "INGOT-E2163")
        << other;
  EXPECT_EQ(code(FileUse::Writes, folder / "inner" / "new", FileUse::Writes, folder / "new"), "");
  EXPECT_EQ(code(FileUse::MakesFolder, folder / "x" / "y", FileUse::MakesFolder, folder / "x/y/"),
            "INGOT-E2163");
}

TEST_F(CommandFilesTest, NothingLiesInAFolderForWork) {
  fs::create_directory(folder / "work");
  for (const fs::path &other : {folder / "work", folder / "work" / "model" / "config.json"})
    for (FileUse use : {FileUse::ReadsIfThere, FileUse::Writes})
      EXPECT_EQ(code(use, other, FileUse::WorksIn, folder / "work"), "INGOT-E2163") << other;
  EXPECT_EQ(code(FileUse::Reads, folder / "a", FileUse::WorksIn, folder / "work"), "");
  EXPECT_EQ(code(FileUse::Reads, folder / "a", FileUse::WorksIn, folder / "a.work"), "");
}

TEST_F(CommandFilesTest, WhatCannotBeReadOrWrittenIsNoticedFirst) {
  EXPECT_EQ(over(folder / "absent", folder / "b"), "INGOT-E7101");
  EXPECT_EQ(code(FileUse::ReadsIfThere, folder / "absent", FileUse::Writes, folder / "b"), "");
  EXPECT_EQ(over("-", folder / "b"), "");
  EXPECT_EQ(over(folder / "a", folder / "absent" / "b"), "INGOT-E7103");
  EXPECT_THAT(message, HasSubstr("there is no folder " + (folder / "absent").string()));
  EXPECT_EQ(over(folder / "a", folder / "a" / "b"), "INGOT-E7103");
  EXPECT_EQ(over(folder / "a", folder), "INGOT-E7103");
  EXPECT_EQ(code(FileUse::Reads, folder / "a", FileUse::MakesFolder, folder / "new" / "b"), "");
  // What is no file cannot be written over.
  EXPECT_EQ(code(FileUse::Writes, "/dev/null", FileUse::Writes, "/dev/null"), "");
}

TEST_F(CommandFilesTest, CommandsWriteOverNoneOfTheirFiles) {
  const TemporaryFile engine = toyFile();
  const std::string path = engine.path(), json = (folder / "j").string();
  fs::create_symlink(path, folder / "link");
  const std::string link = folder / "link", text = folder / "a";
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {"tune", {path, "-o", path}},
      {"bench", {path, "--lines", link}},
      {"bench", {"latency", path, "--json", link}},
      {"bench", {"latency", path, "--json", json, "--svg", json}},
      {"bench", {"serve", "--trace", text, "--json", text}},
      {"eval", {path, "--humaneval", text, "--completions", text}},
      {"eval", {path, "--humaneval", text, "--completions", link}},
  };
  const auto size = fs::file_size(path);
  for (const auto &[command, arguments] : cases) {
    const ToolResult result = runTool(command, arguments);
    EXPECT_EQ(result.status, 1) << command;
    EXPECT_THAT(result.errors, HasSubstr("INGOT-E2163")) << command;
    EXPECT_EQ(fs::file_size(path), size);
  }
  EXPECT_FALSE(fs::exists(json));
}

/// Parses `words` with an option of each kind; what is wrong with them.
std::string problemOf(std::vector<std::string> words) {
  CommandLine app("test", "test");
  std::string text, prompt = "none";
  fs::path path;
  std::vector<std::string> texts;
  std::vector<int64_t> list;
  uint64_t bytes = 0;
  double number = 0;
  bool flag = false;
  app.addOption("--text", text, "");
  app.addOption("-p,--prompt", prompt, "").mayBeEmpty();
  app.addOption("--path", path, "");
  app.addOption("--texts", texts, "").oneValueEach();
  app.addOption("--list", list, "").separatedBy(',').positive();
  app.addOption("--bytes", bytes, "").bytes();
  app.addOption("--number", number, "").positive();
  app.addFlag("--flag", flag, "");
  words.insert(words.begin(), "test");
  std::vector<const char *> argv;
  for (const std::string &word : words)
    argv.push_back(word.c_str());
  return app.parse(int(argv.size()), argv.data()).error;
}

TEST(CommandLineTest, EmptyValuesAreNoAbsence) {
  for (const char *option : {"--text", "--path", "--texts", "--list", "--bytes", "--number"}) {
    const std::string name = option;
    EXPECT_THAT(problemOf({name, ""}), HasSubstr(name + ": the value is empty"));
    // Nor is the next word their value.
    EXPECT_THAT(problemOf({name + "="}), HasSubstr(name + ": the value is empty"));
    EXPECT_THAT(problemOf({name + "=", "--flag"}), HasSubstr(name + ": the value is empty"));
    EXPECT_THAT(problemOf({name + "=", "7"}), HasSubstr(name));
  }
  for (const char *list : {",", "1,,2", "1,", ",1"}) {
    EXPECT_THAT(problemOf({"--list", list}), HasSubstr("--list: a value of"));
    EXPECT_THAT(problemOf({std::string("--list=") + list, "--flag"}), HasSubstr("--list"));
  }
  for (const std::vector<std::string> &words :
       std::vector<std::vector<std::string>>{{"--prompt", ""},
                                             {"-p", ""},
                                             {"--prompt=", "--flag"},
                                             {"--text", "--path="},
                                             {"--list", "1,2"},
                                             {"--flag"},
                                             {"--prompt", "--text="}})
    EXPECT_EQ(problemOf(words), "");
}

} // namespace
