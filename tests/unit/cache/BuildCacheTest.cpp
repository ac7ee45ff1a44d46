// SPDX-License-Identifier: Apache-2.0
// BuildCache: whose folders it uses, what it takes for an entry, what it removes.
#include "codegen/BuildCache.h"

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace ingot::codegen;
using testing::HasSubstr;
using testing::StartsWith;
namespace fs = std::filesystem;

namespace {

constexpr const char *kKind = "test-kind";
/// Bytes of an entry's file before its content.
constexpr uint64_t kHead = 56;

std::string keyOf(const std::string &text) { return CacheKey().add(text).text(); }

std::string errorOf(llvm::Expected<std::unique_ptr<BuildCache>> opened) {
  return opened ? "" : llvm::toString(opened.takeError());
}

class BuildCacheTest : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "ingot-cache-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    home = pattern;
    folder = home / "a" / "cache";
  }
  void TearDown() override { fs::remove_all(home); }

  std::unique_ptr<BuildCache> open(uint64_t limit = BuildCache::kDefaultLimit, uint64_t kept = 0) {
    return llvm::cantFail(BuildCache::open(folder.string(), limit, kept));
  }

  fs::path fileOf(const std::string &name) const {
    return folder / kKind / (keyOf(name) + ".ingot-entry");
  }

  /// Makes the file `age` seconds old.
  static void setAge(const fs::path &file, int64_t age) {
    timespec times[2] = {{time(nullptr) - age, 0}, {time(nullptr) - age, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, file.c_str(), times, 0), 0);
  }

  size_t filesIn(const fs::path &path) const {
    return size_t(std::distance(fs::directory_iterator(path), fs::directory_iterator()));
  }

  fs::path home, folder;
};

TEST(CacheKey, knowsWherePartsEnd) {
  EXPECT_EQ(CacheKey().add("ab").add("c").text(), CacheKey().add("ab").add("c").text());
  EXPECT_NE(CacheKey().add("ab").add("c").text(), CacheKey().add("a").add("bc").text());
  EXPECT_NE(CacheKey().add("").text(), CacheKey().text());
  EXPECT_EQ(CacheKey().text().size(), 64u);
}

TEST_F(BuildCacheTest, keepsEntriesByKindAndKey) {
  std::string bytes("a\0b", 3);
  auto cache = open();
  EXPECT_EQ(cache->get(kKind, keyOf("one")), std::nullopt);
  cache->put(kKind, keyOf("one"), bytes);
  cache->put("other-kind", keyOf("one"), "");
  EXPECT_EQ(cache->get(kKind, keyOf("one")), bytes);
  EXPECT_EQ(open()->get("other-kind", keyOf("one")), "");
  EXPECT_EQ(open()->get(kKind, keyOf("two")), std::nullopt);
  EXPECT_EQ(cache->hits(), 1u);
  EXPECT_EQ(cache->misses(), 1u);
}

TEST_F(BuildCacheTest, makesWhatIsMissingOnce) {
  auto cache = open();
  int made = 0;
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(llvm::cantFail(cachedOrMade(*cache, kKind, keyOf("one"),
                                          [&]() -> llvm::Expected<std::string> {
                                            ++made;
                                            return "bytes";
                                          })),
              "bytes");
  EXPECT_EQ(made, 1);
  auto failed = cachedOrMade(*cache, kKind, keyOf("two"), []() -> llvm::Expected<std::string> {
    return llvm::createStringError("no");
  });
  EXPECT_EQ(llvm::toString(failed.takeError()), "no");
  EXPECT_EQ(cache->get(kKind, keyOf("two")), std::nullopt);
}

TEST_F(BuildCacheTest, foldersAreMadeForTheirOwnerAlone) {
  open()->put(kKind, keyOf("one"), "bytes");
  for (const fs::path &path : {folder.parent_path(), folder, folder / kKind}) {
    struct stat facts;
    ASSERT_EQ(stat(path.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 07777, 0700u) << path;
  }
  struct stat facts;
  ASSERT_EQ(stat(fileOf("one").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0600u);
}

TEST_F(BuildCacheTest, foldersThatOthersMayWriteAreRefused) {
  open();
  for (mode_t mode : {0770, 0702, 01777}) {
    ASSERT_EQ(chmod(folder.c_str(), mode), 0);
    EXPECT_THAT(errorOf(BuildCache::open(folder.string())),
                testing::AllOf(StartsWith("INGOT-E7040: "), HasSubstr(folder.string()),
                               HasSubstr("others may write"), HasSubstr("--cache")));
  }
  ASSERT_EQ(chmod(folder.c_str(), 0755), 0);
  EXPECT_EQ(errorOf(BuildCache::open(folder.string())), "");
}

TEST_F(BuildCacheTest, foldersOfOthersAreRefused) {
  std::string others = "/";
  if (geteuid() == 0) {
    open();
    ASSERT_EQ(chown(folder.c_str(), 12345, 12345), 0);
    others = folder;
  }
  EXPECT_THAT(errorOf(BuildCache::open(others)),
              testing::AllOf(StartsWith("INGOT-E7040: "), HasSubstr("belongs to user")));
}

TEST_F(BuildCacheTest, whatIsNoFolderIsRefused) {
  fs::create_directories(folder.parent_path());
  std::ofstream(folder) << "text";
  EXPECT_THAT(errorOf(BuildCache::open(folder.string())), StartsWith("INGOT-E7041: "));
  EXPECT_THAT(errorOf(BuildCache::open((folder / "below").string())), StartsWith("INGOT-E7041: "));
}

TEST_F(BuildCacheTest, aChoiceIsAnErrorOrAReason) {
  setenv("XDG_CACHE_HOME", home.c_str(), 1);
  std::string why;
  auto cache = llvm::cantFail(BuildCache::open(BuildCache::Choice{}, why));
  EXPECT_EQ(cache->folder(), home / "ingot");
  EXPECT_EQ(why, "");
  EXPECT_EQ(llvm::cantFail(BuildCache::open(BuildCache::Choice{.folder = folder}, why))->folder(),
            folder);
  // The default folder is left alone, one that was asked for must do.
  ASSERT_EQ(chmod((home / "ingot").c_str(), 0777), 0);
  EXPECT_EQ(llvm::cantFail(BuildCache::open(BuildCache::Choice{}, why)), nullptr);
  EXPECT_THAT(why, StartsWith("INGOT-E7040: "));
  EXPECT_THAT(errorOf(BuildCache::open(BuildCache::Choice{.folder = home / "ingot"}, why)),
              StartsWith("INGOT-E7040: "));
  BuildCache::Choice none;
  none.none = true;
  EXPECT_EQ(llvm::cantFail(BuildCache::open(none, why)), nullptr);
  EXPECT_EQ(why, "--no-cache");
  // Relative paths in these variables mean nothing.
  setenv("XDG_CACHE_HOME", "here", 1);
  setenv("HOME", home.c_str(), 1);
  EXPECT_EQ(BuildCache::defaultFolder(), home / ".cache" / "ingot");
  unsetenv("HOME");
  EXPECT_EQ(llvm::cantFail(BuildCache::open(BuildCache::Choice{}, why)), nullptr);
  EXPECT_THAT(why, HasSubstr("HOME"));
}

TEST_F(BuildCacheTest, everyDamageIsAMissAndIsRemoved) {
  std::string bytes(100, 'x');
  auto cache = open();
  for (uint64_t at = 0; at < kHead + bytes.size(); ++at) {
    cache->put(kKind, keyOf("one"), bytes);
    ASSERT_EQ(fs::file_size(fileOf("one")), kHead + bytes.size());
    std::fstream file(fileOf("one"), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(long(at));
    char was = char(file.get());
    file.seekp(long(at));
    file.put(char(was ^ 1));
    file.close();
    EXPECT_EQ(cache->get(kKind, keyOf("one")), std::nullopt) << "byte " << at;
    EXPECT_FALSE(fs::exists(fileOf("one"))) << "byte " << at;
  }
}

TEST_F(BuildCacheTest, everyOtherLengthIsAMiss) {
  std::string bytes(10, 'x');
  auto cache = open();
  for (uint64_t size = 0; size < kHead + 2 * bytes.size(); ++size) {
    if (size == kHead + bytes.size())
      continue;
    cache->put(kKind, keyOf("one"), bytes);
    fs::resize_file(fileOf("one"), size);
    EXPECT_EQ(cache->get(kKind, keyOf("one")), std::nullopt) << size;
    EXPECT_FALSE(fs::exists(fileOf("one"))) << size;
  }
}

TEST_F(BuildCacheTest, anEntryUnderAnotherNameIsNone) {
  auto cache = open();
  cache->put(kKind, keyOf("one"), "bytes");
  fs::copy_file(fileOf("one"), fileOf("two"));
  EXPECT_EQ(cache->get(kKind, keyOf("two")), std::nullopt);
  fs::create_directories(folder / "kind2");
  fs::copy_file(fileOf("one"), folder / "kind2" / fileOf("one").filename());
  EXPECT_EQ(cache->get("kind2", keyOf("one")), std::nullopt);
  EXPECT_EQ(cache->get(kKind, keyOf("one")), "bytes");
}

TEST_F(BuildCacheTest, linksAndPipesAreNoEntries) {
  auto cache = open();
  cache->put(kKind, keyOf("one"), "bytes");
  fs::rename(fileOf("one"), home / "elsewhere");
  fs::create_symlink(home / "elsewhere", fileOf("one"));
  EXPECT_EQ(cache->get(kKind, keyOf("one")), std::nullopt);
  ASSERT_EQ(mkfifo(fileOf("two").c_str(), 0600), 0);
  EXPECT_EQ(cache->get(kKind, keyOf("two")), std::nullopt);
  cache->put(kKind, keyOf("one"), "new");
  EXPECT_EQ(cache->get(kKind, keyOf("one")), "new");
}

TEST_F(BuildCacheTest, whatIsNotUsedForLongestGoesFirst) {
  constexpr uint64_t size = 1000 + kHead;
  const std::string bytes(1000, 'x');
  const std::vector<std::string> names = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
  auto cache = open(10 * size);
  for (const std::string &name : names)
    cache->put(kKind, keyOf(name), bytes);
  for (size_t i = 0; i < names.size(); ++i)
    setAge(fileOf(names[i]), 1000 - int64_t(i));
  EXPECT_TRUE(cache->get(kKind, keyOf("a"))); // a use, so b and c are the oldest
  cache->put(kKind, keyOf("k"), bytes);
  std::string left;
  for (const std::string &name : {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"})
    left += cache->get(kKind, keyOf(name)) ? name : "";
  EXPECT_EQ(left, "adefghijk"); // down to 90 %
}

TEST_F(BuildCacheTest, theBoundIsOfAllKindsAndOfWhatIsThere) {
  constexpr uint64_t size = 1000 + kHead;
  const std::string bytes(1000, 'x');
  for (int i = 0; i < 20; ++i)
    open()->put(i % 2 ? kKind : "other-kind", keyOf(std::to_string(i)), bytes);
  auto total = [&] {
    uint64_t sum = 0;
    for (const BuildCache::Kind &kind : open()->kinds())
      sum += kind.bytes;
    return sum;
  };
  EXPECT_EQ(total(), 20 * size);
  open(10 * size)->put(kKind, keyOf("more"), bytes);
  EXPECT_EQ(total(), 9 * size);
  EXPECT_TRUE(open()->get(kKind, keyOf("more")));
  // What alone is more than the bound is not kept, and takes no other's place.
  open(10 * size)->put(kKind, keyOf("large"), std::string(10 * size, 'x'));
  EXPECT_EQ(total(), 9 * size);
}

TEST_F(BuildCacheTest, writersSideBySideLeaveWholeEntries) {
  constexpr int processes = 4, entries = 60;
  auto bytesOf = [](int i) { return std::string(size_t(5000 + i), char('a' + i % 26)); };
  std::vector<pid_t> children;
  for (int child = 0; child < processes; ++child) {
    pid_t pid = fork();
    if (pid == 0) {
      auto cache = open(200 * 1000); // less than all of them
      bool right = true;
      for (int i = 0; i < entries; ++i) {
        cache->put(kKind, keyOf(std::to_string(i)), bytesOf(i));
        int other = (i * 7 + child) % entries;
        if (auto bytes = cache->get(kKind, keyOf(std::to_string(other))))
          right &= *bytes == bytesOf(other);
      }
      _exit(right ? 0 : 1);
    }
    children.push_back(pid);
  }
  for (pid_t pid : children) {
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  auto cache = open(200 * 1000);
  cache->put(kKind, keyOf("last"), "bytes");
  ASSERT_EQ(cache->kinds().size(), 1u);
  EXPECT_LE(cache->kinds().front().bytes, 200u * 1000);
  EXPECT_GE(cache->kinds().front().entries, 20u);
  EXPECT_EQ(filesIn(folder / kKind), cache->kinds().front().entries); // no other files
}

TEST_F(BuildCacheTest, threadsShareOne) {
  auto cache = open(BuildCache::kDefaultLimit, 1 << 20);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        std::string name = std::to_string(i);
        cache->put(kKind, keyOf(name), name);
        EXPECT_EQ(cache->get(kKind, keyOf(name)), name);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(cache->hits(), 200u);
  EXPECT_EQ(cache->kinds().front().entries, 50u);
}

TEST_F(BuildCacheTest, aKilledWriterLeavesNoEntry) {
  pid_t pid = fork();
  if (pid == 0) {
    auto cache = open();
    for (int i = 0;; ++i)
      cache->put(kKind, keyOf(std::to_string(i % 10)), std::string(2 << 20, char('a' + i % 10)));
  }
  while (!fs::exists(folder / kKind) || filesIn(folder / kKind) < 3)
    std::this_thread::yield();
  kill(pid, SIGKILL);
  ASSERT_EQ(waitpid(pid, nullptr, 0), pid);
  auto cache = open();
  size_t whole = 0;
  for (int i = 0; i < 10; ++i)
    if (fs::exists(fileOf(std::to_string(i)))) {
      EXPECT_EQ(cache->get(kKind, keyOf(std::to_string(i))),
                std::string(2 << 20, char('a' + i % 10)));
      ++whole;
    }
  EXPECT_GE(whole, 1u);
}

TEST_F(BuildCacheTest, partsThatWereAbandonedAreRemoved) {
  open()->put(kKind, keyOf("one"), "bytes");
  fs::path old = fileOf("one").string() + ".0123.ingot-part",
           fresh = fileOf("one").string() + ".4567.ingot-part",
           alien = folder / kKind / "notes.txt";
  for (const fs::path &path : {old, fresh, alien})
    std::ofstream(path) << "half";
  setAge(old, 25 * 60 * 60);
  setAge(alien, 25 * 60 * 60);
  open()->put(kKind, keyOf("two"), "bytes"); // the first one looks
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(fresh));
  EXPECT_TRUE(fs::exists(alien));
}

TEST_F(BuildCacheTest, memoryAnswersWithoutTheFolder) {
  auto cache = open(BuildCache::kDefaultLimit, 10);
  cache->put(kKind, keyOf("small"), "12345");
  cache->put(kKind, keyOf("large"), "1234567890");
  fs::remove_all(folder / kKind);
  EXPECT_EQ(cache->get(kKind, keyOf("small")), "12345");
  EXPECT_EQ(cache->get(kKind, keyOf("large")), std::nullopt);
}

TEST_F(BuildCacheTest, aFolderThatCannotBeWrittenKeepsNothing) {
  auto cache = open();
  fs::remove_all(folder);
  cache->put(kKind, keyOf("one"), "bytes");
  EXPECT_EQ(cache->get(kKind, keyOf("one")), std::nullopt);
}

TEST_F(BuildCacheTest, clearingRemovesEntriesAlone) {
  auto cache = open(BuildCache::kDefaultLimit, 1000);
  cache->put(kKind, keyOf("one"), "12345");
  cache->put("other-kind", keyOf("two"), "");
  setAge(fileOf("one"), 100);
  std::ofstream(folder / kKind / "notes.txt") << "mine";
  std::ofstream(folder / "notes.txt") << "mine";
  std::vector<BuildCache::Kind> kinds = cache->kinds();
  ASSERT_EQ(kinds.size(), 2u);
  EXPECT_EQ(kinds[1].name, kKind);
  EXPECT_EQ(kinds[1].entries, 1u);
  EXPECT_EQ(kinds[1].bytes, kHead + 5);
  EXPECT_NEAR(double(time(nullptr) - kinds[1].oldestUse), 100, 5);
  EXPECT_NEAR(double(time(nullptr) - kinds[0].newestUse), 0, 5);
  BuildCache::Kind removed = cache->clear();
  EXPECT_EQ(removed.entries, 2u);
  EXPECT_EQ(removed.bytes, 2 * kHead + 5);
  EXPECT_EQ(cache->get(kKind, keyOf("one")), std::nullopt);
  EXPECT_TRUE(fs::exists(folder / "notes.txt"));
  EXPECT_TRUE(fs::exists(folder / kKind / "notes.txt"));
  EXPECT_FALSE(fs::exists(folder / "other-kind"));
}

} // namespace
