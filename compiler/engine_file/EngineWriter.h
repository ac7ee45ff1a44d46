// SPDX-License-Identifier: Apache-2.0
// Prints the engine dialect as the metadata of an engine file (runtime/schema/Engine.fbs), one to
// one and without decisions, and finishes the file.
#pragma once

#include "compiler/engine_file/OutputFile.h"
#include "compiler/weights/WeightFill.h"
#include "dialects/engine/EngineDialect.h"

#include <string>
#include <vector>

namespace ingot::engine {
class UnitOp;
} // namespace ingot::engine

namespace ingot::compiler {

/// A file the engine was made from.
struct InputFile {
  std::string name; ///< relative to the model directory
  uint64_t bytes = 0;
  checkpoint::Digest digest = {};
};

/// What became of an option: "4GiB" asked, "4294967296" effective, because "...".
struct OptionRecord {
  std::string name, asked, effective, reason;
};

struct Provenance {
  std::string compiler;  ///< "ingot 0.1.0"
  std::string revision;  ///< git revision of the compiler's sources
  std::string toolchain; ///< "LLVM 22.1.8"
  std::vector<InputFile> inputs;
  std::string recipe; ///< canonical text
  std::vector<OptionRecord> options;
  std::string tuning; ///< canonical text of the tuning lockfile; empty: none
};

/// What serving needs to know of a model; -1 where there is no such token.
struct ServingFacts {
  uint32_t vocabulary = 0;
  uint32_t maxContext = 0;
  int32_t bos = -1;
  std::vector<int32_t> eos;
  int32_t pad = -1;
  float temperature = 1;
  int32_t topK = 0;
  float topP = 1;
  float minP = 0;
  float repetitionPenalty = 1;
};

/// A greedy continuation; `margins` are the distances of the two best logits.
struct GoldenCase {
  std::vector<int32_t> prompt, tokens;
  std::vector<float> margins;
};

/// Everything an engine file states that is not in the engine dialect.
struct EngineDescription {
  std::string name;
  std::string architecture; ///< for people: "LlamaForCausalLM"
  Provenance provenance;
  ServingFacts serving;
  std::vector<GoldenCase> golden;
};

/// Where a weight of the module lies.
struct WeightPlacement {
  std::string name; ///< of the engine.weight
  uint32_t section = 0;
  uint64_t offset = 0; ///< within the section
  uint64_t bytes = 0;
  checkpoint::Digest digest = {};
  std::optional<WeightFill> fill; ///< made at load: not in the section, without digest
};

/// Places all weights of `module` one after the other, in their order, in section number
/// `section`; sets `sectionBytes` to what they take. Digests stay empty.
std::vector<WeightPlacement> placeWeights(mlir::ModuleOp module, uint32_t section,
                                          uint64_t &sectionBytes);

/// The digest that a section of weights states: SHA-256 of its weights' digests, end to end.
/// `weights` are all weights of the engine, in the module's order. Error: INGOT-E7006.
checkpoint::Expected<checkpoint::Digest> digestOfWeights(llvm::ArrayRef<WeightPlacement> weights,
                                                         uint32_t section);

/// Name of the section that holds the bytes of `library`: "kernels/<unit>/<library>".
std::string librarySectionName(engine::UnitOp unit, llvm::StringRef library);

/// The metadata of `module`: its engine.dim, engine.weight and engine.unit operations. Tables keep
/// the order of the operations of their kind. Every weight needs a placement, every library a
/// section. Failure comes with a located diagnostic, INGOT-E3901 ... E3905.
mlir::FailureOr<std::vector<std::byte>>
writeEngineMetadata(mlir::ModuleOp module, const EngineDescription &description,
                    llvm::ArrayRef<SectionEntry> sections, llvm::ArrayRef<WeightPlacement> weights);

/// Writes metadata and header and puts the file under its name. Errors: those of OutputFile.
checkpoint::Outcome finishEngineFile(OutputFile &file, llvm::ArrayRef<std::byte> metadata);

/// A path under which this process can open the engine as far as it is; finishEngineFile must still
/// follow. Errors: those of OutputFile.
checkpoint::Expected<std::filesystem::path> previewEngineFile(OutputFile &file,
                                                              llvm::ArrayRef<std::byte> metadata);

} // namespace ingot::compiler
