// SPDX-License-Identifier: Apache-2.0
// EngineWriter and EngineReader: whole files, the runtime's verdict on them, and hostile metadata.
#include "compiler/engine_file/EngineWriter.h"
#include "compiler/engine_file/EngineReader.h"
#include "dialects/engine/EngineOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"
#include "runtime/engine/EngineFile.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
namespace fs = std::filesystem;

namespace {

constexpr const char *program = R"mlir(
engine.dim @T "step" 1 to 16
engine.weight @w tensor<4x8xf32> format "f32"
engine.weight @bias tensor<3xi8>
engine.unit @host <"x86-64-v3", backend = "x86", arch = "x86-64", preference = 30> {
  engine.kv_group @global "global" block 4
  engine.buffer @x "input" f32 [#engine.expr<"T">, #engine.expr<"8">] bytes <"T * 32">
  engine.buffer @y "output" f32 [#engine.expr<"T">, #engine.expr<"4">] bytes <"T * 16">
  engine.buffer @kv "kv" f32 [#engine.expr<"64">] bytes <"256"> group @global
  engine.buffer @counts "state" i32 [#engine.expr<"8">] bytes <"32">
  engine.buffer @adapter "slot" f32 [#engine.expr<"8">] bytes <"32">
  engine.buffer @w "weight" f32 [#engine.expr<"4">, #engine.expr<"8">] bytes <"128"> weight @w
  engine.buffer @bias "weight" i8 [#engine.expr<"3">] bytes <"3"> weight @bias
  engine.library @kernels "host_shared_object"
  engine.kernel @matmul from "matmul" constants {k = 8 : i64} guards [#engine.range<"T", 1, 16>]
      scratch 96 cluster [1]
      maps [#engine.tensor_map<buffer = 0, rows = "T" x 32, box = 8 x 32, element = f32,
                               swizzle = 32>,
            #engine.tensor_map<buffer = 1, rows = 4 x 32, box = 4 x 16>,
            #engine.tensor_map<buffer = 3, rows = "T min 16" x 16, box = 8 x 16, element = bf16,
                               fenced = true>]
      library @kernels facts {object_bytes = "9"} epilogue {
  ^bb0(%sum: f32):
    %0 = math.tanh %sum : f32
    engine.yield %0 : f32
  }
  engine.arena_tier [#engine.range<"T", 1, 16>] bytes 768 offsets [0, 512]
  engine.program @step dims [@T] inputs [@x] outputs [@y] {
    engine.launch "matmul layers.0" [#engine.variant<@matmul grid [<"T ceildiv 4">]>]
        args [@x, @w, @bias, @y, #engine.expr<"T">]
    engine.segment "layers.0" tap @y
  }
  engine.coverage @step 0 over [#engine.range<"T", 1, 16>] by [@matmul]
}
)mlir";

class EngineWriterTest : public testing::Test {
protected:
  EngineWriterTest() {
    context.loadDialect<engine::EngineDialect, arith::ArithDialect, math::MathDialect>();
    module = parseSourceString<ModuleOp>(program, ParserConfig(&context));
    std::string name = (fs::temp_directory_path() / "ingot-writer-XXXXXX").string();
    folder = mkdtemp(name.data());
    path = folder / "model.ingot";
    description.name = "test";
    description.architecture = "LlamaForCausalLM";
    description.provenance = {"ingot 0.1.0",  "abc",
                              "LLVM 22",      {{"config.json", 12, {}}},
                              "version: 1\n", {{"max-batch-tokens", "", "16", "default"}}};
    description.serving.vocabulary = 8;
    description.serving.maxContext = 64;
    description.serving.eos = {2, 3};
    description.golden = {{{1, 2}, {3}, {0.5f}}};
  }
  ~EngineWriterTest() override { fs::remove_all(folder); }

  /// Writes the module as a whole file.
  void writeFile() {
    ASSERT_TRUE(module);
    auto file = OutputFile::create(path);
    ASSERT_TRUE(file);
    auto unit = *module->getOps<engine::UnitOp>().begin();
    std::string code = "code bytes";
    ASSERT_TRUE(file->append(librarySectionName(unit.getSymName(), "kernels"), SectionKind::Kernels,
                             std::as_bytes(std::span(code))));
    uint64_t bytes = 0;
    std::vector<WeightPlacement> weights = placeWeights(*module, 1, bytes);
    auto section = file->reserve("weights", SectionKind::Weights, bytes);
    ASSERT_TRUE(section);
    ASSERT_EQ(*section, 1u);
    for (WeightPlacement &weight : weights) {
      std::string data(weight.bytes, 'w');
      ASSERT_TRUE(file->writeAt(1, weight.offset, std::as_bytes(std::span(data))));
      weight.digest = *checkpoint::sha256(data);
    }
    file->setDigest(1, *digestOfWeights(weights, 1));
    auto metadata = writeEngineMetadata(*module, description, file->sections(), weights);
    ASSERT_TRUE(succeeded(metadata));
    ASSERT_TRUE(finishEngineFile(*file, *metadata));
  }

  static std::string textOf(ModuleOp module) {
    std::string text;
    llvm::raw_string_ostream(text) << module;
    return text;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  EngineDescription description;
  fs::path folder, path;
};

TEST_F(EngineWriterTest, TheRuntimeAcceptsTheFile) {
  writeFile();
  auto file = runtime::EngineFile::open(path.string(), {.weights = true});
  ASSERT_TRUE(file.ok()) << file.status().toString();
  const schema::Engine &engine = (*file)->metadata();
  EXPECT_EQ(engine.architecture()->str(), "LlamaForCausalLM");
  EXPECT_EQ(engine.provenance()->inputs()->Get(0)->bytes(), 12u);
  EXPECT_EQ(engine.provenance()->recipe()->str(), "version: 1\n");
  EXPECT_EQ(engine.provenance()->options()->Get(0)->effective()->str(), "16");
  EXPECT_EQ(engine.serving()->eos()->Get(1), 3);
  EXPECT_EQ(engine.golden()->Get(0)->margins()->Get(0), 0.5f);
  EXPECT_EQ(engine.weights()->Get(1)->offset(), 128u);
  const schema::Target &target = *engine.targets()->Get(0);
  EXPECT_EQ(target.memory()->weight_bytes(), 131u);
  EXPECT_EQ(target.memory()->state_bytes_per_sequence(), 32u);
  EXPECT_EQ(target.memory()->scratch_bytes_per_thread(), 96u);
  EXPECT_EQ(target.memory()->slot_bytes(), 32u);
  EXPECT_EQ(target.kv_groups()->Get(0)->block_bytes(), 256u);
  EXPECT_EQ(std::string((*file)->section(0).begin(), (*file)->section(0).end()), "code bytes");
  EXPECT_EQ((*file)->weight(1).size(), 3u);
}

TEST_F(EngineWriterTest, TheRuntimeSeesADamagedWeight) {
  writeFile();
  {
    std::unique_ptr<FILE, int (*)(FILE *)> stream(fopen(path.c_str(), "r+b"), fclose);
    ASSERT_TRUE(stream);
    ASSERT_EQ(fseek(stream.get(), 4096 + 128, SEEK_SET), 0);
    ASSERT_EQ(fputc('x', stream.get()), 'x');
  }
  EXPECT_TRUE(runtime::EngineFile::open(path.string()).ok());
  EXPECT_FALSE(runtime::EngineFile::open(path.string(), {.weights = true}).ok());
}

TEST_F(EngineWriterTest, ReadsBackWhatItWrote) {
  writeFile();
  auto metadata = readMetadataBytes(path);
  ASSERT_TRUE(metadata) << metadata.error().str();
  OwningOpRef<ModuleOp> read = readEngineMetadata(context, *metadata);
  ASSERT_TRUE(read);
  EXPECT_EQ(textOf(*read), textOf(*module));
}

TEST_F(EngineWriterTest, EqualModulesGiveEqualBytes) {
  writeFile();
  auto first = runtime::EngineFile::open(path.string());
  ASSERT_TRUE(first.ok());
  runtime::Digest digest = (*first)->digest();
  MLIRContext other;
  other.loadDialect<engine::EngineDialect, arith::ArithDialect, math::MathDialect>();
  OwningOpRef<ModuleOp> again = parseSourceString<ModuleOp>(program, ParserConfig(&other));
  std::swap(module, again);
  writeFile();
  std::swap(module, again);
  auto second = runtime::EngineFile::open(path.string());
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(digest, (*second)->digest());
}

TEST_F(EngineWriterTest, RefusesMissingSectionsAndWeights) {
  std::vector<std::string> messages;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    messages.push_back(diagnostic.str());
    return success();
  });
  EXPECT_TRUE(failed(writeEngineMetadata(*module, description, {}, {})));
  uint64_t bytes = 0;
  std::vector<WeightPlacement> weights = placeWeights(*module, 0, bytes);
  EXPECT_TRUE(failed(writeEngineMetadata(*module, description, {}, weights)));
  weights[0].bytes -= 1;
  EXPECT_TRUE(failed(writeEngineMetadata(*module, description, {}, weights)));
  EXPECT_THAT(messages, testing::ElementsAre(testing::HasSubstr("INGOT-E3904"),
                                             testing::HasSubstr("INGOT-E3903"),
                                             testing::HasSubstr("INGOT-E3904")));
}

TEST_F(EngineWriterTest, MutatedMetadataIsReadOrRefused) {
  writeFile();
  auto metadata = readMetadataBytes(path);
  ASSERT_TRUE(metadata);
  unsigned errors = 0, refused = 0;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &) {
    ++errors;
    return success();
  });
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::byte> mutated = *metadata;
    for (int change = 0; change < 1 + round % 3; ++change)
      mutated[random() % mutated.size()] = std::byte(random());
    if (round % 10 == 0)
      mutated.resize(random() % mutated.size());
    unsigned before = errors;
    if (!readEngineMetadata(context, mutated)) {
      ++refused;
      EXPECT_GT(errors, before) << "a refusal needs a diagnostic";
    }
  }
  EXPECT_GT(refused, 0u);
}

TEST_F(EngineWriterTest, RefusesDamagedFiles) {
  writeFile();
  fs::resize_file(path, fs::file_size(path) - 1);
  auto cut = readMetadataBytes(path);
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code, "INGOT-E5802");
  fs::resize_file(path, 10);
  auto stub = readMetadataBytes(path);
  ASSERT_FALSE(stub);
  EXPECT_EQ(stub.error().code, "INGOT-E5802");
}

} // namespace
