// SPDX-License-Identifier: Apache-2.0
// Whole files: what is in the one that comes out, the same bytes from any number of threads, and
// faults of the one that goes in.
#include "compiler/quantize/ggml/QuantizeGguf.h"
#include "tests/unit/checkpoint/gguf/GgufFixtures.h"
#include "tests/unit/quantize_ggml/Encoded.h"
#include "tests/unit/quantize_ggml/ImportanceFiles.h"

using namespace ingot;
using namespace ingot::checkpoint;
using namespace ingot::quantize;
using namespace ingot::test;

static std::string textOf(const std::filesystem::path &path) {
  auto text = readText(path, 64 << 20);
  return text ? *text : text.error().str();
}

static QuantizeGgufOptions optionsOf(std::string_view mix) {
  QuantizeGgufOptions options;
  options.mix = weightMixFromName(mix);
  return options;
}

static constexpr uint64_t columns = 256;

/// A model of two layers whose tensors have several pieces.
static std::string smallModel() {
  test::GgufWriter writer;
  writer.string("general.architecture", "llama").u32("llama.block_count", 2);
  writer.u32("llama.attention.head_count", 4).u32("llama.attention.head_count_kv", 4);
  writer.u32("general.file_type", 0).u32("split.count", 1).u32("general.alignment", 32);
  writer.string("quantize.imatrix.file", "of another time");
  uint32_t seed = 1;
  auto matrix = [&](std::string_view name, uint64_t rows) {
    writer.tensor(name, 0, {columns, rows}, floatBytes(normals(rows * columns, 0.05f, ++seed)));
  };
  matrix("token_embd.weight", 1500);
  writer.tensor("output_norm.weight", 0, {columns}, floatBytes(normals(columns)));
  for (const char *layer : {"blk.0.", "blk.1."})
    for (const char *part : {"attn_v.weight", "ffn_down.weight", "ffn_up.weight"})
      matrix(std::string(layer) + part, 40);
  return writer.str();
}

static ImportanceMatrix smallImportance() {
  ImportanceMatrix importance;
  std::vector<float> sums(columns);
  for (size_t i = 0; i < columns; ++i)
    sums[i] = i % 5 == 0 ? 40.0f : 1.0f;
  for (const char *name : {"blk.0.ffn_up.weight", "blk.1.ffn_down.weight"})
    importance.entries[name] = {sums, {2}};
  importance.datasets = {"a.txt", "b.txt"};
  importance.chunkCount = 6;
  return importance;
}

TEST(QuantizeGguf, WritesAModel) {
  const TemporaryDirectory folder;
  const auto in = folder.write("in.gguf", smallModel()), out = folder.path() / "out.gguf";
  QuantizeGgufOptions options = optionsOf("q4_k_m");
  const ImportanceMatrix importance = smallImportance();
  options.importance = &importance;
  options.importanceName = "m.gguf";
  uint64_t told = 0;
  options.progress = [&](const QuantizeProgress &progress) {
    EXPECT_GT(progress.doneBytes, told);
    told = progress.doneBytes;
    EXPECT_LE(told, progress.allBytes);
  };
  const auto result = quantizeGguf(in, out, options);
  ASSERT_TRUE(succeeds(result));
  const auto source = openGguf(in), written = openGguf(out);
  ASSERT_TRUE(succeeds(source) && succeeds(written));
  EXPECT_EQ(result->bytes, written->files.front().size());
  uint64_t all = 0;
  ASSERT_EQ(written->tensors.size(), source->tensors.size());
  for (size_t i = 0; i < written->tensors.size(); ++i) {
    const QuantizedTensor &report = result->tensors[i];
    const Tensor &tensor = written->tensors[i];
    EXPECT_EQ(tensor.name, source->tensors[i].name);
    EXPECT_EQ(tensor.shape, source->tensors[i].shape);
    EXPECT_EQ(tensor.dtype, report.to);
    EXPECT_EQ(tensor.bytes, report.bytes);
    EXPECT_EQ(report.readBytes, source->tensors[i].bytes);
    EXPECT_EQ(report.hasImportance, importance.entries.contains(tensor.name));
    all += report.readBytes;
    if (tensor.name == "output_norm.weight") {
      EXPECT_EQ(report.to, DType::F32);
      EXPECT_EQ(report.squaredError, 0);
      continue;
    }
    std::vector<std::byte> stored(tensor.bytes), original(report.readBytes);
    ASSERT_TRUE(succeeds(written->files[0].readAt(tensor.offset, stored)));
    ASSERT_TRUE(succeeds(source->files[0].readAt(source->tensors[i].offset, original)));
    const auto means = importance.means(tensor.name, 1, columns);
    const auto weights = *means ? **means : std::vector<float>();
    const double error =
        squaredError(decoded(DType::F32, original), decoded(tensor.dtype, stored), weights);
    EXPECT_NEAR(report.squaredError / error, 1, 1e-9);
    EXPECT_LT(report.squaredError, report.squares * 0.01);
  }
  EXPECT_EQ(told, all);
  // Of two layers the last has more bits; the embedding is the output too.
  EXPECT_EQ(result->tensors[0].to, DType::Q6_K);
  EXPECT_EQ(result->tensors[2].to, DType::Q4_K);
  EXPECT_EQ(result->tensors[5].to, DType::Q6_K);
  EXPECT_EQ(result->tensors[7].to, DType::Q4_K);
  const Json &keys = written->metadata;
  EXPECT_EQ(*keys.find("general.file_type")->unsignedInteger(), 15u);
  EXPECT_EQ(*keys.find("general.quantization_version")->unsignedInteger(), 2u);
  EXPECT_EQ(*keys.find("quantize.imatrix.file")->string(), "m.gguf");
  EXPECT_EQ(*keys.find("quantize.imatrix.dataset")->string(), "a.txt");
  EXPECT_EQ(*keys.find("quantize.imatrix.entries_count")->unsignedInteger(), 2u);
  EXPECT_EQ(*keys.find("quantize.imatrix.chunks_count")->unsignedInteger(), 6u);
  EXPECT_EQ(*keys.find("llama.block_count")->unsignedInteger(), 2u);
  EXPECT_FALSE(keys.find("split.count"));
}

TEST(QuantizeGguf, ThreadsDoNotChangeTheBytes) {
  const TemporaryDirectory folder;
  const auto in = folder.write("in.gguf", smallModel());
  std::string first;
  for (const unsigned threads : {1u, 2u, 3u}) {
    QuantizeGgufOptions options = optionsOf("q4_0");
    options.threads = threads;
    const auto out = folder.path() / (std::to_string(threads) + ".gguf");
    const auto result = quantizeGguf(in, out, options);
    ASSERT_TRUE(succeeds(result));
    std::string text = textOf(out);
    for (const QuantizedTensor &tensor : result->tensors)
      text += std::to_string(tensor.squaredError) + "\n";
    if (threads == 1)
      first = text;
    EXPECT_TRUE(text == first) << threads << " threads";
  }
}

/// Quantized weights are quantized again, and those that have their type already are copied.
TEST(QuantizeGguf, QuantizedModels) {
  const TemporaryDirectory folder;
  const auto in = folder.write("in.gguf", smallModel());
  const auto once = folder.path() / "once.gguf", twice = folder.path() / "twice.gguf";
  ASSERT_TRUE(succeeds(quantizeGguf(in, once, optionsOf("q8_0"))));
  const auto same = quantizeGguf(once, twice, optionsOf("q8_0"));
  ASSERT_TRUE(succeeds(same));
  EXPECT_TRUE(textOf(once) == textOf(twice));
  const auto smaller = quantizeGguf(once, twice, optionsOf("q3_k_s"));
  ASSERT_TRUE(succeeds(smaller));
  EXPECT_EQ(smaller->tensors[2].from, DType::Q8_0);
  EXPECT_EQ(smaller->tensors[2].to, DType::Q3_K);
}

/// In place: the file that is read is replaced when the new one is whole.
TEST(QuantizeGguf, OntoItself) {
  const TemporaryDirectory folder;
  const auto in = folder.write("in.gguf", smallModel());
  ASSERT_TRUE(succeeds(quantizeGguf(in, in, optionsOf("q5_1"))));
  const auto written = openGguf(in);
  ASSERT_TRUE(succeeds(written));
  EXPECT_EQ(written->tensors[2].dtype, DType::Q5_1);
}

/// The matrices of experts have their own importance.
TEST(QuantizeGguf, Experts) {
  const TemporaryDirectory folder;
  const auto rows = normals(2 * 4 * columns, 0.05f);
  const auto in = folder.write(
      "in.gguf", test::GgufWriter()
                     .tensor("blk.0.ffn_up_exps.weight", 0, {columns, 4, 2}, floatBytes(rows))
                     .str());
  ImportanceMatrix importance;
  std::vector<float> sums(2 * columns, 1.0f);
  for (size_t i = 0; i < columns; ++i)
    sums[columns + i] = i % 9 == 0 ? 100.0f : 1.0f;
  importance.entries["blk.0.ffn_up_exps.weight"] = {sums, {1, 1}};
  QuantizeGgufOptions options = optionsOf("q3_k_s");
  options.importance = &importance;
  const auto out = folder.path() / "out.gguf";
  ASSERT_TRUE(succeeds(quantizeGguf(in, out, options)));
  const auto written = openGguf(out);
  ASSERT_TRUE(succeeds(written));
  std::vector<std::byte> stored(written->tensors[0].bytes);
  ASSERT_TRUE(succeeds(written->files[0].readAt(written->tensors[0].offset, stored)));
  auto expected = encoded(DType::Q3_K, {rows.begin(), rows.begin() + 4 * columns}, columns);
  const auto second = encoded(DType::Q3_K, {rows.begin() + 4 * columns, rows.end()}, columns,
                              {sums.begin() + columns, sums.end()});
  expected.insert(expected.end(), second.begin(), second.end());
  EXPECT_TRUE(stored == expected);
}

TEST(QuantizeGguf, NamesFallbacks) {
  const TemporaryDirectory folder;
  const auto in = folder.write(
      "in.gguf", test::GgufWriter()
                     .tensor("blk.0.ffn_up.weight", 0, {96, 2}, floatBytes(normals(192)))
                     .tensor("blk.0.ffn_gate.weight", 0, {172, 2}, floatBytes(normals(344)))
                     .str());
  const auto result = quantizeGguf(in, folder.path() / "out.gguf", optionsOf("q4_k_m"));
  ASSERT_TRUE(succeeds(result));
  EXPECT_EQ(result->tensors[0].to, DType::Q5_0);
  EXPECT_EQ(result->tensors[0].insteadOf, DType::Q4_K);
  EXPECT_EQ(result->tensors[1].to, DType::F16);
  EXPECT_EQ(result->tensors[1].insteadOf, DType::Q4_K);
}

/// A fault is named, and no file is left behind.
TEST(QuantizeGguf, Faults) {
  const TemporaryDirectory folder;
  const auto out = folder.path() / "out.gguf";
  auto fails = [&](const std::string &file, std::string_view code,
                   std::initializer_list<std::string_view> mentions,
                   const ImportanceMatrix *importance = nullptr) {
    const auto in = folder.write("in.gguf", file);
    QuantizeGgufOptions options = optionsOf("q4_0");
    options.importance = importance;
    options.threads = 2;
    EXPECT_TRUE(failsWith(quantizeGguf(in, out, options), code, mentions));
    std::filesystem::remove(in);
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  };
  auto numbers = normals(4 * columns);
  numbers[3 * columns + 5] = std::numeric_limits<float>::infinity();
  auto model = [&](std::string_view name, uint32_t type, const std::string &bytes) {
    return test::GgufWriter().tensor(name, type, {columns, 4}, bytes).str();
  };
  fails(model("a.weight", 0, floatBytes(numbers)), "INGOT-E1130", {"\"a.weight\"", "column 5"});
  fails(model("a.weight", 26, floatBytes(numbers)), "INGOT-E1118", {"\"a.weight\""});
  ImportanceMatrix importance;
  importance.entries["a.weight"] = {std::vector<float>(columns + 1, 1.0f), {1}};
  const std::string good = floatBytes(normals(4 * columns));
  fails(model("a.weight", 0, good), "INGOT-E1133", {"\"a.weight\""}, &importance);
  fails("GGUF", "INGOT-E1102", {});
  // The embedding is asked for rows, not multiplied: what is measured for it need not fit.
  importance.entries["token_embd.weight"] = importance.entries["a.weight"];
  const auto in = folder.write("in.gguf", model("token_embd.weight", 0, good));
  QuantizeGgufOptions options = optionsOf("q4_0");
  options.importance = &importance;
  const auto result = quantizeGguf(in, out, options);
  ASSERT_TRUE(succeeds(result));
  EXPECT_FALSE(result->tensors[0].hasImportance);
}
