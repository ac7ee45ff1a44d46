// SPDX-License-Identifier: Apache-2.0
// What the loader refuses, each by its code.
#include "tests/unit/engine/ToyEngine.h"

#include "runtime/schema/FileHeader.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>

using namespace ingot;
using namespace ingot::runtime;
using namespace ingot::test;
using ingot::schema::FileHeader;
using ingot::schema::SectionKind;
using testing::HasSubstr;

namespace {

std::string load(const std::vector<uint8_t> &file, VerifyOptions options = {}) {
  AlignedBytes bytes(file);
  return std::string(EngineFile::openBytes(bytes.view(), ".", options).status().code());
}

template <class T> void put(std::vector<uint8_t> &file, size_t offset, T value) {
  std::memcpy(file.data() + offset, &value, sizeof value);
}

size_t sectionOffset(const std::vector<uint8_t> &file, SectionKind kind) {
  AlignedBytes bytes(file);
  auto opened = EngineFile::openBytes(bytes.view(), ".");
  EXPECT_TRUE(opened.ok()) << opened.status().toString();
  return size_t((*opened)->sectionOfKind(kind).data() - bytes.view().data());
}

TEST(EngineFileTest, LoadsFromDiskAndShowsItsFacts) {
  std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "toy.ingot";
  std::vector<uint8_t> file = makeToyEngine();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(file.data()), std::streamsize(file.size()));
  auto opened = EngineFile::open(path.string(), {true});
  ASSERT_TRUE(opened.ok()) << opened.status().toString();
  EXPECT_EQ((*opened)->metadata().name()->str(), "toy");
  EXPECT_EQ((*opened)->weight(0).size(), size_t(toyVocabulary) * 4);
  EXPECT_EQ((*opened)->fileBytes(), file.size());
  std::filesystem::remove(path);
  EXPECT_EQ(EngineFile::open(path.string()).status().code(), "INGOT-E7101");
}

TEST(EngineFileTest, RefusesADamagedHeader) {
  std::vector<uint8_t> good = makeToyEngine(), file = good;
  EXPECT_EQ(load({}), "INGOT-E5001");
  EXPECT_EQ(load(std::vector<uint8_t>(good.begin(), good.begin() + 63)), "INGOT-E5001");
  file[0] ^= 1;
  EXPECT_EQ(load(file), "INGOT-E5001");
  file = good;
  put<uint32_t>(file, offsetof(FileHeader, formatVersion), 2);
  EXPECT_EQ(load(file), "INGOT-E5002");
  for (uint64_t offset : {uint64_t(0), uint64_t(65), uint64_t(1) << 63, ~uint64_t(63)}) {
    file = good;
    put<uint64_t>(file, offsetof(FileHeader, metadataOffset), offset);
    EXPECT_EQ(load(file), "INGOT-E5003") << offset;
  }
  for (uint64_t bytes : {uint64_t(0), uint64_t(1) << 31, ~uint64_t(0)}) {
    file = good;
    put<uint64_t>(file, offsetof(FileHeader, metadataBytes), bytes);
    EXPECT_EQ(load(file), "INGOT-E5003") << bytes;
  }
}

TEST(EngineFileTest, ComparesDigests) {
  std::vector<uint8_t> good = makeToyEngine(), file = good;
  file[sizeof(FileHeader) + 100] ^= 1;
  EXPECT_EQ(load(file), "INGOT-E5004");
  for (SectionKind kind : {SectionKind::Kernels, SectionKind::Tokenizer}) {
    file = good;
    file[sectionOffset(good, kind) + 20] ^= 1;
    EXPECT_EQ(load(file), "INGOT-E5009");
  }
  file = good;
  file[sectionOffset(good, SectionKind::Weights) + 20] ^= 1;
  EXPECT_EQ(load(file), "") << "weights are compared on request only";
  EXPECT_EQ(load(file, {true}), "INGOT-E5018");
}

TEST(EngineFileTest, RefusesATruncatedFile) {
  std::vector<uint8_t> file = makeToyEngine();
  file.resize(file.size() - 1);
  EXPECT_EQ(load(file), "INGOT-E5008");
}

TEST(EngineFileTest, ChecksTheArena) {
  ToyOptions options;
  options.hiddenOffset = 1 << 20;
  EXPECT_EQ(load(makeToyEngine(options)), "INGOT-E5010");
  options.hiddenOffset = 32;
  EXPECT_EQ(load(makeToyEngine(options)), "INGOT-E5010");
}

TEST(EngineFileTest, ChecksTensorMaps) {
  auto loadWith = [](const TensorMapRecipe &recipe) {
    ToyOptions options;
    options.tensorMaps = {recipe};
    return load(makeToyEngine(options));
  };
  EXPECT_EQ(loadWith({2, 4, 64, 8, 32}), "");                         // all 256 bytes of the table
  const TensorMapRecipe bad[] = {{2, 5, 64, 8, 32},                   // beyond the table
                                 {3, 5, 64, 8, 32},                   // beyond one row of logits
                                 {4, 4, 64, 8, 32},                   // there is no such buffer
                                 {2, 0, 64, 8, 32},                   // no rows
                                 {2, 4, 24, 8, 16},                   // rows of 24 bytes
                                 {2, 4, 64, 257, 32},                 // a box too high
                                 {2, 4, 64, 8, 40},                   // of uneven bytes
                                 {2, 4, 64, 8, 4096},                 // and too wide
                                 {2, UINT64_MAX / 16, 16, 8, 16},     // a size that overflows
                                 {2, 4, 64, 8, 32, kI4},              // half bytes
                                 {2, 4, 64, 8, 32, ElementType(200)}, // an unknown type
                                 {2, 4, 64, 8, 64, kBf16, 32}, // a box wider than its swizzle
                                 {2, 4, 64, 8, 32, kBf16, 48}, // no swizzle
                                 {2, 1, 256, 1, 272, kI8, 0}}; // more than 256 elements
  EXPECT_EQ(loadWith({2, 4, 64, 8, 64, kBf16, 64}), "");
  EXPECT_EQ(loadWith({2, 1, 256, 1, 256, kI8, 0}), "");
  for (const TensorMapRecipe &recipe : bad)
    EXPECT_EQ(loadWith(recipe), "INGOT-E5006")
        << recipe.buffer << " " << recipe.rows << " " << recipe.rowBytes << " " << recipe.boxBytes;
}

TEST(EngineFileTest, ChecksTensorMapsOfActivations) {
  ToyOptions options;
  auto loadWith = [&](const TensorMapRecipe &recipe) {
    options.tensorMaps = {recipe};
    return load(makeToyEngine(options));
  };
  // All logits of the step, 256 bytes a row.
  const TensorMapRecipe logits = {3, 0, 256, 8, 64, kF32, 64};
  options.mapRowsDim = "L";
  EXPECT_EQ(loadWith(logits), "INGOT-E5006") << "launches write them: a fence is needed";
  options.fencedMaps = true;
  EXPECT_EQ(loadWith(logits), "");
  EXPECT_EQ(loadWith({3, 0, 272, 8, 64, kF32, 64}), "INGOT-E5006") << "longer rows";
  EXPECT_EQ(loadWith({2, 0, 256, 8, 64, kF32, 64}), "INGOT-E5006") << "the table has one row";
  options.mapRowsDim = "T";
  options.maxTokens = 2 * options.maxLogitRows;
  EXPECT_EQ(loadWith(logits), "INGOT-E5006") << "more rows than logits";
}

TEST(EngineFileTest, ChecksClusters) {
  auto loadWith = [](std::vector<uint32_t> cluster) {
    ToyOptions options;
    options.cluster = std::move(cluster);
    return load(makeToyEngine(options));
  };
  EXPECT_EQ(loadWith({1, 1, 1}), "");
  EXPECT_EQ(loadWith({2}), "INGOT-E5006") << "grids of one block are no multiple";
  EXPECT_EQ(loadWith({1, 2}), "INGOT-E5006") << "neither is an axis that is not stated";
  EXPECT_EQ(loadWith({0}), "INGOT-E5006");
  EXPECT_EQ(loadWith({16}), "INGOT-E5006");
  EXPECT_EQ(loadWith({1, 1, 1, 1}), "INGOT-E5006");
  EXPECT_EQ(loadWith({UINT32_MAX, UINT32_MAX, UINT32_MAX}), "INGOT-E5006");
}

TEST(EngineFileTest, RefusesAnUnknownDim) {
  ToyOptions options;
  options.stepDim = "Experts";
  EXPECT_EQ(load(makeToyEngine(options)), "INGOT-E5011");
}

Status open(const ToyOptions &options, const SessionOptions &limits = {}) {
  AlignedBytes bytes(makeToyEngine(options));
  auto file = EngineFile::openBytes(bytes.view(), ".");
  if (!file.ok())
    return file.status();
  return Session::create(*file, limits).status();
}

TEST(EngineFileTest, RefusesAnUnknownInput) {
  ToyOptions options;
  options.extraInput = "tree_mask";
  Status status = open(options);
  EXPECT_EQ(status.code(), "INGOT-E5011");
  EXPECT_THAT(status.toString(), HasSubstr("tree_mask"));
}

TEST(EngineFileTest, ChoosesTargets) {
  ToyOptions options;
  options.features = {"avx2", "quantum"};
  Status status = open(options);
  EXPECT_EQ(status.code(), "INGOT-E5016");
  EXPECT_THAT(status.toString(), HasSubstr("quantum"));
  SessionOptions limits;
  limits.target = "other";
  EXPECT_EQ(open({}, limits).code(), "INGOT-E5017");
  limits.target = "toy";
  EXPECT_EQ(open({}, limits).toString(), "ok");
  options.features = {};
  options.kernelAbi = 99;
  EXPECT_EQ(open(options).code(), "INGOT-E5016");
}

TEST(EngineFileTest, RefusesCodeThatIsNotALibrary) {
  ToyOptions options;
  options.library = std::vector<uint8_t>(100, 7);
  EXPECT_EQ(open(options).code(), "INGOT-E5015");
}

} // namespace
