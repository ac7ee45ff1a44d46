// SPDX-License-Identifier: Apache-2.0
// plan: to the byte what opening an engine allocates.
#include "tests/unit/tools/ToolRun.h"

#include "ingot/ingot.h"

#include <gmock/gmock.h>

using namespace ingot::test;
using testing::HasSubstr;

namespace {

struct Limits {
  uint64_t memory;
  int64_t sequences, context, tokens, rows, threads;
};

std::vector<std::string> argumentsOf(const std::string &path, const Limits &limits) {
  std::vector<std::string> arguments = {path, "--json"};
  auto add = [&](const char *option, uint64_t value) {
    if (value)
      arguments.insert(arguments.end(), {option, std::to_string(value)});
  };
  add("--memory", limits.memory);
  add("--max-sequences", uint64_t(limits.sequences));
  add("--max-context", uint64_t(limits.context));
  add("--max-batch-tokens", uint64_t(limits.tokens));
  add("--max-logit-rows", uint64_t(limits.rows));
  add("--threads", uint64_t(limits.threads));
  return arguments;
}

} // namespace

TEST(PlanTest, SaysWhatOpeningAllocates) {
  for (int64_t window : {0, 24}) {
    ToyOptions toy;
    toy.window = window;
    TemporaryFile file = toyFile(toy);
    for (const Limits &limits : {Limits{0, 0, 0, 0, 0, 1}, Limits{98'500, 0, 0, 0, 0, 2},
                                 Limits{1 << 20, 3, 50, 17, 5, 3}, Limits{0, 1, 16, 1, 1, 1}}) {
      nlohmann::json plan = runTool("plan", argumentsOf(file.path(), limits)).json();
      ASSERT_TRUE(plan.is_object());
      ingot_options options;
      ASSERT_EQ(ingot_options_init(&options, sizeof options), nullptr);
      options.memory = limits.memory;
      options.max_sequences = limits.sequences;
      options.max_context = limits.context;
      options.max_batch_tokens = limits.tokens;
      options.max_logit_rows = limits.rows;
      options.threads = limits.threads;
      ingot_engine *engine = nullptr;
      ingot_error *error = ingot_open(file.path().c_str(), &options, &engine);
      ASSERT_EQ(error, nullptr) << ingot_error_message(error);
      ingot_memory_plan opened = {};
      opened.size = sizeof opened;
      error = ingot_get_memory_plan(engine, &opened);
      ASSERT_EQ(error, nullptr) << ingot_error_message(error);
      ingot_close(engine);
      EXPECT_EQ(plan["weight_bytes"], opened.weight_bytes);
      EXPECT_EQ(plan["arena_bytes"], opened.arena_bytes);
      EXPECT_EQ(plan["kv_bytes"], opened.kv_bytes);
      EXPECT_EQ(plan["state_bytes"], opened.state_bytes);
      EXPECT_EQ(plan["scratch_bytes"], opened.scratch_bytes);
      EXPECT_EQ(plan["total_bytes"], opened.total_bytes);
      EXPECT_EQ(plan["kv_groups"][0]["blocks"], opened.kv_blocks);
      EXPECT_EQ(plan["max_sequences"], opened.max_sequences);
      EXPECT_EQ(plan["max_context"], opened.max_context);
      EXPECT_EQ(plan["threads"], opened.threads);
    }
  }
}

TEST(PlanTest, ACellNeedsExactlyItsBytes) {
  TemporaryFile file = toyFile();
  nlohmann::json all = runTool("plan", {file.path(), "--json", "--threads", "1"}).json();
  ASSERT_GT(all["fits"].size(), 2u);
  for (const nlohmann::json &cell : all["fits"]) {
    Limits limits = {cell["total_bytes"], cell["sequences"], cell["context"], 0, 0, 1};
    nlohmann::json exact = runTool("plan", argumentsOf(file.path(), limits)).json();
    EXPECT_EQ(exact["kv_bytes"], cell["kv_bytes"]);
    EXPECT_EQ(exact["fits"].back()["fits"], true);
    limits.memory -= 1;
    ToolResult less = runTool("plan", argumentsOf(file.path(), limits));
    if (limits.sequences == 1) {
      EXPECT_EQ(less.status, 1);
      EXPECT_THAT(less.errors, HasSubstr("INGOT-E6002"));
      continue;
    }
    EXPECT_LT(less.json()["kv_bytes"], cell["kv_bytes"]);
    EXPECT_EQ(less.json()["fits"].back()["fits"], false);
  }
}

TEST(PlanTest, TablesMarkWhatDoesNotFit) {
  TemporaryFile file = toyFile();
  ToolResult result = runTool("plan", {file.path(), "--memory", "98500", "--threads", "1"});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("KV 'main'"));
  EXPECT_THAT(result.output, HasSubstr("4 bytes per position"));
  EXPECT_THAT(result.output, HasSubstr("no: "));
}

TEST(PlanTest, RefusesLimitsOutsideTheEngine) {
  TemporaryFile file = toyFile();
  ToolResult result = runTool("plan", {file.path(), "--max-context", "97"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.errors, HasSubstr("INGOT-E6001"));
  EXPECT_THAT(runTool("plan", {file.path(), "--target", "other"}).errors, HasSubstr("INGOT-E5017"));
}

TEST(PlanTest, PlansATargetThisMachineCannotRun) {
  ToyOptions toy;
  toy.features = {"no-such-feature"};
  TemporaryFile file = toyFile(toy);
  EXPECT_EQ(runTool("plan", {file.path(), "--memory", "1MiB"}).status, 0);
}

TEST(PlanTest, MetadataAloneIsEnough) {
  std::vector<uint8_t> engine = makeToyEngine();
  AlignedBytes bytes(engine);
  auto file = ingot::runtime::EngineFile::openBytes(bytes.view(), ".", {});
  ASSERT_TRUE(file.ok()) << file.status().toString();
  constexpr size_t header = 64;
  uint64_t size = 0;
  memcpy(&size, engine.data() + 24, sizeof size);
  std::span<const std::byte> metadata = std::as_bytes(bytes.view().subspan(header, size));
  ingot::runtime::PlanArguments arguments;
  arguments.json = true;
  arguments.threads = 2;
  testing::internal::CaptureStdout();
  ingot::runtime::Status status = ingot::runtime::planMetadata(metadata, arguments, stdout);
  std::string fromMetadata = testing::internal::GetCapturedStdout();
  ASSERT_TRUE(status.ok()) << status.toString();
  TemporaryFile onDisk(engine);
  EXPECT_EQ(fromMetadata, runTool("plan", {onDisk.path(), "--json", "--threads", "2"}).output);
  status = ingot::runtime::planMetadata(metadata.first(100), arguments, stdout);
  EXPECT_EQ(status.code(), "INGOT-E5005");
}
