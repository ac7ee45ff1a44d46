// SPDX-License-Identifier: Apache-2.0
// compileKernels: what a template is held to before it becomes code.
#include "codegen/native/KernelLibrary.h"
#include "dialects/engine/EngineOps.h"

#include "mlir/Parser/Parser.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;
using testing::AllOf;
using testing::HasSubstr;

namespace ingot::codegen {
/// Generated when the project was built.
const TemplateSet &x86V3Templates();
const TemplateSet &x86V3VnniTemplates();
} // namespace ingot::codegen

namespace {

constexpr const char *constants =
    "first_byte = 0 : i64, gather = 1 : i64, input_row_bytes = 64 : i64, "
    "result_row_bytes = 64 : i64";

class KernelLibraryTest : public testing::Test {
protected:
  KernelLibraryTest() { context.loadDialect<engine::EngineDialect>(); }

  /// Compiles a library of one kernel; the error if there is none, else nothing.
  std::string errorOf(const std::string &source, const std::string &given,
                      const KernelMachine &machine) {
    std::string text = "engine.unit @host <\"x86-64-v3\", backend = \"x86\", arch = \"x86-64\", "
                       "preference = 30> {\n  engine.kernel @copy from \"" +
                       source + "\" constants {" + given + "}\n}\n";
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, ParserConfig(&context));
    EXPECT_TRUE(module);
    std::string error;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      error += diagnostic.str();
      return success();
    });
    auto made =
        compileKernels(*module->getOps<engine::UnitOp>().begin(), machine, CompileOptions());
    EXPECT_EQ(failed(made), !error.empty());
    if (succeeded(made)) {
      EXPECT_EQ(made->size(), 1u);
      EXPECT_FALSE(made->front().bytes.empty());
    }
    return error;
  }

  MLIRContext context;
};

TEST_F(KernelLibraryTest, TemplatesCompileForTheFeaturesTheyWereMadeWith) {
  EXPECT_EQ(
      errorOf("CopyRows", constants, {.cpu = "x86-64-v3", .features = "", .set = x86V3Templates()}),
      "");
  EXPECT_EQ(errorOf("CopyRows", constants,
                    {.cpu = "x86-64-v3", .features = "+avxvnni", .set = x86V3Templates()}),
            "");
}

TEST_F(KernelLibraryTest, FeaturesBeyondTheMachineAreRefused) {
  EXPECT_THAT(
      errorOf("CopyRows", constants, {.cpu = "x86-64-v2", .features = "", .set = x86V3Templates()}),
      AllOf(HasSubstr("INGOT-E4004"), HasSubstr("x86-64-v3"), HasSubstr("'x86-64-v2'")));
  EXPECT_THAT(errorOf("CopyRows", constants,
                      {.cpu = "x86-64-v3", .features = "", .set = x86V3VnniTemplates()}),
              AllOf(HasSubstr("INGOT-E4004"), HasSubstr("+avxvnni")));
}

TEST_F(KernelLibraryTest, AKernelNeedsItsTemplateAndItsConstants) {
  const KernelMachine machine = {.cpu = "x86-64-v3", .features = "", .set = x86V3Templates()};
  EXPECT_THAT(errorOf("CopyColumns", constants, machine),
              AllOf(HasSubstr("INGOT-E4001"), HasSubstr("'CopyColumns'")));
  EXPECT_THAT(errorOf("CopyRows", "gather = 1 : i64", machine),
              AllOf(HasSubstr("INGOT-E4002"), HasSubstr("is missing")));
  std::string wrong = constants;
  wrong.replace(wrong.find("1 : i64"), 7, "\"yes\"");
  EXPECT_THAT(errorOf("CopyRows", wrong, machine),
              AllOf(HasSubstr("INGOT-E4002"), HasSubstr("'gather' is of the wrong kind")));
}

} // namespace
