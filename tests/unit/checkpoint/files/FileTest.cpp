// SPDX-License-Identifier: Apache-2.0
// File, readText, the digests, and the text form of errors.
#include "compiler/checkpoint/files/File.h"
#include "compiler/checkpoint/files/Digest.h"
#include "compiler/checkpoint/files/NearestName.h"
#include "tests/unit/checkpoint/Fixtures.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <vector>

using namespace ingot::checkpoint;
using namespace ingot::test;

static std::string readBytes(const File &file, uint64_t offset, size_t count) {
  std::string out(count, '\0');
  EXPECT_TRUE(succeeds(file.readAt(offset, std::as_writable_bytes(std::span(out)))));
  return out;
}

TEST(File, ReadsAtAnyOffset) {
  TemporaryDirectory directory;
  auto file = File::open(directory.write("a", "0123456789"));
  ASSERT_TRUE(succeeds(file));
  EXPECT_EQ(file->size(), 10u);
  EXPECT_EQ(readBytes(*file, 0, 10), "0123456789");
  EXPECT_EQ(readBytes(*file, 7, 3), "789");
  EXPECT_EQ(readBytes(*file, 10, 0), "");
}

TEST(File, StaysUsableWhenMoved) {
  TemporaryDirectory directory;
  auto file = File::open(directory.write("a", "first"));
  auto other = File::open(directory.write("b", "second"));
  ASSERT_TRUE(file && other);
  File moved = *std::move(file);
  EXPECT_EQ(readBytes(moved, 0, 5), "first");
  moved = *std::move(other);
  EXPECT_EQ(readBytes(moved, 0, 6), "second");
}

TEST(File, RefusesWhatIsNoRegularFile) {
  TemporaryDirectory directory;
  EXPECT_TRUE(failsWith(File::open(directory.path() / "absent"), "INGOT-E7001", {"absent"}));
  EXPECT_TRUE(failsWith(File::open(directory.path()), "INGOT-E7002"));
  std::string fifo = directory.path() / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_TRUE(failsWith(File::open(fifo), "INGOT-E7002", {"fifo"}));
}

TEST(File, NamesWhatGitLfsLeavesInItsPlace) {
  TemporaryDirectory directory;
  std::string pointer = "version https:"
                        "//git-lfs.github.com/spec/v1\n"
                        "oid sha256:" +
                        std::string(64, 'a') + "\nsize 4997744872\n";
  auto file = File::open(directory.write("model.safetensors", pointer));
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, "INGOT-E7007");
  // A longer file that begins so is a file.
  EXPECT_TRUE(succeeds(File::open(directory.write("notes", pointer + std::string(2000, 'x')))));
}

TEST(File, NoticesThatBytesAreMissing) {
  TemporaryDirectory directory;
  auto path = directory.write("a", "0123456789");
  auto file = File::open(path);
  ASSERT_TRUE(succeeds(file));
  std::vector<std::byte> five(5);
  EXPECT_TRUE(failsWith(file->readAt(6, five), "INGOT-E7004", {"byte 6"}));
  EXPECT_TRUE(failsWith(file->readAt(UINT64_MAX, five), "INGOT-E7004"));
  std::filesystem::resize_file(path, 4);
  EXPECT_TRUE(failsWith(file->readAt(2, five), "INGOT-E7004", {"ends at byte 4"}));
}

TEST(File, ReportsTheSystemsReason) {
  TemporaryDirectory directory;
  auto file = File::open(directory.write("a", "0123456789"));
  ASSERT_TRUE(succeeds(file));
  // The kernel cannot write to a page that allows no access.
  void *page = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  EXPECT_TRUE(failsWith(file->readAt(0, {static_cast<std::byte *>(page), 4}), "INGOT-E7003",
                        {"Bad address"}));
  ::munmap(page, 4096);
}

TEST(ReadText, KeepsToItsLimit) {
  TemporaryDirectory directory;
  auto path = directory.write("a", "0123456789");
  auto text = readText(path, 10);
  ASSERT_TRUE(succeeds(text));
  EXPECT_EQ(*text, "0123456789");
  EXPECT_TRUE(failsWith(readText(path, 9), "INGOT-E7005", {"10 bytes", "at most 9"}));
}

// FIPS 180-4 example values.
TEST(Digest, EqualsThePublishedVectors) {
  auto hexOf = [](std::string_view text) { return hex(*sha256(text)); };
  EXPECT_EQ(hexOf(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hexOf("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hexOf(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Digest, OfAFileIsThatOfItsBytes) {
  TemporaryDirectory directory;
  std::string content((size_t{2} << 20) + 17, 'x'); // two pieces and a rest
  content[content.size() / 2] = 'y';
  auto ofFile = sha256OfFile(directory.write("a", content));
  ASSERT_TRUE(succeeds(ofFile));
  EXPECT_EQ(hex(*ofFile), hex(*sha256(content)));
  EXPECT_TRUE(failsWith(sha256OfFile(directory.path() / "absent"), "INGOT-E7001"));
}

TEST(Digest, FinishesOnce) {
  Sha256 sha;
  ASSERT_TRUE(succeeds(sha.finish()));
  EXPECT_TRUE(failsWith(sha.finish(), "INGOT-E7006"));
}

TEST(Error, IsOneLineWhateverTheInput) {
  Error error{"INGOT-E1001", "bad " + inQuotes("a\nb\"\x1b[31m"), "file:1:2", "mend it"};
  EXPECT_EQ(error.str(), "INGOT-E1001: bad \"a\\x0ab\\x22\\x1b[31m\" (file:1:2); mend it");
  EXPECT_LT(printable(std::string(100000, '\x01')).size(), 1000u);
}

TEST(Error, MessagesJoinTextAndNumbers) {
  EXPECT_EQ(message("a ", 1, " ", UINT64_MAX, " ", -2, " ", 0.1, " ", 1e300),
            "a 1 18446744073709551615 -2 0.1 1e+300");
}

TEST(NearestName, FindsWhatWasMeant) {
  std::vector<std::string> names = {"group", "format", "match"};
  EXPECT_EQ(nearestName("fromat", names), "format");
  EXPECT_EQ(nearestName("groups", names), "group");
  EXPECT_EQ(nearestName("zero_points", names), "");
  EXPECT_EQ(nearestName("", names), "");
  EXPECT_EQ(didYouMean("mach", names), " (did you mean \"match\"?)");
  EXPECT_EQ(didYouMean("xyz", names), "");
}
