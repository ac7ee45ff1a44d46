// SPDX-License-Identifier: Apache-2.0
// The way of a record: made by the conformance program, replayed by gpu-replay, both as programs.
#include "runtime/core/MappedFile.h"
#include "tests/gpu/LaunchRecord.h"

#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>

using namespace ingot::record;

namespace {

class RecordedLaunches : public testing::Test {
protected:
  static int runProgram(const std::string &command) {
    int status = std::system((command + " > " + kFile + ".log 2>&1").c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  static std::string log() {
    std::ifstream file(kFile + ".log");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static int replay(const std::string &options) {
    std::remove(kLines.c_str());
    return runProgram(INGOT_GPU_REPLAY " launches " + kFile + " --lines " + kLines + " " + options);
  }

  /// Launches of the last replay by their verdict.
  static std::map<std::string, size_t> verdicts() {
    std::map<std::string, size_t> counts;
    std::ifstream file(kLines);
    for (std::string text; std::getline(file, text);)
      if (auto line = nlohmann::json::parse(text); !line.contains("graph") && line.contains("case"))
        ++counts[line["verdict"].get<std::string>()];
    return counts;
  }

  /// A few of each kind: exact and inexact results, scaled caches, a workspace, pairs.
  static int makeRecord() {
    return runProgram(INGOT_CONFORMANCE " --record " + kFile +
                      " --architecture sm_80 --cases matmul_i8_int8_f32_43,round_f32_bf16,"
                      "matmul_bf16_int4g128_f32_72,matmul_pair_bf16_int4g64z_bf16_70x172,"
                      "rms_norm_bf16_bf16_172,rope_append_f32_i8,attention_bf16_bf16_8x4x64");
  }
  static void write(const std::vector<uint8_t> &bytes) {
    std::ofstream(kFile, std::ios::binary)
        .write(reinterpret_cast<const char *>(bytes.data()), int64_t(bytes.size()));
  }

  inline static const std::string kFile = testing::TempDir() + "ingot_record_test.rec";
  inline static const std::string kLines = kFile + ".jsonl";
};

} // namespace

TEST_F(RecordedLaunches, SaysThatASimulatorNeedsPtx) {
  ASSERT_EQ(runProgram(INGOT_CONFORMANCE " --record " + kFile +
                       " --architecture sm_80 --cases round_f32_bf16 --no-ptx"),
            0)
      << log();
  EXPECT_EQ(replay("--simulate sm_80"), 1);
  EXPECT_NE(log().find("without --no-ptx"), std::string::npos) << log();
}

TEST_F(RecordedLaunches, ReplaysBitForBitAndShowsAPlantedChange) {
  ASSERT_EQ(makeRecord(), 0) << log();
  ASSERT_EQ(replay("--simulate sm_80"), 0) << log();
  EXPECT_GE(verdicts()["bit-equal"], 7u);
  EXPECT_EQ(verdicts().size(), 1u);
  EXPECT_EQ(replay("--simulate sm_90a"), 1);
  EXPECT_NE(log().find("INGOT-E7031"), std::string::npos) << log();

  auto mapped = ingot::runtime::MappedFile::open(kFile);
  ASSERT_TRUE(mapped.ok());
  auto record = unpackRecord(mapped->bytes());
  ASSERT_TRUE(record.ok()) << record.status().toString();
  BufferT *exact = nullptr;
  for (const auto &launch : (*record)->launches)
    for (const auto &buffer : launch->buffers)
      if (buffer->output != kNone && buffer->values.empty())
        exact = buffer.get();
  ASSERT_TRUE(exact);
  BlobT changed = *(*record)->blobs[exact->output];
  changed.bytes.back() ^= 1;
  exact->output = uint32_t((*record)->blobs.size());
  (*record)->blobs.push_back(std::make_unique<BlobT>(changed));
  write(packRecord(**record));
  EXPECT_EQ(replay("--simulate sm_80"), 1) << log();
  EXPECT_EQ(verdicts()["failed"], 1u);

  write({'I', 'N'});
  EXPECT_EQ(replay("--simulate sm_80"), 1);
  EXPECT_NE(log().find("INGOT-E7030"), std::string::npos) << log();
}
