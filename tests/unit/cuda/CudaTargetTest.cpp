// SPDX-License-Identifier: Apache-2.0
// What compiling a unit for a GPU gives: with binaries, as PTX alone, and out of a cache.
#include "codegen/cuda/CudaTarget.h"
#include "codegen/BuildCache.h"
#include "codegen/cuda/CudaTemplates.h"
#include "codegen/cuda/KernelEvidence.h"
#include "codegen/cuda/Nvrtc.h"
#include "dialects/engine/EngineOps.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include <filesystem>
#include <gtest/gtest.h>
#include <map>

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;

namespace {

constexpr const char *kKernel =
    " from \"CopyRows\" constants {buffers = 2 : i64, scalars = 0 : i64, first_byte = 0 : i64, "
    "gather = 0 : i64, "
    "input_row_bytes = 64 : i64, result_row_bytes = 64 : i64, tensor_maps = 0 : i64, threads = 32 "
    ": i64} "
    "block [32, 1, 1]\n";

class CudaTargetTest : public testing::Test {
protected:
  void SetUp() override {
    auto nvrtc = Nvrtc::load("");
    if (!nvrtc) {
      llvm::consumeError(nvrtc.takeError());
      GTEST_SKIP() << "no NVRTC";
    }
    context.loadDialect<engine::EngineDialect>();
    std::string pattern = testing::TempDir() + "ingot-cuda-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    cache = llvm::cantFail(BuildCache::open(pattern));
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  /// Two kernels of one source.
  engine::UnitOp parsed() {
    std::string text = "engine.unit @gpu <\"sm_80\", backend = \"cuda\", arch = \"sm_80\", "
                       "preference = 80> {\n  engine.kernel @one" +
                       std::string(kKernel) + "  engine.kernel @two" + kKernel + "}\n";
    module = parseSourceString<ModuleOp>(text, ParserConfig(&context));
    EXPECT_TRUE(module);
    return unit();
  }

  /// Their libraries by name.
  std::map<std::string, CompiledLibrary> compile(const CompileOptions &options) {
    auto made = cudaTarget().compile(parsed(), options);
    EXPECT_TRUE(succeeded(made) && succeeded(verify(module.get())));
    std::map<std::string, CompiledLibrary> libraries;
    if (succeeded(made))
      for (CompiledLibrary &library : *made)
        libraries[library.name] = library;
    return libraries;
  }

  engine::UnitOp unit() { return *module->getOps<engine::UnitOp>().begin(); }

  /// The library of each kernel, and whether it has a fact that only a binary gives.
  std::string kernels() {
    std::string text;
    for (auto kernel : unit().getBody().getOps<engine::KernelOp>()) {
      auto facts = kernel.getFacts();
      text += kernel.getLibrary()->str() + (facts && facts->contains("registers") ? "+ " : " ");
    }
    return text;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::filesystem::path folder;
  std::unique_ptr<BuildCache> cache;
};

TEST_F(CudaTargetTest, KernelsOfOneSourceShareABinaryAndItsPtx) {
  auto libraries = compile({});
  EXPECT_EQ(libraries.size(), 2u);
  EXPECT_EQ(libraries["one.cubin"].kind, "cubin");
  EXPECT_EQ(libraries["one.ptx"].kind, "ptx");
  EXPECT_EQ(kernels(), "one.cubin+ one.cubin+ ");
}

TEST_F(CudaTargetTest, PtxAloneIsTheSamePtx) {
  std::string ptx = compile({})["one.ptx"].bytes;
  CompileOptions options;
  options.ptxOnly = true;
  options.keepPtx = false; // has nothing to leave out
  auto libraries = compile(options);
  EXPECT_EQ(libraries.size(), 1u);
  EXPECT_EQ(libraries["one.ptx"].kind, "ptx");
  EXPECT_EQ(libraries["one.ptx"].bytes, ptx);
  EXPECT_FALSE(ptx.empty());
  EXPECT_EQ(kernels(), "one.ptx one.ptx ");
}

TEST_F(CudaTargetTest, PtxAndBinaryAreKeptApart) {
  auto plain = compile({});
  CompileOptions options;
  options.cache = cache.get();
  options.ptxOnly = true;
  compile(options);
  ASSERT_EQ(cache->kinds().size(), 1u);
  EXPECT_EQ(cache->kinds().front().name, "cuda-ptx");
  EXPECT_EQ(cache->misses(), 1u);
  compile(options);
  EXPECT_EQ(cache->hits(), 1u);

  options.ptxOnly = false;
  EXPECT_EQ(compile(options)["one.cubin"].bytes, plain["one.cubin"].bytes);
  EXPECT_EQ(cache->misses(), 3u); // the cubin and the log
  EXPECT_EQ(cache->kinds().size(), 3u);
  auto kept = compile(options);
  EXPECT_EQ(cache->misses(), 3u);
  EXPECT_EQ(kernels(), "one.cubin+ one.cubin+ ");
  for (const char *name : {"one.cubin", "one.ptx"})
    EXPECT_EQ(kept[name].bytes, plain[name].bytes) << name;
}

TEST_F(CudaTargetTest, CopiesOfActivationsAreFenced) {
  auto compileWith = [&](const std::string &more) {
    std::string constants = kKernel;
    constants.replace(constants.find("tensor_maps = 0"), 15, "tensor_maps = 1");
    constants.replace(constants.find("block [32, 1, 1]\n"), 17,
                      "block [32, 1, 1] maps [#engine.tensor_map<buffer = 0, rows = \"T\" x 64, "
                      "box = 8 x 64, element = bf16" +
                          more + ">]\n");
    std::string text = "engine.dim @T \"step\" 1 to 64\n"
                       "engine.unit @gpu <\"sm_90a\", backend = \"cuda\", arch = \"sm_90a\", "
                       "preference = 90> {\n  engine.kernel @one" +
                       constants + "}\n";
    module = parseSourceString<ModuleOp>(text, ParserConfig(&context));
    EXPECT_TRUE(module);
    std::string ptx;
    auto made = cudaTarget().compile(unit(), {});
    EXPECT_TRUE(succeeded(made));
    for (const CompiledLibrary &library : *made)
      ptx += library.kind == "ptx" ? library.bytes : "";
    return ptx;
  };
  EXPECT_EQ(compileWith("").find("fence.proxy.async"), std::string::npos);
  std::string ptx = compileWith(", swizzle = 64, fenced = true");
  EXPECT_LT(ptx.find("griddepcontrol.wait"), ptx.find("fence.proxy.async.global")) << ptx;
  EXPECT_NE(ptx.find("fence.proxy.async.global"), std::string::npos) << ptx;
}

TEST_F(CudaTargetTest, BinariesWithoutTheirFenceAreRefused) {
  compile({});
  auto kernel = *unit().getBody().getOps<engine::KernelOp>().begin();
  CubinFacts facts;
  facts.architecture = 80;
  facts.kernel = "one";
  const CudaArchitecture &architecture = *findCudaArchitecture("sm_80");
  auto missing = [&] { return missingEvidence(kernel, facts, architecture).value_or(""); };
  EXPECT_EQ(missing(), "");
  auto map = engine::TensorMapAttr::get(&context, 0, engine::getExpr(&context, "8"), 64, 8, 64,
                                        Type(), 0, /*fenced=*/true);
  kernel.setTensorMapsAttr(ArrayAttr::get(&context, {map}));
  EXPECT_EQ(missing(), "it has no fence before its copies of what launches write");
  facts.instructions["FENCE"] = 1;
  EXPECT_EQ(missing(), "");
}

TEST_F(CudaTargetTest, SharedMemoryIsStatedOnce) {
  compile({});
  auto kernel = *unit().getBody().getOps<engine::KernelOp>().begin();
  const CudaArchitecture &architecture = *findCudaArchitecture("sm_80");
  kernel.setSharedBytes(1024);
  llvm::Expected<KernelSource> source = kernelSource(kernel, architecture);
  ASSERT_FALSE(source);
  EXPECT_EQ(llvm::toString(source.takeError()),
            "INGOT-E4002: the constant 'shared_bytes' is not the 1024 bytes of the launch");
  // Each template with dynamic shared memory holds it to what it keeps there.
  int dynamic = 0;
  for (const CudaTemplate &file : cudaTemplates()) {
    if (!file.name.ends_with(".cu") || !file.text.contains("extern __shared__"))
      continue;
    ++dynamic;
    std::string whole = cudaTemplateText(file.name);
    bool isHeld = false;
    for (llvm::StringRef left = whole; !left.empty() && !isHeld;) {
      left = left.substr(left.find("static_assert("));
      isHeld = left.take_until([](char c) { return c == ';'; }).contains("constants::shared_bytes");
      left = left.drop_front(std::min<size_t>(left.size(), 1));
    }
    EXPECT_TRUE(isHeld) << file.name.str();
  }
  EXPECT_GE(dynamic, 4);
}

TEST_F(CudaTargetTest, ALogOfSerialisedProductsFailsTheBuild) {
  CompileOptions options;
  options.cache = cache.get();
  compile(options);
  // No template's log tells of such; the cache can.
  auto kernel = *unit().getBody().getOps<engine::KernelOp>().begin();
  KernelSource source = llvm::cantFail(kernelSource(kernel, *findCudaArchitecture("sm_80")));
  auto nvrtc = llvm::cantFail(Nvrtc::load(""));
  std::string key = CacheKey().add(nvrtc->identity()).add(source.digest()).add(source.name).text();
  ASSERT_TRUE(cache->get("cuda-log", key));
  cache->put("cuda-log", key,
             "ptxas info : (C7508) Potential Performance Loss: wgmma.mma_async instructions are "
             "serialized due to insufficient register resources in the function 'one'");
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    message += diagnostic.str();
    return success();
  });
  EXPECT_TRUE(failed(cudaTarget().compile(parsed(), options)));
  EXPECT_NE(message.find("INGOT-E4306: kernel 'one' from template 'CopyRows'"), std::string::npos)
      << message;
  EXPECT_NE(message.find("C7508"), std::string::npos) << message;
}

} // namespace
