// SPDX-License-Identifier: Apache-2.0
// kernelKey: everything that the code follows from changes it, and nothing else does.
#include "codegen/native/KernelKey.h"
#include "dialects/engine/EngineOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>
#include <set>

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;

namespace {

constexpr char kOne[] = "bitcode", kOther[] = "bitcodE", kMore[] = "more";

KernelTemplate makeTemplate(const char *name, llvm::StringRef bitcode) {
  return {name, {bitcode.begin(), bitcode.end()}};
}

const KernelTemplate kTemplates[] = {makeTemplate("A", kOne), makeTemplate("B", kMore),
                                     makeTemplate("Memory", kMore)};

class KernelKeyTest : public testing::Test {
protected:
  KernelKeyTest() { context.loadDialect<engine::EngineDialect, arith::ArithDialect>(); }

  /// The key of `kernel`, behind other kernels that say `before`.
  std::string keyOf(const std::string &kernel, const KernelMachine &machine,
                    const std::string &before = "") {
    std::string text = "engine.unit @host <\"x86-64-v3\", backend = \"x86\", arch = \"x86-64\", "
                       "preference = 30> {\n" +
                       before + "engine.kernel " + kernel + "\n}\n";
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, ParserConfig(&context));
    if (!module)
      return "";
    auto kernels = (*module->getOps<engine::UnitOp>().begin()).getBody().getOps<engine::KernelOp>();
    engine::KernelOp last;
    for (engine::KernelOp one : kernels)
      last = one;
    return kernelKey(last, machine);
  }

  MLIRContext context;
  const KernelMachine machine = {
      .cpu = "x86-64-v3", .features = "+avxvnni", .set = {"x86_64-unknown-linux-gnu", kTemplates}};
};

constexpr const char *kPlain = "@k from \"A\" constants {n = 1 : i64, x = 0.5 : f64}";
constexpr const char *kRegion =
    " epilogue {\n^bb0(%a: f32, %b: f32):\n  %0 = arith.addf %a, %b : f32\n"
    "  engine.yield %0 : f32\n}";

TEST_F(KernelKeyTest, KernelsThatDifferHaveOtherKeys) {
  std::set<std::string> keys;
  const std::string region = std::string(kPlain) + kRegion;
  std::string swapped = region, product = region;
  swapped.replace(swapped.find("addf %a, %b"), 11, "addf %b, %a");
  product.replace(product.find("addf"), 4, "mulf");
  const std::string all[] = {kPlain,
                             region,
                             swapped,
                             product,
                             "@l from \"A\" constants {n = 1 : i64, x = 0.5 : f64}",
                             "@k from \"B\" constants {n = 1 : i64, x = 0.5 : f64}",
                             "@k from \"A\" constants {n = 2 : i64, x = 0.5 : f64}",
                             "@k from \"A\" constants {n = 1 : i64, x = 0.5000000000000001 : f64}",
                             "@k from \"A\" constants {m = 1 : i64, x = 0.5 : f64}",
                             "@k from \"A\" constants {n = 1 : i64}"};
  for (const std::string &kernel : all) {
    std::string key = keyOf(kernel, machine);
    EXPECT_EQ(key.size(), 64u) << kernel;
    EXPECT_TRUE(keys.insert(key).second) << kernel;
  }
}

TEST_F(KernelKeyTest, MachinesThatDifferHaveOtherKeys) {
  std::set<std::string> keys = {keyOf(kPlain, machine)};
  KernelMachine other = machine;
  other.cpu = "x86-64-v4";
  EXPECT_TRUE(keys.insert(keyOf(kPlain, other)).second);
  other = machine;
  other.features = "";
  EXPECT_TRUE(keys.insert(keyOf(kPlain, other)).second);
  other = machine;
  other.set.triple = "x86_64-unknown-freebsd";
  EXPECT_TRUE(keys.insert(keyOf(kPlain, other)).second);
  EXPECT_NE(memoryFunctionsKey(machine), memoryFunctionsKey(other));
}

TEST_F(KernelKeyTest, ATemplateChangesItsOwnKernelsAlone) {
  const KernelTemplate changed[] = {makeTemplate("A", kOther), kTemplates[1], kTemplates[2]};
  KernelMachine other = machine;
  other.set.templates = changed;
  EXPECT_NE(keyOf(kPlain, machine), keyOf(kPlain, other));
  EXPECT_EQ(keyOf("@k from \"B\" constants {}", machine),
            keyOf("@k from \"B\" constants {}", other));
  EXPECT_EQ(memoryFunctionsKey(machine), memoryFunctionsKey(other));
}

TEST_F(KernelKeyTest, TextsAndNeighboursAreNotInIt) {
  EXPECT_EQ(
      keyOf(kPlain, machine),
      keyOf("@k from \"A\" constants {n = 1 : i64, tuning = \"text\", x = 0.5 : f64}", machine));
  const std::string region = std::string(kPlain) + kRegion;
  EXPECT_EQ(keyOf(region, machine),
            keyOf(region, machine,
                  "engine.kernel @other from \"A\" constants {}" + std::string(kRegion) + "\n"));
}

} // namespace
