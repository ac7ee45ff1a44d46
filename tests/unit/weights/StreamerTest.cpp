// SPDX-License-Identifier: Apache-2.0
// The streamer against whole-tensor evaluation, over caps and thread counts; and what it refuses.
#include "compiler/weights/WeightStreamer.h"
#include "dialects/llm/LlmDialect.h"
#include "tests/unit/weights/RandomWeights.h"

#include "mlir/Parser/Parser.h"

#include <atomic>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <mutex>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using namespace ingot::compiler::test;

namespace {

constexpr uint64_t plenty = uint64_t{4} << 30;

/// A checkpoint and functions over it.
class Streamer : public testing::Test {
protected:
  Streamer() { context.loadDialect<func::FuncDialect, llm::LlmDialect, engine::EngineDialect>(); }

  void open(std::vector<TensorSpec> given) {
    tensors = std::move(given);
    writeCheckpoint(context, folder, tensors);
    auto opened = checkpoint::Checkpoint::open(folder.path());
    ASSERT_TRUE(opened) << opened.error().str();
    model.emplace(*std::move(opened));
  }

  void parse(const std::vector<std::string> &bodies) {
    text = moduleOf(bodies);
    module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text;
    functions.clear();
    module->walk([&](func::FuncOp function) { functions.push_back(function); });
  }

  checkpoint::Expected<WeightStreamer> create(uint64_t cap, unsigned threads = 2) {
    StreamOptions options;
    options.memoryCap = cap;
    options.threads = threads;
    return WeightStreamer::create(functions, *model, options);
  }

  /// Runs, and checks what the sink may count on.
  std::vector<uint8_t> run(WeightStreamer &streamer) {
    std::vector<uint8_t> bytes(streamer.totalBytes(), 0xee);
    std::vector<uint8_t> seen(bytes.size());
    auto done = streamer.run([&](uint64_t offset, std::span<const std::byte> piece) {
      EXPECT_LE(offset + piece.size(), bytes.size());
      std::memcpy(bytes.data() + offset, piece.data(), piece.size());
      for (size_t i = 0; i < piece.size(); ++i)
        EXPECT_EQ(seen[offset + i]++, 0) << "byte " << offset + i << " was given twice";
      return checkpoint::Outcome();
    });
    EXPECT_TRUE(done) << done.error().str();
    return bytes;
  }

  /// Compares every stored weight and its digest with the plain evaluation.
  void compare(const WeightStreamer &streamer, const std::vector<uint8_t> &bytes) {
    std::vector<std::map<std::string, std::vector<uint8_t>>> expected;
    for (func::FuncOp function : functions)
      expected.push_back(evaluatePlainly(function, matricesOf(tensors)));
    size_t count = 0;
    for (auto &byName : expected)
      count += byName.size();
    ASSERT_EQ(streamer.weights().size(), count);
    for (const StreamedWeight &weight : streamer.weights()) {
      const auto &want = expected[weight.function].at(weight.name);
      ASSERT_EQ(weight.bytes, want.size()) << weight.name;
      EXPECT_EQ(weight.offset % (weight.bytes >= 4096 ? 4096 : 64), 0u);
      auto start = bytes.begin() + static_cast<int64_t>(weight.offset);
      ASSERT_TRUE(std::equal(want.begin(), want.end(), start))
          << weight.name << " differs at byte "
          << std::mismatch(want.begin(), want.end(), start).first - want.begin() << " in\n"
          << text;
      auto digest = checkpoint::sha256(
          std::string_view(reinterpret_cast<const char *>(want.data()), want.size()));
      EXPECT_EQ(weight.digest, *digest);
    }
  }

  std::vector<TensorSpec> randomTensors(std::mt19937 &random) {
    static const int64_t extents[] = {1, 3, 16, 31, 48, 64, 97, 172, 173};
    static const char *types[] = {"f32", "f16", "bf16", "f8E4M3FN"};
    std::vector<TensorSpec> made, factors; // matrices in pairs of equal shape
    for (int pair = 0; pair < 2; ++pair) {
      int64_t rows = extents[random() % 9];
      int64_t columns = random() % 3 ? extents[random() % 9] : rows;
      for (int i = 0; i < 2; ++i)
        made.push_back(randomTensor(context, random, "t" + std::to_string(made.size()),
                                    types[random() % 4], rows, columns));
      factors.push_back(randomTensor(context, random, "f" + std::to_string(pair),
                                     types[random() % 3], columns, 1));
      factors.back().oneDimensional = true;
    }
    made.insert(made.end(), factors.begin(), factors.end());
    for (const char *name : {"w0", "w1"})
      made.push_back(randomWords(random, name, 1 + random() % 40, 1 + random() % 20));
    return made;
  }

  MLIRContext context;
  ingot::test::TemporaryDirectory folder;
  std::vector<TensorSpec> tensors;
  std::optional<checkpoint::Checkpoint> model;
  OwningOpRef<ModuleOp> module;
  std::vector<func::FuncOp> functions;
  std::string text;
};

class RandomWeights : public Streamer, public testing::WithParamInterface<int> {};

TEST_P(RandomWeights, EqualPlainEvaluationAtEveryCapAndThreadCount) {
  std::mt19937 random(static_cast<uint32_t>(GetParam()));
  open(randomTensors(random));
  parse({randomFunction(random, tensors)});
  auto streamer = create(plenty, 1);
  ASSERT_TRUE(streamer) << streamer.error().str();
  std::vector<uint8_t> first = run(*streamer);
  compare(*streamer, first);
  for (unsigned threads : {2u, 5u})
    for (bool isSmall : {true, false}) {
      auto measured = create(plenty, threads); // earlier runs have left the process larger
      ASSERT_TRUE(measured) << measured.error().str();
      auto again = create(isSmall ? measured->minimumMemory() : plenty, threads);
      ASSERT_TRUE(again) << again.error().str();
      EXPECT_EQ(run(*again), first);
      for (size_t i = 0; i < again->weights().size(); ++i)
        EXPECT_EQ(again->weights()[i].digest, streamer->weights()[i].digest);
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomWeights, testing::Range(1, 61));

/// Sizes tiles directly: at the smallest memory, tiles are single units and blocks single rows.
class SmallestTiles : public Streamer, public testing::WithParamInterface<int> {};

TEST_P(SmallestTiles, CoverEveryPlaceOnceWithinTheMemory) {
  std::mt19937 random(static_cast<uint32_t>(GetParam()) + 1000);
  open(randomTensors(random));
  parse({randomFunction(random, tensors)});
  auto graph = WeightGraph::read(functions, *model);
  ASSERT_TRUE(graph) << graph.error().str();
  std::vector<PackedWeight> weights;
  for (const StoredWeight &stored : graph->stores()) {
    const WeightShape &shape = graph->shape(stored.value);
    weights.push_back(
        {stored.value,
         PackedLayout(stored.digits, shape.rows, shape.columns, elementBits(shape.element)),
         shape.element});
  }
  TilePlan plan(*graph, weights);
  for (int64_t limit : {plan.leastMemory(), plan.leastMemory() * 3, int64_t{1} << 24}) {
    plan.size(limit);
    EXPECT_LE(plan.threadMemory(), limit);
    for (const TilePass &pass : plan.passes())
      for (size_t member = 0; member < pass.members.size(); ++member) {
        const PackedLayout &layout = weights[pass.members[member]].layout;
        int64_t place = 0;
        for (int64_t tile = 0; tile < pass.tiles; ++tile)
          if (auto part = plan.tile(pass, member, tile)) {
            EXPECT_EQ(part->firstPlace, place);
            EXPECT_EQ(part->box.rows() * part->box.columns(), part->places);
            place += part->places;
          }
        EXPECT_EQ(place, layout.places());
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, SmallestTiles, testing::Range(1, 21));

TEST_F(Streamer, EqualExpressionsOfSeveralFunctionsAreStoredOnce) {
  std::mt19937 random(3);
  open({randomTensor(context, random, "a", "f32", 48, 64),
        randomTensor(context, random, "b", "f32", 48, 64)});
  auto body = [&](const char *element, const TensorSpec &tensor) {
    std::string type = typeText(48, 64, element);
    return weightLine(tensor) + "%c = llm.convert %" + tensor.name + " : " + typeOf(tensor) +
           " to " + type + "\nllm.store_weight \"w\" %c : " + type + "\n";
  };
  parse({body("bf16", tensors[0]), body("bf16", tensors[0]), body("f16", tensors[0]),
         body("bf16", tensors[1])});
  auto streamer = create(plenty);
  ASSERT_TRUE(streamer) << streamer.error().str();
  const auto &weights = streamer->weights();
  ASSERT_EQ(weights.size(), 4u);
  EXPECT_EQ(weights[0].offset, 0u);
  EXPECT_EQ(weights[1].offset, 0u);
  EXPECT_EQ(weights[2].offset, 8192u);
  EXPECT_EQ(weights[3].offset, 16384u);
  EXPECT_EQ(streamer->totalBytes(), 16384u + 48 * 64 * 2);
  EXPECT_EQ(weights[3].function, 3u);
  std::vector<uint8_t> bytes = run(*streamer);
  compare(*streamer, bytes);
}

TEST_F(Streamer, OnePassServesValuesScalesAndZeros) {
  std::mt19937 random(4);
  open({randomTensor(context, random, "a", "f32", 64, 128)});
  parse({weightLine(tensors[0]) +
         "%q:3 = llm.quantize %a <\"int4\", group = 32, zero_points = true> : "
         "(tensor<64x128xf32>) -> (tensor<64x128xi4>, tensor<64x4xbf16>, tensor<64x4xi8>)\n"
         "llm.store_weight \"v\" %q#0 : tensor<64x128xi4>\n"
         "llm.store_weight \"s\" %q#1 : tensor<64x4xbf16>\n"
         "llm.store_weight \"z\" %q#2 : tensor<64x4xi8>\n"});
  auto graph = WeightGraph::read(functions, *model);
  ASSERT_TRUE(graph) << graph.error().str();
  std::vector<PackedWeight> weights;
  for (const StoredWeight &stored : graph->stores()) {
    const WeightShape &shape = graph->shape(stored.value);
    weights.push_back(
        {stored.value, PackedLayout(stored.digits, shape.rows, shape.columns, 8), shape.element});
  }
  TilePlan plan(*graph, weights);
  ASSERT_EQ(plan.passes().size(), 1u);
  EXPECT_EQ(plan.passes()[0].members.size(), 3u);
  auto streamer = create(plenty);
  ASSERT_TRUE(streamer);
  std::vector<uint8_t> bytes = run(*streamer);
  compare(*streamer, bytes);
}

TEST_F(Streamer, ProgressGrowsToTheTotal) {
  std::mt19937 random(5);
  open(randomTensors(random));
  parse({randomFunction(random, tensors)});
  auto streamer = create(plenty);
  ASSERT_TRUE(streamer);
  uint64_t last = 0, total = 0;
  auto done =
      streamer->run([](uint64_t, std::span<const std::byte>) { return checkpoint::Outcome(); },
                    [&](uint64_t bytes, uint64_t all) {
                      EXPECT_GE(bytes, last);
                      last = bytes;
                      total = all;
                    });
  EXPECT_TRUE(done);
  EXPECT_GT(total, 0u);
  EXPECT_EQ(last, total);
}

TEST_F(Streamer, RefusesACapBelowTheMinimumAndNamesIt) {
  std::mt19937 random(6);
  open({randomTensor(context, random, "a", "f32", 48, 64)});
  parse({weightLine(tensors[0]) + "llm.store_weight \"w\" %a : tensor<48x64xf32>\n"});
  auto refused = create(uint64_t{1} << 20);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "INGOT-E3100");
  size_t at = refused.error().what.find("at least ");
  ASSERT_NE(at, std::string::npos) << refused.error().what;
  EXPECT_TRUE(refused.error().what.starts_with("--max-build-memory 1MiB is too small"));
  uint64_t least = std::stoull(refused.error().what.substr(at + 9)) << 20;
  std::vector<uint8_t> grown(size_t{6} << 20, 1); // the next process may be larger than this one
  auto accepted = create(least);
  ASSERT_TRUE(accepted) << accepted.error().str();
  std::vector<uint8_t> bytes = run(*accepted);
  compare(*accepted, bytes);
}

TEST_F(Streamer, AFileCutShortIsAnError) {
  std::mt19937 random(8);
  open({randomTensor(context, random, "a", "f32", 172, 173)});
  parse({weightLine(tensors[0]) + "llm.store_weight \"w\" %a : tensor<172x173xf32>\n"});
  std::filesystem::resize_file(folder.path() / "model.safetensors", 4096);
  auto streamer = create(plenty);
  ASSERT_TRUE(streamer);
  auto done =
      streamer->run([](uint64_t, std::span<const std::byte>) { return checkpoint::Outcome(); });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, "INGOT-E7004");
}

TEST_F(Streamer, AnErrorOfTheSinkEndsTheRun) {
  std::mt19937 random(9);
  open(randomTensors(random));
  parse({randomFunction(random, tensors)});
  auto streamer = create(plenty, 4);
  ASSERT_TRUE(streamer);
  std::atomic<int> calls = 0;
  auto done = streamer->run([&](uint64_t, std::span<const std::byte>) -> checkpoint::Outcome {
    if (++calls == 3)
      return checkpoint::Error{"INGOT-E7012", "full", "", ""};
    return {};
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, "INGOT-E7012");
}

TEST_F(Streamer, AValueThatIsNotFiniteCannotBeQuantized) {
  std::mt19937 random(10);
  for (auto [encoding, scales] : {std::pair("\"int8\", group = 0", "tensor<48x1xf32>"),
                                  std::pair("\"fp8\", group = -1", "tensor<1x1xf32>")}) {
    auto broken = randomTensor(context, random, "b", "f32", 48, 64);
    broken.matrix.at(17, 5) = INFINITY;
    open({randomTensor(context, random, "a", "f32", 48, 64), broken});
    std::string element = encoding[1] == 'i' ? "i8" : "f8E4M3FN";
    std::string rows = scales[7] == '1' ? "1" : "96";
    std::string types = typeText(96, 64, element) + ", tensor<" + rows + "x1xf32>";
    parse({weightLine(tensors[0]) + weightLine(tensors[1]) +
           "%c = llm.concat_rows %a, %b : (tensor<48x64xf32>, tensor<48x64xf32>) -> "
           "tensor<96x64xf32>\n%q:2 = llm.quantize %c <" +
           encoding + ", zero_points = false> : (tensor<96x64xf32>) -> (" + types +
           ")\nllm.store_weight \"w\" %q#0 : " + typeText(96, 64, element) + "\n"});
    auto streamer = create(plenty);
    ASSERT_TRUE(streamer) << streamer.error().str();
    auto done =
        streamer->run([](uint64_t, std::span<const std::byte>) { return checkpoint::Outcome(); });
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, "INGOT-E3103");
    if (rows == "96")
      EXPECT_EQ(done.error().where, "tensor \"b\", row 17");
  }
}

TEST_F(Streamer, RefusesWhatDoesNotAgreeWithTheCheckpoint) {
  std::mt19937 random(11);
  open({randomTensor(context, random, "a", "f32", 48, 64)});
  std::string store = "llm.store_weight \"w\" %a : tensor<48x64xf32>\n";
  parse({"%a = llm.weight \"a\" from \"model.safetensors\" at 0 : tensor<48x64xf32>\n" + store});
  auto moved = create(plenty);
  ASSERT_FALSE(moved);
  EXPECT_EQ(moved.error().code, "INGOT-E3102");
  parse({"%a = llm.weight \"z\" from \"model.safetensors\" at 0 : tensor<48x64xf32>\n" + store});
  auto missing = create(plenty);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, "INGOT-E1038");
}

TEST_F(Streamer, RefusesWhatCannotBeStreamed) {
  std::mt19937 random(12);
  open({randomTensor(context, random, "a", "f32", 48, 64)});
  std::string packed =
      typeText(48, 64, "f32", "#engine.layout<[0, 16, 3], [1, 1, 64], [0, 1, 16]>");
  parse({weightLine(tensors[0]) + "%p = llm.pack %a : tensor<48x64xf32> -> " + packed +
         "\n%c = llm.convert %p : " + packed + " to tensor<48x64xbf16>\n"});
  auto refused = create(plenty);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "INGOT-E3101");
}

} // namespace
