// SPDX-License-Identifier: Apache-2.0
// ingot-opt: runs passes on a text of the llm and engine dialects; the tool of the lit tests.
// With --from-engine it prints the engine dialect of an engine file.
#include "compiler/build/RegisterPasses.h"
#include "compiler/engine_file/EngineReader.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"

using namespace ingot;

/// Prints what the engine file `path` holds.
static llvm::LogicalResult printEngine(const std::string &path,
                                       const mlir::DialectRegistry &registry) {
  checkpoint::Expected<std::vector<std::byte>> metadata = compiler::readMetadataBytes(path);
  if (!metadata) {
    llvm::errs() << "error: " << metadata.error().str() << "\n";
    return llvm::failure();
  }
  mlir::MLIRContext context(registry);
  mlir::OwningOpRef<mlir::ModuleOp> module = compiler::readEngineMetadata(context, *metadata);
  if (!module)
    return llvm::failure();
  module->print(llvm::outs());
  return llvm::success();
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  mlir::DialectRegistry registry;
  compiler::registerEverything(registry);
  llvm::cl::opt<std::string> fromEngine("from-engine",
                                        llvm::cl::desc("Print the programs of an engine file"),
                                        llvm::cl::value_desc("file"));
  auto [input, output] = mlir::registerAndParseCLIOptions(
      argc, argv, "Ingot: passes over the llm and engine dialects", registry);
  return mlir::asMainReturnCode(fromEngine.empty()
                                    ? mlir::MlirOptMain(argc, argv, input, output, registry)
                                    : printEngine(fromEngine, registry));
}
