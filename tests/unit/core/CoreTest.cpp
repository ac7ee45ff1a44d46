// SPDX-License-Identifier: Apache-2.0
// Digests against FIPS 180-4's examples, and mapped files.
#include "runtime/core/MappedFile.h"
#include "runtime/core/Sha256.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace ingot::runtime;

namespace {

std::string hexOf(const std::string &text) { return toHex(sha256(text.data(), text.size())); }

TEST(Sha256Test, KnownDigests) {
  EXPECT_EQ(hexOf(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hexOf("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hexOf("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hexOf(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256Test, PiecesGiveTheSameDigest) {
  std::string text;
  for (int i = 0; i < 1000; ++i)
    text += char(i * 31);
  for (size_t piece : {1, 3, 55, 56, 63, 64, 65, 200}) {
    Sha256 hash;
    for (size_t at = 0; at < text.size(); at += piece)
      hash.update(text.data() + at, std::min(piece, text.size() - at));
    EXPECT_EQ(toHex(hash.finish()), hexOf(text)) << piece;
  }
}

TEST(MappedFileTest, ReadsPastTheEnd) {
  std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "mapped";
  for (size_t size : {size_t(0), size_t(1), size_t(4096), size_t(10000)}) {
    std::ofstream(path, std::ios::binary) << std::string(size, 'x');
    auto file = MappedFile::open(path.string());
    ASSERT_TRUE(file.ok()) << file.status().toString();
    ASSERT_EQ(file->bytes().size(), size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(file->bytes().data()) % (2 << 20), 0u)
        << "a file that begins there can have large pages";
    int sum = 0;
    for (size_t i = 0; i < size + 64; ++i)
      sum += static_cast<const volatile uint8_t *>(file->bytes().data())[i];
    EXPECT_EQ(sum, int(size) * 'x');
  }
  std::filesystem::remove(path);
}

TEST(MappedFileTest, TellsWhenItIsWrittenTo) {
  std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "changing";
  auto write = [&](const char *text) { std::ofstream(path, std::ios::binary) << text; };
  auto open = [&] { return std::move(*MappedFile::open(path.string())); };
  write("one");
  MappedFile file = open();
  EXPECT_TRUE(file.unchanged().ok());
  write("longer");
  EXPECT_EQ(file.unchanged().code(), "INGOT-E7104");
  file = open();
  std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) +
                                             std::chrono::seconds(1));
  EXPECT_EQ(file.unchanged().code(), "INGOT-E7104") << "of the same size";
  // Another file of that name, or none, is not the one that was mapped.
  file = open();
  std::filesystem::path other = path.string() + ".new";
  std::ofstream(other, std::ios::binary) << "two";
  std::filesystem::rename(other, path);
  EXPECT_TRUE(file.unchanged().ok());
  std::filesystem::remove(path);
  EXPECT_TRUE(file.unchanged().ok());
}

TEST(MappedFileTest, RefusesWhatIsNotAFile) {
  EXPECT_EQ(MappedFile::open("/does/not/exist").status().code(), "INGOT-E7101");
  EXPECT_EQ(MappedFile::open("/").status().code(), "INGOT-E7101");
}

TEST(StatusTest, CarriesCodeMessageAndPlace) {
  Status status = Status::error("INGOT-E5001", "broken", "mend it");
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.toString(), "INGOT-E5001: broken; mend it");
  EXPECT_EQ(std::move(status).in("a.ingot").toString(), "INGOT-E5001: a.ingot: broken; mend it");
  EXPECT_TRUE(Status().in("a.ingot").ok());
}

} // namespace
