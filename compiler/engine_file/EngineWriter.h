// SPDX-License-Identifier: Apache-2.0
// Prints the engine dialect as the metadata of an engine file (runtime/schema/Engine.fbs), one to
// one and without decisions, and finishes the file.
#pragma once

#include "compiler/engine_file/EngineDescription.h"
#include "compiler/engine_file/OutputFile.h"
#include "dialects/engine/EngineDialect.h"

namespace ingot::compiler {

/// Places all weights of `module` one after the other, in their order, in section number
/// `section`; sets `sectionBytes` to what they take. Digests stay empty.
std::vector<WeightPlacement> placeWeights(mlir::ModuleOp module, uint32_t section,
                                          uint64_t &sectionBytes);

/// The digest that a section of weights states: SHA-256 of its weights' digests, end to end.
/// `weights` are all weights of the engine, in the module's order. Error: INGOT-E7006.
checkpoint::Expected<checkpoint::Digest> digestOfWeights(llvm::ArrayRef<WeightPlacement> weights,
                                                         uint32_t section);

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
