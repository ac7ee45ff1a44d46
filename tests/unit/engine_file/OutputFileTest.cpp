// SPDX-License-Identifier: Apache-2.0
// OutputFile: contents, alignment, and that nothing but a whole file ever appears.
#include "compiler/engine_file/OutputFile.h"

#include <csignal>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace ingot::compiler;
using ingot::checkpoint::Expected;
using ingot::checkpoint::Outcome;
namespace fs = std::filesystem;

namespace {

std::vector<std::byte> bytesOf(std::string_view text) {
  auto *start = reinterpret_cast<const std::byte *>(text.data());
  return {start, start + text.size()};
}

class OutputFileTest : public testing::Test {
protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "ingot-output-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder = name;
    path = folder / "model.ingot";
  }
  void TearDown() override { fs::remove_all(folder); }

  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const fs::directory_entry &entry : fs::directory_iterator(folder))
      names.push_back(entry.path().filename());
    return names;
  }
  std::string contents() const {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  static std::array<std::byte, OutputFile::headerBytes> header() {
    std::array<std::byte, OutputFile::headerBytes> bytes;
    bytes.fill(std::byte('h'));
    return bytes;
  }

  fs::path folder, path;
};

TEST_F(OutputFileTest, PlacesSectionsAndWritesThemInAnyOrder) {
  Expected<OutputFile> file = OutputFile::create(path);
  ASSERT_TRUE(file);
  Expected<uint32_t> code = file->append("code", SectionKind::Kernels, bytesOf("kernels"));
  Expected<uint32_t> weights = file->reserve("weights", SectionKind::Weights, 6);
  ASSERT_TRUE(code && weights);
  ASSERT_TRUE(file->writeAt(*weights, 3, bytesOf("def")));
  ASSERT_TRUE(file->writeAt(*weights, 0, bytesOf("abc")));
  EXPECT_TRUE(files().empty()) << "nothing may be visible before the end";
  EXPECT_EQ(file->sections()[*code].offset, 64u);
  EXPECT_EQ(file->sections()[*weights].offset, 4096u);
  EXPECT_EQ(file->sections()[*code].digest,
            *ingot::checkpoint::sha256(std::string_view("kernels")));
  uint64_t metadata = file->end();
  EXPECT_EQ(metadata, 4160u);
  ASSERT_TRUE(file->finish(header(), bytesOf("metadata")));

  std::string text = contents();
  ASSERT_EQ(text.size(), metadata + 8);
  EXPECT_EQ(text.substr(0, 64), std::string(64, 'h'));
  EXPECT_EQ(text.substr(64, 7), "kernels");
  EXPECT_EQ(text.substr(71, 4096 - 71), std::string(4096 - 71, '\0'));
  EXPECT_EQ(text.substr(4096, 6), "abcdef");
  EXPECT_EQ(text.substr(metadata), "metadata");
  EXPECT_THAT(files(), testing::ElementsAre("model.ingot"));
}

TEST_F(OutputFileTest, KeepsNothingOfSectionsThatAreRemoved) {
  Expected<OutputFile> file = OutputFile::create(path);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->append("kept", SectionKind::Weights, bytesOf("kept")));
  ASSERT_TRUE(file->append("beside", SectionKind::Weights, std::vector(10000, std::byte('x'))));
  ASSERT_TRUE(file->append("more", SectionKind::Kernels, bytesOf("more")));
  ASSERT_TRUE(file->preview(header(), bytesOf("first")));
  file->removeFrom(1);
  EXPECT_EQ(file->sections().size(), 1u);
  ASSERT_TRUE(file->finish(header(), bytesOf("metadata")));
  EXPECT_EQ(contents(), std::string(64, 'h') + std::string(4096 - 64, '\0') + "kept" +
                            std::string(60, '\0') + "metadata");
}

TEST_F(OutputFileTest, TakesPartsFromSeveralThreads) {
  Expected<OutputFile> file = OutputFile::create(path);
  ASSERT_TRUE(file);
  constexpr size_t parts = 4, partBytes = 10000;
  Expected<uint32_t> section = file->reserve("w", SectionKind::Weights, parts * partBytes);
  ASSERT_TRUE(section);
  std::vector<std::thread> threads;
  for (size_t part = 0; part < parts; ++part)
    threads.emplace_back([&, part] {
      std::vector<std::byte> data(partBytes, std::byte('a' + part));
      EXPECT_TRUE(file->writeAt(*section, part * partBytes, data));
    });
  for (std::thread &thread : threads)
    thread.join();
  ASSERT_TRUE(file->finish(header(), {}));
  std::string text = contents();
  for (size_t part = 0; part < parts; ++part)
    EXPECT_EQ(text.substr(4096 + part * partBytes, partBytes),
              std::string(partBytes, char('a' + part)));
}

TEST_F(OutputFileTest, ReplacesAnExistingFileOnlyAtTheEnd) {
  std::ofstream(path) << "old";
  {
    Expected<OutputFile> discarded = OutputFile::create(path);
    ASSERT_TRUE(discarded);
    ASSERT_TRUE(discarded->append("x", SectionKind::Other, bytesOf("new")));
  }
  EXPECT_EQ(contents(), "old");
  Expected<OutputFile> file = OutputFile::create(path);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->finish(header(), bytesOf("new")));
  EXPECT_EQ(contents(), std::string(64, 'h') + "new");
  EXPECT_THAT(files(), testing::ElementsAre("model.ingot"));
}

TEST_F(OutputFileTest, LeavesNothingWhenKilled) {
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Expected<OutputFile> file = OutputFile::create(path);
    if (file && file->append("x", SectionKind::Other, bytesOf("part")))
      raise(SIGKILL);
    _exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status)) << "the child failed before it could be killed";
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(OutputFileTest, RefusesWhatCannotFit) {
  Expected<OutputFile> upFront = OutputFile::create(path, uint64_t(1) << 49);
  ASSERT_FALSE(upFront);
  EXPECT_EQ(upFront.error().code, "INGOT-E7011");
  EXPECT_THAT(upFront.error().str(), testing::HasSubstr("562949953421312 bytes"));
  Expected<OutputFile> file = OutputFile::create(path);
  ASSERT_TRUE(file);
  for (uint64_t bytes : {uint64_t(1) << 49, UINT64_MAX}) {
    Expected<uint32_t> section = file->reserve("w", SectionKind::Weights, bytes);
    ASSERT_FALSE(section);
    EXPECT_EQ(section.error().code, "INGOT-E7011");
    EXPECT_EQ(section.error().where, path.string());
  }
  EXPECT_TRUE(file->sections().empty());
}

TEST_F(OutputFileTest, ReportsAFileSizeLimit) {
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    rlimit limit = {8192, 8192};
    setrlimit(RLIMIT_FSIZE, &limit);
    Expected<OutputFile> file = OutputFile::create(path);
    Expected<uint32_t> section = file->reserve("w", SectionKind::Weights, 1 << 20);
    _exit(!section && section.error().code == "INGOT-E7011" ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(files().empty());
}

TEST_F(OutputFileTest, RefusesFoldersAndMissingFolders) {
  Expected<OutputFile> folderItself = OutputFile::create(folder);
  ASSERT_FALSE(folderItself);
  EXPECT_EQ(folderItself.error().code, "INGOT-E7010");
  Expected<OutputFile> nowhere = OutputFile::create(folder / "missing" / "a.ingot");
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, "INGOT-E7010");
}

TEST_F(OutputFileTest, RefusesBytesOutsideASection) {
  Expected<OutputFile> file = OutputFile::create(path);
  ASSERT_TRUE(file);
  Expected<uint32_t> section = file->reserve("w", SectionKind::Weights, 4);
  ASSERT_TRUE(section);
  EXPECT_FALSE(file->writeAt(*section, 2, bytesOf("abc")));
  EXPECT_FALSE(file->writeAt(*section, UINT64_MAX, bytesOf("abc")));
}

TEST_F(OutputFileTest, HonoursTheUmask) {
  mode_t before = umask(027);
  Expected<OutputFile> file = OutputFile::create(path);
  ASSERT_TRUE(file);
  Outcome finished = file->finish(header(), {});
  umask(before);
  ASSERT_TRUE(finished);
  struct stat facts;
  ASSERT_EQ(stat(path.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0640u);
}

} // namespace
