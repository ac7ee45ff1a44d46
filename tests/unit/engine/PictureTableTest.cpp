// SPDX-License-Identifier: Apache-2.0
// What engines say of pictures is refused where it would not lay any out.
#include "runtime/engine/Images.h"

#include <cmath>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace ingot;

namespace {

/// The table's fields; by default of pictures that can be laid out.
struct Fields {
  schema::SizeRule rule = schema::SizeRule::Smart;
  schema::ResizeFilter filter = schema::ResizeFilter::Bicubic;
  uint32_t factor = 28, frames = 1, width = 84, height = 84, maxTokens = 280, longestEdge = 2048,
           tile = 56;
  uint64_t minPixels = 784, maxPixels = 50176;
  std::vector<float> mean = {0.5f, 0.5f, 0.5f}, deviation = {0.5f, 0.5f, 0.5f};
  uint32_t patch = 14, mergeRows = 2, mergeColumns = 2;
  schema::ValueOrder order = schema::ValueOrder::ChannelRowColumn;
  uint32_t window = 112;
  schema::PositionRule positions = schema::PositionRule::Grid;
  uint32_t positionSide = 6, token = 7;
  std::string placeholder = "<image>", text = "<image>", before;
  uint32_t added = 3, axes = 3;
  int32_t stepToken = -1;
};

/// What is said of an engine with this table and a target without programs.
std::string verdict(const Fields &fields) {
  flatbuffers::FlatBufferBuilder builder;
  auto images = schema::CreateImagesDirect(
      builder, fields.rule, fields.filter, fields.factor, fields.minPixels, fields.maxPixels,
      fields.frames, fields.width, fields.height, fields.maxTokens, fields.longestEdge, fields.tile,
      &fields.mean, &fields.deviation, fields.patch, fields.mergeRows, fields.mergeColumns,
      fields.order, fields.window, fields.positions, fields.positionSide,
      fields.placeholder.c_str(), fields.text.c_str(), fields.token, fields.before.c_str(), nullptr,
      nullptr, nullptr, nullptr, false, fields.added, fields.axes, fields.stepToken);
  auto serving = schema::CreateServing(builder, /*vocabulary=*/8, /*max_context=*/64);
  auto name = builder.CreateString("toy"), arch = builder.CreateString("x86-64");
  auto memory = schema::CreateMemoryContract(builder);
  schema::TargetBuilder target(builder);
  target.add_name(name);
  target.add_arch(arch);
  target.add_memory(memory);
  std::vector<flatbuffers::Offset<schema::Target>> targets{target.Finish()};
  auto list = builder.CreateVector(targets);
  auto provenance = schema::CreateProvenanceDirect(builder, "toy");
  schema::EngineBuilder engine(builder);
  engine.add_targets(list);
  engine.add_provenance(provenance);
  engine.add_serving(serving);
  engine.add_images(images);
  schema::FinishEngineBuffer(builder, engine.Finish());
  const runtime::Status status =
      runtime::verifyImages(*schema::GetEngine(builder.GetBufferPointer()));
  EXPECT_EQ(status.code(), "INGOT-E5006");
  return std::string(status.message());
}

using Change = std::function<void(Fields &)>;

} // namespace

TEST(PictureTable, WhatCanBeLaidOutNeedsPrograms) {
  const Change rules[] = {
      [](Fields &fields) {},
      [](Fields &fields) { fields.rule = schema::SizeRule::Stretch; },
      [](Fields &fields) { fields.rule = schema::SizeRule::Budget; },
      [](Fields &fields) { fields.rule = schema::SizeRule::Tiles; },
  };
  for (const Change &change : rules) {
    Fields fields;
    change(fields);
    EXPECT_THAT(verdict(fields), testing::HasSubstr("cannot take pictures"));
  }
}

TEST(PictureTable, WhatCannotIsRefused) {
  const std::pair<const char *, Change> faults[] = {
      {"rule", [](Fields &fields) { fields.rule = schema::SizeRule(9); }},
      {"rule", [](Fields &fields) { fields.filter = schema::ResizeFilter(9); }},
      {"rule", [](Fields &fields) { fields.order = schema::ValueOrder(9); }},
      {"rule", [](Fields &fields) { fields.positions = schema::PositionRule(9); }},
      {"patches", [](Fields &fields) { fields.patch = 0; }},
      {"patches", [](Fields &fields) { fields.patch = 1u << 31; }},
      {"patches", [](Fields &fields) { fields.mergeRows = 0; }},
      {"patches", [](Fields &fields) { fields.mergeColumns = 1u << 30; }},
      {"sizes", [](Fields &fields) { fields.factor = 0; }},
      {"sizes", [](Fields &fields) { fields.factor = 29; }},
      {"sizes", [](Fields &fields) { fields.frames = 0; }},
      {"sizes", [](Fields &fields) { fields.minPixels = fields.maxPixels + 1; }},
      {"sizes", [](Fields &fields) { fields.maxPixels = UINT64_MAX; }},
      {"sizes", [](Fields &fields) { fields.minPixels = fields.maxPixels = 1; }},
      {"sizes",
       [](Fields &fields) {
         fields.rule = schema::SizeRule::Stretch;
         fields.width = 1u << 31;
       }},
      {"sizes",
       [](Fields &fields) {
         fields.rule = schema::SizeRule::Stretch;
         fields.height = 85;
       }},
      {"sizes",
       [](Fields &fields) {
         fields.rule = schema::SizeRule::Budget;
         fields.maxTokens = UINT32_MAX;
       }},
      {"sizes",
       [](Fields &fields) {
         fields.rule = schema::SizeRule::Tiles;
         fields.tile = 0;
       }},
      {"sizes",
       [](Fields &fields) {
         fields.rule = schema::SizeRule::Tiles;
         fields.longestEdge = UINT32_MAX;
       }},
      {"windows", [](Fields &fields) { fields.window = 100; }},
      {"mean", [](Fields &fields) { fields.mean.pop_back(); }},
      {"mean", [](Fields &fields) { fields.mean[1] = NAN; }},
      {"mean", [](Fields &fields) { fields.deviation[2] = 0; }},
      {"positions", [](Fields &fields) { fields.positionSide = 0; }},
      {"positions", [](Fields &fields) { fields.positionSide = UINT32_MAX; }},
      {"prompt", [](Fields &fields) { fields.token = 8; }},
      {"prompt", [](Fields &fields) { fields.placeholder.clear(); }},
      {"steps", [](Fields &fields) { fields.stepToken = 8; }},
      {"steps", [](Fields &fields) { fields.stepToken = -2; }},
      {"prompt", [](Fields &fields) { fields.before.assign(5000, 'x'); }},
      {"further", [](Fields &fields) { fields.added = UINT32_MAX; }},
      {"further", [](Fields &fields) { fields.axes = 2; }},
  };
  for (const auto &[said, change] : faults) {
    Fields fields;
    change(fields);
    EXPECT_THAT(verdict(fields), testing::HasSubstr(said));
  }
}

TEST(PictureTable, NoneIsNoFault) {
  flatbuffers::FlatBufferBuilder builder;
  auto provenance = schema::CreateProvenanceDirect(builder, "toy");
  auto serving = schema::CreateServing(builder, 8, 64);
  schema::EngineBuilder engine(builder);
  engine.add_provenance(provenance);
  engine.add_serving(serving);
  schema::FinishEngineBuffer(builder, engine.Finish());
  EXPECT_TRUE(runtime::verifyImages(*schema::GetEngine(builder.GetBufferPointer())).ok());
}
