// SPDX-License-Identifier: Apache-2.0
// FileDigests: what is read again, and what is not.
#include "compiler/build/FileDigests.h"

#include "codegen/FileStamp.h"

#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>

using namespace ingot;
using codegen::FileStamp;
using compiler::FileDigests;
namespace fs = std::filesystem;

namespace {

class FileDigestsTest : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "ingot-digests-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    auto opened = codegen::BuildCache::open((folder / "cache").string());
    ASSERT_TRUE(bool(opened));
    cache = std::move(*opened);
  }
  void TearDown() override { fs::remove_all(folder); }

  /// A file that says nothing of its age.
  fs::path write(const char *name, const std::string &content) {
    std::ofstream(folder / name) << content;
    timespec times[] = {{1'000'000'000, 0}, {1'000'000'000, 0}};
    EXPECT_EQ(utimensat(AT_FDCWD, (folder / name).c_str(), times, 0), 0);
    return folder / name;
  }
  /// Whether a new process has the right digest, and how many files it reads for it.
  size_t readsOf(const fs::path &file, const std::string &content) {
    FileDigests digests(cache.get());
    auto digest = digests.of(file);
    EXPECT_TRUE(digest && *digest == *checkpoint::sha256(content)) << content;
    EXPECT_TRUE(bool(digests.of(file)));
    return digests.filesRead();
  }

  fs::path folder;
  std::unique_ptr<codegen::BuildCache> cache;
};

TEST_F(FileDigestsTest, ReadsWhatChanged) {
  fs::path file = write("a", "one");
  EXPECT_EQ(readsOf(file, "one"), 1u);
  EXPECT_EQ(readsOf(file, "one"), 0u);
  // In its place, with equal size and time.
  write("a", "two");
  EXPECT_EQ(readsOf(file, "two"), 1u);
  EXPECT_EQ(readsOf(file, "two"), 0u);
  // Another file of its name.
  fs::rename(write("b", "one"), file);
  EXPECT_EQ(readsOf(file, "one"), 1u);
  // The same content with another stamp, which is kept.
  fs::permissions(file, fs::perms::owner_read);
  EXPECT_EQ(readsOf(file, "one"), 1u);
  EXPECT_EQ(readsOf(file, "one"), 0u);
  fs::create_symlink(file, folder / "link");
  EXPECT_EQ(readsOf(folder / "link", "one"), 0u);
}

TEST_F(FileDigestsTest, RefusesWhatItDidNotWrite) {
  fs::path file = write("a", "one");
  const std::string key = codegen::CacheKey().add(fs::canonical(file).string()).text();
  const std::string stamp = FileStamp::of(file.string())->text();
  const std::string digest = checkpoint::hex(*checkpoint::sha256("one"));
  for (const std::string &entry :
       {std::string(), stamp, stamp + "\n", stamp + "\n" + digest.substr(2),
        stamp + "\nzz" + digest.substr(2), "0 " + stamp + "\n" + digest}) {
    cache->put("file-digest", key, entry);
    EXPECT_EQ(readsOf(file, "one"), 1u) << entry;
  }
}

TEST_F(FileDigestsTest, ReadsSeveralAtOnce) {
  std::vector<fs::path> files = {write("a", "one"), write("b", "two"), folder / "none"};
  FileDigests digests(cache.get());
  EXPECT_TRUE(bool(digests.of(files[0])));
  std::vector<std::pair<size_t, size_t>> reported;
  auto report = [&](size_t done, size_t count) { reported.push_back({done, count}); };
  digests.read(files, 2, report);
  EXPECT_EQ(reported, (std::vector<std::pair<size_t, size_t>>{{0, 1}, {1, 1}}));
  digests.read(files, 2, report);
  EXPECT_EQ(reported.size(), 2u);
  EXPECT_EQ(digests.filesRead(), 2u);
  EXPECT_FALSE(bool(digests.of(files[2])));
  // Without a cache it knows what it has read itself.
  FileDigests own(nullptr);
  EXPECT_TRUE(own.of(files[0]) && own.of(files[0]));
  EXPECT_EQ(own.filesRead(), 1u);
}

TEST_F(FileDigestsTest, StampsOfNow) {
  FileStamp stamp;
  EXPECT_TRUE(stamp.settles());
  clock_gettime(CLOCK_REALTIME, &stamp.changed);
  stamp.changed.tv_sec += 100;
  EXPECT_FALSE(stamp.settles());
  EXPECT_FALSE(FileStamp::of((folder / "none").string()).has_value());
}

} // namespace
