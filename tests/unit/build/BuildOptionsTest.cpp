// SPDX-License-Identifier: Apache-2.0
// The table of build options: every option that decides about an engine's bytes is recorded when it
// is given, and replayed from its record.
#include "compiler/build/BuildRequest.h"
#include "tests/unit/checkpoint/Fixtures.h"

#include <set>

using namespace ingot;
using namespace ingot::compiler;

namespace {

constexpr const char *kModel = INGOT_SOURCE_DIR "/examples/fables/model";

/// A value that is not the default one.
std::string sampleOf(const BuildOption &option) {
  return std::string(option.flag) == "--target" ? "x86-64-v3" : "7";
}

/// What a build with these options records of them.
std::vector<OptionRecord> recordsOf(mlir::MLIRContext &context, const BuildOptions &options) {
  Progress progress(ProgressStyle::Silent);
  auto request = readRequest(context, options, progress);
  EXPECT_TRUE(test::succeeds(request));
  return request ? request->options : std::vector<OptionRecord>();
}

} // namespace

TEST(BuildOptions, RowsAreWhole) {
  std::set<std::string> flags;
  for (const BuildOption &option : buildOptions()) {
    EXPECT_TRUE(flags.insert(option.flag).second) << option.flag;
    EXPECT_GT(std::string_view(option.help).size(), 0u) << option.flag;
    EXPECT_NE(option.commands, 0u) << option.flag;
    EXPECT_TRUE(!option.recorded || option.decides == Decides::Engine) << option.flag;
    EXPECT_TRUE(option.isDefault({})) << option.flag;
  }
  for (const BuildOption &option : buildOptions())
    for (const char *other : {option.needs, option.excludes})
      EXPECT_TRUE(!other || flags.count(other)) << option.flag;
}

TEST(BuildOptions, TextsAreReadBack) {
  for (const BuildOption &option : buildOptions()) {
    BuildOptions options, again;
    option.readText(options, sampleOf(option));
    EXPECT_FALSE(option.isDefault(options)) << option.flag;
    option.readText(again, option.text(options));
    EXPECT_EQ(option.text(again), option.text(options)) << option.flag;
  }
}

TEST(BuildOptions, WhatDecidesAboutAnEngineIsRecordedAndReplayed) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  prepareContext(context);
  size_t replayed = 0;
  for (const BuildOption &option : buildOptions()) {
    if (option.decides != Decides::Engine)
      continue;
    BuildOptions options;
    options.model = kModel;
    option.readText(options, sampleOf(option));
    std::vector<OptionRecord> records;
    if (option.needs) {
      options.lora = "adapter";
      records = recordsAsGiven(options);
    } else if (option.form == OptionForm::VisionLimit) {
      // The model of the others sees nothing.
      Progress progress(ProgressStyle::Silent);
      EXPECT_TRUE(test::failsWith(readRequest(context, options, progress), "INGOT-E2101",
                                  {"no vision part"}));
      records = {{option.flag, option.text(options), option.text(options), "as asked"}};
    } else {
      records = recordsOf(context, options);
    }
    EXPECT_EQ(option.text(optionsOf(records)), option.text(options)) << option.flag;
    EXPECT_EQ(llvm::count_if(records, [&](auto &record) { return record.name == option.flag; }), 1)
        << option.flag;
    ++replayed;
  }
  EXPECT_GE(replayed, 9u);
}

TEST(BuildOptions, DefaultsAreSettledByModelAndMachine) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  prepareContext(context);
  BuildOptions options;
  options.model = kModel;
  std::vector<OptionRecord> records = recordsOf(context, options);
  BuildOptions again = optionsOf(records);
  EXPECT_EQ(again.limits.maxTokens, options.limits.maxTokens);
  EXPECT_GT(again.limits.maxContext, 0);
  EXPECT_EQ(again.targets.size(), 1u);
  for (const OptionRecord &record : records)
    EXPECT_TRUE(record.asked.empty()) << record.name;
}

TEST(BuildOptions, OlderEnginesAreReplayed) {
  BuildOptions options = optionsOf({{"--max-tokens", "", "128", "default"},
                                    {"golden tokens", "", "made", ""},
                                    {"--no-ptx", "yes", "nothing", "no target has PTX"}});
  EXPECT_EQ(options.limits.maxTokens, 128);
  EXPECT_TRUE(options.noPtx);
}

TEST(BuildOptions, LimitsThatAreNotPossibleAreRefused) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  prepareContext(context);
  Progress progress(ProgressStyle::Silent);
  for (int64_t tokens : {int64_t{0}, int64_t{-1}, int64_t{1} << 40}) {
    BuildOptions options;
    options.model = kModel;
    options.limits.maxTokens = tokens;
    EXPECT_TRUE(test::failsWith(readRequest(context, options, progress), "INGOT-E2101",
                                {"--max-batch-tokens"}));
  }
}
