// SPDX-License-Identifier: Apache-2.0
// ingot formats: what becomes of each stored format on each target. docs/formats.md is its output.
#include "compiler/build/FormatSupport.h"
#include "compiler/tools/BuildArguments.h"
#include "compiler/tools/Commands.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace ingot;
using namespace ingot::compiler;

static constexpr char kAbout[] = R"(# Stored formats

What becomes of each stored format on each target. Printed by `ingot formats`; a test compares. The
rows are those of the readers (`compiler/checkpoint/quantized/methods`,
`compiler/checkpoint/gguf/GgmlBlocks.cpp`). Each target was asked for its kernels for a product of
such a weight with 16-bit activations, or of an f32 weight with f32 ones.

- *native*: a kernel reads the numbers as they are stored.
- *widened*: the engine holds more bits than the file, with the same values.
- *refused*: the build ends with an error that names the format. So it does for methods that are not
  listed.

The last heading has each target's usual kernel template; a cell names a target that takes another.
On GPUs `MatmulTensor` and `MatmulGroup` use tensor cores, `MatmulSimple` does not.
Where groups and scale types vary from checkpoint to checkpoint, the usual ones are here.
)";

static void printTable(const FormatTable &table) {
  llvm::raw_ostream &out = llvm::outs();
  out << "\n## " << table.title << "\n\n| " << llvm::join(table.columns, " | ") << " |\n|";
  for (size_t i = 0; i < table.columns.size(); ++i)
    out << "---|";
  out << "\n";
  for (const auto &row : table.rows)
    out << "| " << llvm::join(row, " | ") << " |\n";
}

int compiler::runFormats(int argc, char **argv) {
  runtime::CommandLine app(
      "Tells, in Markdown, how stored formats are read and which kernels they have.", argv[0],
      "examples:\n  ingot formats --target sm_90a --target x86-64-v3");
  std::vector<std::string> names = {"reference", "x86-64-v3", "sm_90a"};
  app.addOption("--target", names, "a target to ask; may be given several times").showDefault();
  if (auto status = parseArguments(app, argc, argv))
    return *status;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  prepareContext(context);
  std::vector<FormatTarget> targets;
  for (const std::string &name : names) {
    std::string error;
    auto target = codegen::findTarget(&context, name, error);
    if (failed(target)) {
      Progress(ProgressStyle::Lines).failed(error);
      return 1;
    }
    targets.push_back(*target);
  }
  llvm::outs() << kAbout;
  for (const FormatTable &table : tabulateFormats(context, targets))
    printTable(table);
  return 0;
}
