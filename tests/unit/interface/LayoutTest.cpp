// SPDX-License-Identifier: Apache-2.0
// Structures of every size: those that the library knows are used as far as they go, others refused
// and left as they were.
#include "runtime/api/Boundary.h"
#include "tests/unit/engine/ToyEngine.h"
#include "tests/unit/interface/Sizes1.h"

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace ingot::runtime;
using namespace ingot::test;

extern "C" ingot_error *answer_in_c(const char *path, char *text);

namespace {

/// A structure that has grown twice.
struct Grown {
  size_t size;
  int64_t first = 1;
  int64_t second = 2;
  int64_t third = 3;
};

} // namespace

template <> struct ingot::runtime::Layouts<Grown> {
  static constexpr const char *name = "grown";
  static constexpr size_t sizes[] = {offsetof(Grown, second), offsetof(Grown, third),
                                     sizeof(Grown)};
};

namespace {

std::string codeOf(ingot_error *error) {
  std::string code = ingot_error_code(error);
  ingot_error_free(error);
  return code;
}

/// A structure among bytes that nobody may change.
template <class T> struct Guarded {
  alignas(T) unsigned char bytes[sizeof(T) + 64];
  Guarded() { std::fill(std::begin(bytes), std::end(bytes), 0xA5); }
  T *get() { return reinterpret_cast<T *>(bytes); }
  bool untouchedFrom(size_t offset) const {
    return std::all_of(bytes + offset, std::end(bytes), [](unsigned char b) { return b == 0xA5; });
  }
};

TEST(LayoutTest, AnEarlierLayoutIsUsedAsFarAsItGoes) {
  for (size_t size : Layouts<Grown>::sizes) {
    Guarded<Grown> given;
    ASSERT_TRUE(initSized(Grown{0}, given.get(), size).ok());
    EXPECT_EQ(given.get()->size, size);
    EXPECT_EQ(given.get()->first, 1);
    EXPECT_TRUE(given.untouchedFrom(size));

    Grown full = {0, 10, 20, 30};
    ASSERT_TRUE(readSized(given.get(), full).ok());
    EXPECT_EQ(full.first, 1);
    EXPECT_EQ(full.second, size > offsetof(Grown, second) ? 2 : 20);
    EXPECT_EQ(full.third, size > offsetof(Grown, third) ? 3 : 30);

    ASSERT_TRUE(writeSized(Grown{0, 7, 7, 7}, given.get()).ok());
    EXPECT_EQ(given.get()->size, size);
    EXPECT_EQ(given.get()->first, 7);
    EXPECT_TRUE(given.untouchedFrom(size));
  }
}

TEST(LayoutTest, AnUnknownSizeIsRefusedAndNothingWritten) {
  for (size_t size : {size_t(0), size_t(8), sizeof(Grown) - 1, sizeof(Grown) + 8, SIZE_MAX}) {
    Guarded<Grown> given;
    EXPECT_EQ(initSized(Grown{0}, given.get(), size).code(), "INGOT-E6050") << size;
    EXPECT_TRUE(given.untouchedFrom(0));
    given.get()->size = size;
    Grown full;
    EXPECT_EQ(readSized(given.get(), full).code(), "INGOT-E6050");
    EXPECT_EQ(writeSized(full, given.get()).code(), "INGOT-E6050");
    EXPECT_TRUE(given.untouchedFrom(sizeof(size_t)));
  }
  EXPECT_EQ(initSized<Grown>({0}, nullptr, sizeof(Grown)).code(), "INGOT-E6017");
}

class LayoutFileTest : public testing::Test {
protected:
  void SetUp() override {
    path = (std::filesystem::path(testing::TempDir()) / "layout-toy.ingot").string();
    std::vector<uint8_t> file = makeToyEngine();
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char *>(file.data()), std::streamsize(file.size()));
  }
  void TearDown() override { std::filesystem::remove(path); }

  std::string path;
};

TEST_F(LayoutFileTest, SizesOfVersion1AreRefused) {
  ingot_options options;
  ingot_sampling sampling;
  ingot_request request;
  EXPECT_EQ(codeOf(ingot_options_init(&options, sizes1.options)), "INGOT-E6050");
  EXPECT_EQ(codeOf(ingot_sampling_init(nullptr, &sampling, sizes1.sampling)), "INGOT-E6050");
  EXPECT_EQ(codeOf(ingot_request_init(&request, sizes1.request)), "INGOT-E6050");
  ASSERT_EQ(codeOf(ingot_options_init(&options, sizeof options)), "");
  ingot_engine *engine = nullptr;
  options.size = sizes1.options;
  EXPECT_EQ(codeOf(ingot_open(path.c_str(), &options, &engine)), "INGOT-E6050");
  ASSERT_EQ(codeOf(ingot_open(path.c_str(), nullptr, &engine)), "");
  ingot_memory_plan plan = {};
  plan.size = sizes1.memory_plan;
  EXPECT_EQ(codeOf(ingot_get_memory_plan(engine, &plan)), "INGOT-E6050");
  ingot_info info = {};
  info.size = sizes1.info;
  EXPECT_EQ(codeOf(ingot_get_info(engine, &info)), "INGOT-E6050");
  ingot_counters counters = {};
  counters.size = sizes1.counters;
  EXPECT_EQ(codeOf(ingot_get_counters(engine, &counters)), "INGOT-E6050");
  ingot_close(engine);
}

TEST_F(LayoutFileTest, AnEventWaitsForRoom) {
  ingot_engine *engine = nullptr;
  ASSERT_EQ(codeOf(ingot_open(path.c_str(), nullptr, &engine)), "");
  ingot_sampling sampling;
  ASSERT_EQ(codeOf(ingot_sampling_init(engine, &sampling, sizeof sampling)), "");
  sampling.max_tokens = 1;
  ingot_request request;
  ASSERT_EQ(codeOf(ingot_request_init(&request, sizeof request)), "");
  request.sampling = &sampling;
  request.text = "abc";
  request.text_bytes = 3;
  uint64_t id = 0;
  ASSERT_EQ(codeOf(ingot_submit(engine, &request, &id)), "");
  ASSERT_EQ(codeOf(ingot_step(engine, nullptr)), "");
  ingot_event event = {};
  bool taken = true;
  for (size_t size : {size_t(0), sizes1.event}) {
    event.size = size;
    EXPECT_EQ(codeOf(ingot_next_event(engine, &event, &taken)), "INGOT-E6050");
    EXPECT_EQ(codeOf(ingot_next_event_of(engine, id, &event, &taken)), "INGOT-E6050");
    EXPECT_FALSE(taken);
  }
  event.size = sizeof event;
  EXPECT_EQ(codeOf(ingot_next_event(engine, &event, &taken)), "");
  EXPECT_TRUE(taken) << "it was not dropped";
  EXPECT_EQ(event.request, id);
  EXPECT_EQ(codeOf(ingot_next_event(engine, &event, &taken)), "");
  EXPECT_FALSE(taken);
  auto never = [](void *, const ingot_event *) { return true; };
  EXPECT_EQ(codeOf(ingot_generate(engine, &request, never, nullptr, sizes1.event)), "INGOT-E6050");
  sampling.size = sizes1.sampling;
  EXPECT_EQ(codeOf(ingot_submit(engine, &request, &id)), "INGOT-E6050");
  ingot_close(engine);
}

TEST_F(LayoutFileTest, CSpeaksThisVersion) {
  char text[100];
  EXPECT_EQ(codeOf(answer_in_c(path.c_str(), text)), "");
  EXPECT_EQ(std::string(text).size(), 4u);
  EXPECT_EQ(codeOf(answer_in_c("/nowhere", text)), "INGOT-E7101");
}

} // namespace
