// SPDX-License-Identifier: Apache-2.0
// Replays of a small record in the simulator, and records that are refused.
#include "tests/gpu/Elements.h"
#include "tests/gpu/ReplayRun.h"
#include "tests/gpu/SimulatedDevice.h"
#include "tests/gpu/SmallRecord.h"

#include <cmath>
#include <cstring>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <numeric>

using namespace ingot;
using namespace ingot::record;
using test::addBlob;
using test::openSimulated;

namespace {

class Replay : public testing::Test {
protected:
  /// Every launch alone, each on a device that no other has broken.
  std::vector<Outcome> run() {
    // Through the file's form: what tests change must survive it.
    auto unpacked = unpackRecord(packRecord(record));
    EXPECT_TRUE(unpacked.ok()) << unpacked.status().toString();
    std::vector<Outcome> outcomes;
    if (!unpacked.ok())
      return outcomes;
    Replayer replayer(**unpacked);
    bool broken = true;
    for (size_t i = 0; i < record.launches.size(); ++i) {
      if (broken) {
        runtime::Status status = replayer.open(openSimulated);
        EXPECT_TRUE(status.ok()) << status.toString();
      }
      outcomes.push_back(replayer.run(i));
      broken = outcomes.back().deviceFailed;
    }
    return outcomes;
  }
  LaunchT &launch() { return *record.launches.front(); }
  BufferT &result() { return *launch().buffers[1]; }
  /// Compares the result as f32 with these tolerances.
  void compareByValue(const std::vector<float> &tolerances) {
    auto values = std::make_unique<ValuesT>();
    values->count = tolerances.size();
    result().values.push_back(std::move(values));
    result().tolerances = addBlob(record, tolerances);
  }
  /// Adds to element `index` of the recorded result.
  void shift(size_t index, float by) {
    std::vector<uint8_t> &bytes = record.blobs[result().output]->bytes;
    float value;
    std::memcpy(&value, bytes.data() + 4 * index, 4);
    value += by;
    std::memcpy(bytes.data() + 4 * index, &value, 4);
  }

  RecordT record = test::smallRecord();
};

} // namespace

TEST_F(Replay, EqualBits) {
  std::vector<Outcome> outcomes = run();
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_TRUE(outcomes[0].bitEqual);
  EXPECT_FALSE(outcomes[0].failed());
}

TEST_F(Replay, OneChangedByteFails) {
  record.blobs[result().output]->bytes[77 * 4] ^= 1;
  std::vector<Outcome> outcomes = run();
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_TRUE(outcomes[0].failed());
  ASSERT_TRUE(outcomes[0].first);
  EXPECT_EQ(outcomes[0].first->buffer, 1u);
  EXPECT_EQ(outcomes[0].first->element, 77u * 4);
}

TEST_F(Replay, AChangedInputFails) {
  // The kernel writes what the record says it leaves alone.
  result().input = addBlob(record, std::vector<float>(test::kSmallCount, 1.0f));
  result().output = kNone;
  EXPECT_TRUE(run().at(0).failed());
}

TEST_F(Replay, DifferencesWithinTheToleranceAreListed) {
  compareByValue(std::vector<float>(test::kSmallCount, 0.5f));
  shift(30, 0.125f);
  shift(60, -0.25f);
  Outcome outcome = run().at(0);
  EXPECT_FALSE(outcome.failed());
  EXPECT_FALSE(outcome.bitEqual);
  EXPECT_EQ(outcome.worst, 0.5);
  ASSERT_TRUE(outcome.first);
  EXPECT_EQ(outcome.first->element, 30u);
  shift(60, -0.5f);
  outcome = run().at(0);
  EXPECT_TRUE(outcome.failed());
  EXPECT_EQ(outcome.worst, 1.5);
  EXPECT_EQ(outcome.first->element, 60u);
}

TEST_F(Replay, BytesBesideTheValuesMustBeEqual) {
  compareByValue(std::vector<float>(50, 100.0f));
  shift(49, 1);
  EXPECT_FALSE(run().at(0).failed());
  shift(50, 1);
  EXPECT_TRUE(run().at(0).failed());
}

TEST_F(Replay, ScaledValuesCompareAsProducts) {
  // Bytes 0 to 7 of the result as i8 in rows of 4 with the scales at 8: 8.0f and 10.0f.
  auto values = std::make_unique<ValuesT>();
  values->count = 8;
  values->element = Element::I8;
  values->scales = 12;
  values->scale_columns = 4;
  result().values.push_back(std::move(values));
  std::vector<float> tolerances(8, 17.0f);
  result().tolerances = addBlob(record, tolerances);
  record.blobs[result().output]->bytes[6] += 1; // a code of the row of scale 10: 10 apart
  Outcome outcome = run().at(0);
  EXPECT_FALSE(outcome.failed()) << outcome.first->tolerance;
  EXPECT_DOUBLE_EQ(outcome.worst, 10.0 / 17.0);
  record.blobs[result().output]->bytes[6] += 1;
  EXPECT_TRUE(run().at(0).failed());
}

TEST_F(Replay, WritesBesideABufferAreSeen) {
  launch().scalars[0] = test::kSmallCount + 1; // 400 bytes end within the margin
  EXPECT_THAT(run().at(0).error, testing::HasSubstr("beside a buffer"));
}

TEST_F(Replay, CountersMustBeZeroAgain) {
  launch().buffers.pop_back(); // the kernel writes the workspace instead
  launch().workspace_bytes = 400;
  launch().counter_bytes = 4;
  EXPECT_THAT(run().at(0).error, testing::HasSubstr("not zero"));
  launch().counter_bytes = 0;
  EXPECT_FALSE(run().at(0).failed());
}

TEST_F(Replay, AFailedLaunchLeavesTheOthers) {
  record.launches.push_back(std::make_unique<LaunchT>(launch()));
  launch().scalars[0] = int64_t{1} << 40;
  launch().grid = std::make_unique<Extent>(1000, 1, 1);
  std::vector<Outcome> outcomes = run();
  ASSERT_EQ(outcomes.size(), 2u);
  EXPECT_THAT(outcomes[0].error, testing::HasSubstr("INGOT-E6506"));
  EXPECT_TRUE(outcomes[1].bitEqual);
}

TEST_F(Replay, AnotherArchitectureIsRefused) {
  record.architecture = "sm_90a";
  EXPECT_EQ(Replayer(record).open(openSimulated).code(), "INGOT-E7031");
}

TEST_F(Replay, LaunchesAreTimed) {
  Replayer replayer(record);
  ASSERT_TRUE(replayer.open(openSimulated).ok());
  ASSERT_TRUE(replayer.run(0).bitEqual);
  auto seconds = replayer.time(0, 0);
  ASSERT_TRUE(seconds.ok()) << seconds.status().toString();
  EXPECT_GT(*seconds, 0);
}

TEST_F(Replay, GraphsLeaveTheSameBits) {
  for (int i = 0; i < 3; ++i)
    record.launches.push_back(std::make_unique<LaunchT>(launch()));
  Replayer replayer(record);
  ASSERT_TRUE(replayer.open(openSimulated).ok());
  const size_t launches[] = {0, 1, 3};
  GraphOutcome outcome = replayer.runGraph(launches);
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.pass, 3); // both passes went by
}

TEST_F(Replay, AGraphWithAnotherResultNamesItsLaunch) {
  // The second launch stores how often it has run, which the workspace that all share says.
  auto counting = std::make_unique<LaunchT>(launch());
  counting->kernel = test::addKernel(record, "Count", R"(
    .reg .b32 %r<2>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [p_0];
    ld.param.u64 %rd2, [p_1];
    atom.global.add.u32 %r1, [%rd2], 1;
    st.global.u32 [%rd1], %r1;
    ret;
  )");
  counting->case_name = "counting";
  counting->grid = std::make_unique<Extent>(1, 1, 1);
  counting->buffers.erase(counting->buffers.begin());
  counting->workspace_bytes = 4;
  *record.kernels[1]->block = Extent(1, 1, 1);
  record.launches.push_back(std::move(counting));
  Replayer replayer(record);
  ASSERT_TRUE(replayer.open(openSimulated).ok());
  const size_t launches[] = {0, 1};
  GraphOutcome outcome = replayer.runGraph(launches);
  EXPECT_THAT(outcome.error, testing::HasSubstr("other bits"));
  EXPECT_EQ(outcome.launch, 1u);
  auto line = graphLine(record, launches, outcome);
  EXPECT_EQ(line["case"], "counting");
  EXPECT_EQ(line["before"], "Twice");
  EXPECT_TRUE(isFailure(line));
}

TEST_F(Replay, ChunksAreSmallAndComplete) {
  for (int i = 0; i < 149; ++i)
    record.launches.push_back(std::make_unique<LaunchT>(launch()));
  std::vector<size_t> launches(record.launches.size());
  std::iota(launches.begin(), launches.end(), size_t(0));
  auto chunks = Replayer::chunksOf(record, launches);
  ASSERT_EQ(chunks.size(), 3u);
  EXPECT_EQ(chunks[0].first, 0u);
  EXPECT_EQ(chunks[1].first, chunks[0].last);
  EXPECT_EQ(chunks[2].last, 150u);
}

TEST(Elements, ValuesOfEveryFormat) {
  auto value = [](Element element, uint32_t code) {
    uint8_t bytes[4];
    std::memcpy(bytes, &code, 4);
    return elementValue(element, bytes);
  };
  EXPECT_EQ(value(Element::F32, 0xc0200000), -2.5);
  EXPECT_EQ(value(Element::F16, 0x4100), 2.5);
  EXPECT_EQ(value(Element::F16, 0x8001), -std::ldexp(1, -24));
  EXPECT_EQ(value(Element::F16, 0xfc00), -INFINITY);
  EXPECT_EQ(value(Element::BF16, 0x4020), 2.5);
  EXPECT_EQ(value(Element::E4M3, 0x7e), 448);
  EXPECT_EQ(value(Element::E4M3, 0x01), std::ldexp(1, -9));
  EXPECT_TRUE(std::isnan(value(Element::E4M3, 0xff)));
  EXPECT_EQ(value(Element::E5M2, 0x7b), 57344);
  EXPECT_TRUE(std::isnan(value(Element::E5M2, 0x7d)));
  EXPECT_EQ(value(Element::I8, 0x80), -128);
  EXPECT_EQ(value(Element::I32, 0xfffffffe), -2);
}

namespace {

/// What reading a record says after `change`.
std::string codeAfter(const std::function<void(RecordT &)> &change) {
  RecordT record = test::smallRecord();
  change(record);
  return std::string(unpackRecord(packRecord(record)).status().code());
}

BufferT &resultOf(RecordT &record) { return *record.launches[0]->buffers[1]; }

/// Gives the result values of `count` elements with `tolerances`.
ValuesT &addValues(RecordT &record, uint64_t count, size_t tolerances) {
  resultOf(record).tolerances = addBlob(record, std::vector<float>(tolerances));
  resultOf(record).values.push_back(std::make_unique<ValuesT>());
  resultOf(record).values.back()->count = count;
  return *resultOf(record).values.back();
}

} // namespace

TEST(LaunchRecord, RefusesWhatDoesNotHold) {
  const std::pair<const char *, std::function<void(RecordT &)>> changes[] = {
      {"kernel", [](RecordT &r) { r.launches[0]->kernel = 1; }},
      {"ptx", [](RecordT &r) { r.kernels[0]->ptx = 9; }},
      {"threads", [](RecordT &r) { *r.kernels[0]->block = Extent(1025, 1, 1); }},
      {"cluster", [](RecordT &r) { *r.kernels[0]->cluster = Extent(0, 1, 1); }},
      {"grid", [](RecordT &r) { *r.launches[0]->grid = Extent(1, 0, 1); }},
      {"workspace", [](RecordT &r) { r.launches[0]->workspace_bytes = -2; }},
      {"counters", [](RecordT &r) { r.launches[0]->counter_bytes = 1; }},
      {"scalars", [](RecordT &r) { r.launches[0]->scalars.resize(17); }},
      {"content", [](RecordT &r) { resultOf(r).output = 77; }},
      {"no content", [](RecordT &r) { resultOf(r).output = kNone; }},
      {"sizes", [](RecordT &r) { resultOf(r).input = r.kernels[0]->ptx; }},
      {"no values", [](RecordT &r) { resultOf(r).tolerances = 1; }},
      {"too few tolerances", [](RecordT &r) { addValues(r, 100, 99); }},
      {"too many tolerances", [](RecordT &r) { addValues(r, 100, 101); }},
      {"too many values", [](RecordT &r) { addValues(r, 101, 101); }},
      {"offset", [](RecordT &r) { addValues(r, 100, 100).offset = 1; }},
      {"far offset", [](RecordT &r) { addValues(r, 1, 1).offset = UINT64_MAX; }},
      {"element", [](RecordT &r) { addValues(r, 4, 4).element = Element(7); }},
      {"columns", [](RecordT &r) { addValues(r, 4, 4).scale_columns = 3; }},
      {"scales", [](RecordT &r) {
         ValuesT &values = addValues(r, 4, 4);
         values.scale_columns = 1;
         values.scales = 388;
       }}};
  for (const auto &[what, change] : changes)
    EXPECT_EQ(codeAfter(change), "INGOT-E7030") << what;
  EXPECT_EQ(codeAfter([](RecordT &r) { addValues(r, 100, 100); }), "");
}

TEST(LaunchRecord, RefusesDamagedFiles) {
  const std::vector<uint8_t> good = packRecord(test::smallRecord());
  ASSERT_TRUE(unpackRecord(good).ok());
  for (size_t at : {size_t(0), size_t(8), size_t(16), size_t(30), good.size() - 1}) {
    std::vector<uint8_t> bad = good;
    bad[at] ^= 1;
    EXPECT_EQ(unpackRecord(bad).status().code(), "INGOT-E7030") << "byte " << at;
  }
  for (size_t size : {size_t(0), sizeof(FileHeader) - 1, sizeof(FileHeader), good.size() - 1})
    EXPECT_EQ(unpackRecord(std::span(good).first(size)).status().code(), "INGOT-E7030") << size;
  EXPECT_EQ(unpackRecord(packRaw(std::span(good).first(40))).status().code(), "INGOT-E7030");
}

TEST(LaunchRecord, RefusesListsThatShareTheirBytes) {
  // A small file that unpacks into a large one: many blobs over the same bytes.
  flatbuffers::FlatBufferBuilder builder;
  auto bytes = builder.CreateVector(std::vector<uint8_t>(10000));
  std::vector<flatbuffers::Offset<Blob>> blobs(100);
  for (auto &blob : blobs)
    blob = CreateBlob(builder, bytes);
  auto record =
      CreateRecord(builder, builder.CreateString("sm_80"), 1, 0, builder.CreateVector(blobs),
                   builder.CreateVector(std::vector<flatbuffers::Offset<Kernel>>()),
                   builder.CreateVector(std::vector<flatbuffers::Offset<Launch>>()));
  builder.Finish(record);
  auto parsed = parseRecord({builder.GetBufferPointer(), builder.GetSize()});
  ASSERT_FALSE(parsed.ok());
  EXPECT_THAT(std::string(parsed.status().message()), testing::HasSubstr("overlap"));
}

TEST(LaunchRecord, EqualContentIsStoredOnce) {
  RecordT record;
  BlobStore blobs(record);
  const std::vector<uint8_t> a = {1, 2, 3}, b = {1, 2, 4};
  EXPECT_EQ(blobs.add(a), 0u);
  EXPECT_EQ(blobs.add(b), 1u);
  EXPECT_EQ(blobs.add(a), 0u);
  EXPECT_EQ(record.blobs.size(), 2u);
}
