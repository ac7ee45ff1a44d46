// SPDX-License-Identifier: Apache-2.0
// Dims, weights, sections and provenance of an engine, and the file's header.
#include "compiler/engine_file/EngineWriter.h"

#include "compiler/engine_file/EngineWriterTypes.h"
#include "compiler/engine_file/EngineWriterUnit.h"
#include "dialects/engine/EngineOps.h"
#include "mlir/IR/Verifier.h"
#include "runtime/schema/FileHeader.h"
#include "llvm/ADT/StringMap.h"
#include <algorithm>
#include <cstring>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using flatbuffers::FlatBufferBuilder;

static_assert(OutputFile::headerBytes == sizeof(schema::FileHeader) &&
              OutputFile::sectionAlignment == schema::sectionAlignment &&
              OutputFile::weightsAlignment == schema::weightsAlignment &&
              OutputFile::sectionAlignment % schema::metadataAlignment == 0);
static_assert(int(SectionKind::Kernels) == int(schema::SectionKind::Kernels) &&
              int(SectionKind::Weights) == int(schema::SectionKind::Weights) &&
              int(SectionKind::Tokenizer) == int(schema::SectionKind::Tokenizer) &&
              int(SectionKind::ChatTemplate) == int(schema::SectionKind::ChatTemplate) &&
              int(SectionKind::Golden) == int(schema::SectionKind::Golden) &&
              int(SectionKind::Other) == int(schema::SectionKind::Other));

std::vector<WeightPlacement> compiler::placeWeights(ModuleOp module, uint32_t section,
                                                    uint64_t &sectionBytes) {
  std::vector<WeightPlacement> placements;
  sectionBytes = 0;
  for (auto weight : module.getOps<engine::WeightOp>()) {
    uint64_t offset = llvm::alignTo(sectionBytes, schema::sectionAlignment);
    auto bytes = uint64_t(weight.byteSize());
    placements.push_back({weight.getSymName().str(), section, offset, bytes, {}, std::nullopt});
    sectionBytes = offset + bytes;
  }
  return placements;
}

checkpoint::Expected<checkpoint::Digest>
compiler::digestOfWeights(ArrayRef<WeightPlacement> weights, uint32_t section) {
  checkpoint::Sha256 hash;
  for (const WeightPlacement &weight : weights)
    if (weight.section == section && !weight.fill)
      hash.update(std::as_bytes(std::span(weight.digest)));
  return hash.finish();
}

static auto writeDigest(FlatBufferBuilder &builder, const checkpoint::Digest &digest) {
  return builder.CreateVector(digest.data(), digest.size());
}

static auto writeDims(FlatBufferBuilder &builder, ModuleOp module, SymbolIndex &index) {
  std::vector<flatbuffers::Offset<schema::Dim>> tables;
  for (auto dim : module.getOps<engine::DimOp>()) {
    index.insert({dim.getSymNameAttr(), uint32_t(index.size())});
    tables.push_back(schema::CreateDim(builder, builder.CreateString(dim.getSymName().str()),
                                       enumOf<schema::DimSource>(dim.getSource()),
                                       int64_t(dim.getMin()), int64_t(dim.getMax())));
  }
  return builder.CreateVector(tables);
}

static flatbuffers::Offset<schema::Fill> writeFill(FlatBufferBuilder &builder,
                                                   const engine::WeightFill &fill) {
  std::vector<schema::FillPart> parts;
  std::vector<uint64_t> firsts;
  for (const engine::WeightFill::Part &part : fill.parts) {
    parts.emplace_back(part.key, part.rows);
    firsts.push_back(part.first);
  }
  bool begins = llvm::any_of(firsts, [](uint64_t first) { return first != 0; });
  std::vector<schema::LayoutDigit> digits;
  for (const engine::LayoutAttr::Digit &digit : fill.digits)
    digits.emplace_back(uint64_t(digit.stride), uint64_t(digit.radix), uint32_t(digit.axis));
  return schema::CreateFillDirect(builder, fill.low, fill.high, &parts, fill.block, fill.period,
                                  fill.columns, &digits, fill.padding, begins ? &firsts : nullptr);
}

static flatbuffers::Offset<schema::Weight>
writeWeight(FlatBufferBuilder &builder, engine::WeightOp op, const WeightPlacement &placement) {
  auto type = cast<RankedTensorType>(op.getType());
  std::string layoutDigits = layoutText(type.getEncoding());
  std::vector<uint64_t> extents(type.getShape().begin(), type.getShape().end());
  auto name = builder.CreateString(op.getSymName().str());
  auto format = op.getFormat().empty() ? 0 : builder.CreateString(op.getFormat().str());
  auto shape = builder.CreateVector(extents);
  auto layout = layoutDigits.empty() ? 0 : builder.CreateString(layoutDigits);
  auto digest = placement.fill ? 0 : writeDigest(builder, placement.digest);
  auto fill = placement.fill ? writeFill(builder, *placement.fill) : 0;
  return schema::CreateWeight(builder, name, dtypeOf(type.getElementType()), format, shape, layout,
                              placement.section, placement.offset, placement.bytes, digest, fill);
}

static auto writeSections(FlatBufferBuilder &builder, ArrayRef<SectionEntry> sections) {
  std::vector<flatbuffers::Offset<schema::Section>> tables;
  for (const SectionEntry &entry : sections) {
    auto name = builder.CreateString(entry.name);
    auto digest = writeDigest(builder, entry.digest);
    tables.push_back(schema::CreateSection(builder, name, schema::SectionKind(entry.kind), 0,
                                           entry.offset, entry.bytes, digest));
  }
  return builder.CreateVector(tables);
}

static auto writeProvenance(FlatBufferBuilder &builder, const Provenance &provenance) {
  std::vector<flatbuffers::Offset<schema::InputFile>> inputs;
  for (const InputFile &input : provenance.inputs) {
    auto name = builder.CreateString(input.name);
    auto digest = writeDigest(builder, input.digest);
    inputs.push_back(schema::CreateInputFile(builder, name, input.bytes, digest));
  }
  std::vector<flatbuffers::Offset<schema::Option>> options;
  for (const OptionRecord &option : provenance.options)
    options.push_back(schema::CreateOptionDirect(builder, option.name.c_str(), option.asked.c_str(),
                                                 option.effective.c_str(), option.reason.c_str()));
  return schema::CreateProvenanceDirect(
      builder, provenance.compiler.c_str(), provenance.revision.c_str(),
      provenance.toolchain.c_str(), &inputs, provenance.recipe.c_str(), &options,
      provenance.tuning.empty() ? nullptr : provenance.tuning.c_str());
}

static auto writeServing(FlatBufferBuilder &builder, const ServingFacts &facts) {
  return schema::CreateServingDirect(
      builder, facts.vocabulary, facts.maxContext, facts.bos, &facts.eos, facts.pad,
      facts.temperature, facts.topK, facts.topP, facts.minP, facts.repetitionPenalty,
      facts.placeholders.empty() ? nullptr : &facts.placeholders, facts.namesNoSampling);
}

static flatbuffers::Offset<schema::Images> writeImages(FlatBufferBuilder &builder,
                                                       const ImageFacts &facts) {
  auto text = [](const std::string &text) { return text.empty() ? nullptr : text.c_str(); };
  return schema::CreateImagesDirect(
      builder, schema::SizeRule(facts.rule), schema::ResizeFilter(facts.filter), facts.factor,
      facts.minPixels, facts.maxPixels, facts.frames, facts.width, facts.height, facts.maxTokens,
      facts.longestEdge, facts.tile, &facts.mean, &facts.deviation, facts.patch, facts.mergeRows,
      facts.mergeColumns, schema::ValueOrder(facts.channelsLast), facts.window,
      schema::PositionRule(facts.positions), facts.positionSide, text(facts.placeholder),
      text(facts.token), facts.tokenId, text(facts.before), text(facts.after),
      text(facts.beforeTile), text(facts.afterTileRow), text(facts.afterTiles), facts.seesAhead,
      facts.added, facts.axes, facts.stepToken);
}

static auto writeGolden(FlatBufferBuilder &builder, ArrayRef<GoldenCase> cases) {
  std::vector<flatbuffers::Offset<schema::GoldenCase>> tables;
  for (const GoldenCase &golden : cases)
    tables.push_back(
        schema::CreateGoldenCaseDirect(builder, &golden.prompt, &golden.tokens, &golden.margins));
  return builder.CreateVector(tables);
}

/// The placement of each weight of `module`, in the module's order.
static FailureOr<std::vector<WeightPlacement>> inModuleOrder(ModuleOp module,
                                                             ArrayRef<WeightPlacement> placements) {
  llvm::StringMap<const WeightPlacement *> byName;
  for (const WeightPlacement &placement : placements)
    byName[placement.name] = &placement;
  std::vector<WeightPlacement> ordered;
  for (auto weight : module.getOps<engine::WeightOp>()) {
    const WeightPlacement *placement = byName.lookup(weight.getSymName());
    if (!placement || placement->bytes != uint64_t(weight.byteSize()))
      return weight.emitError() << "INGOT-E3904: the file does not hold the " << weight.byteSize()
                                << " bytes of this weight";
    ordered.push_back(*placement);
  }
  return ordered;
}

FailureOr<std::vector<std::byte>>
compiler::writeEngineMetadata(ModuleOp module, const EngineDescription &description,
                              ArrayRef<SectionEntry> sections, ArrayRef<WeightPlacement> weights) {
  if (failed(verify(module)))
    return failure();
  FailureOr<std::vector<WeightPlacement>> placements = inModuleOrder(module, weights);
  if (failed(placements))
    return failure();

  FlatBufferBuilder builder(1 << 20);
  SymbolIndex dims, weightIndex;
  auto dimTables = writeDims(builder, module, dims);
  std::vector<flatbuffers::Offset<schema::Weight>> weightTables;
  for (auto [op, placement] : llvm::zip_equal(module.getOps<engine::WeightOp>(), *placements)) {
    weightIndex.insert({op.getSymNameAttr(), uint32_t(weightIndex.size())});
    weightTables.push_back(writeWeight(builder, op, placement));
  }
  EngineUnitWriter unitWriter(builder, dims, weightIndex, *placements, sections);
  std::vector<flatbuffers::Offset<schema::Target>> targets;
  for (auto unit : module.getOps<engine::UnitOp>()) {
    FailureOr<flatbuffers::Offset<schema::Target>> target = unitWriter.write(unit);
    if (failed(target))
      return failure();
    targets.push_back(*target);
  }
  auto sectionTables = writeSections(builder, sections);
  auto provenance = writeProvenance(builder, description.provenance);
  auto serving = writeServing(builder, description.serving);
  auto golden = writeGolden(builder, description.golden);
  auto images = description.images ? writeImages(builder, *description.images)
                                   : flatbuffers::Offset<schema::Images>();
  auto name = builder.CreateString(description.name);
  auto architecture = builder.CreateString(description.architecture);
  auto targetTables = builder.CreateVector(targets);
  auto weightVector = builder.CreateVector(weightTables);
  schema::FinishEngineBuffer(builder,
                             schema::CreateEngine(builder, name, architecture, dimTables,
                                                  targetTables, weightVector, sectionTables,
                                                  provenance, serving, golden, images));
  if (builder.GetSize() > schema::maximumMetadataBytes)
    return module.emitError() << "INGOT-E3905: the metadata takes " << builder.GetSize()
                              << " bytes, an engine file holds at most "
                              << schema::maximumMetadataBytes;
  auto *start = reinterpret_cast<const std::byte *>(builder.GetBufferPointer());
  return std::vector<std::byte>(start, start + builder.GetSize());
}

/// The header of `file` with `metadata` behind its sections.
static checkpoint::Expected<schema::FileHeader> makeHeader(const OutputFile &file,
                                                           ArrayRef<std::byte> metadata) {
  checkpoint::Sha256 hash;
  hash.update(metadata);
  checkpoint::Expected<checkpoint::Digest> digest = hash.finish();
  if (!digest)
    return digest.error();
  schema::FileHeader header = {};
  std::copy(std::begin(schema::fileMagic), std::end(schema::fileMagic), header.magic);
  header.formatVersion = schema::fileFormatVersion;
  header.metadataOffset = file.end();
  header.metadataBytes = metadata.size();
  std::copy(digest->begin(), digest->end(), header.metadataDigest);
  return header;
}

checkpoint::Outcome compiler::finishEngineFile(OutputFile &file, ArrayRef<std::byte> metadata) {
  checkpoint::Expected<schema::FileHeader> header = makeHeader(file, metadata);
  if (!header)
    return header.error();
  return file.finish(std::as_bytes(std::span<const schema::FileHeader, 1>(&*header, 1)), metadata);
}

checkpoint::Expected<std::filesystem::path>
compiler::previewEngineFile(OutputFile &file, ArrayRef<std::byte> metadata) {
  checkpoint::Expected<schema::FileHeader> header = makeHeader(file, metadata);
  if (!header)
    return header.error();
  return file.preview(std::as_bytes(std::span<const schema::FileHeader, 1>(&*header, 1)), metadata);
}
