// SPDX-License-Identifier: Apache-2.0
// Header, digest and FlatBuffer verification; dims and weights.
#include "compiler/engine_file/EngineReader.h"

#include "compiler/checkpoint/files/Digest.h"
#include "compiler/checkpoint/files/File.h"
#include "compiler/engine_file/EngineReaderUnit.h"
#include "compiler/engine_file/EngineWriterTypes.h"
#include "dialects/engine/EngineOps.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Verifier.h"
#include "runtime/schema/FileHeader.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

static InFlightDiagnostic badMetadata(MLIRContext &context) {
  return emitError(UnknownLoc::get(&context)) << "INGOT-E5801: engine metadata: ";
}

Attribute compiler::parseAttributeText(MLIRContext *context, const std::string &text) {
  constexpr int maximumDepth = 32;
  int depth = 0;
  for (char c : text) {
    depth += llvm::StringRef("{[(<").contains(c) - llvm::StringRef("}])>").contains(c);
    if (depth > maximumDepth) {
      badMetadata(*context) << "an attribute is nested too deeply";
      return {};
    }
  }
  return parseAttribute(text, context);
}

/// The tensor type of a weight; null with a diagnostic if the table describes none.
static RankedTensorType weightType(MLIRContext &context, const schema::Weight &table) {
  constexpr int64_t maximumElements = int64_t(1) << 48;
  auto bad = [&](StringRef what) {
    badMetadata(context) << "weight '" << textOf(table.name()) << "': " << what;
    return RankedTensorType();
  };
  SmallVector<int64_t> shape;
  int64_t elements = 1;
  for (uint32_t i = 0; i < countOf(table.shape()); ++i) {
    uint64_t extent = table.shape()->Get(i);
    if (extent > uint64_t(maximumElements) ||
        llvm::MulOverflow(elements, std::max<int64_t>(int64_t(extent), 1), elements) ||
        elements > maximumElements)
      return bad("impossible shape");
    shape.push_back(int64_t(extent));
  }
  Type element = elementOf(&context, table.dtype());
  if (!element)
    return bad("unknown element type");
  Attribute layout;
  if (StringRef digits = textOf(table.layout()); !digits.empty()) {
    layout = parseAttributeText(&context, ("#engine.layout<" + digits + ">").str());
    if (!isa_and_nonnull<engine::LayoutAttr>(layout))
      return bad("unknown layout");
  }
  return RankedTensorType::get(shape, element, layout);
}

static LogicalResult readEngine(OpBuilder &builder, const schema::Engine &engine) {
  MLIRContext &context = *builder.getContext();
  Location location = builder.getUnknownLoc();
  NameList dims, weights;
  for (uint32_t i = 0; i < countOf(engine.dims()); ++i) {
    const schema::Dim &dim = *engine.dims()->Get(i);
    std::optional<StringRef> source = wordOf(dim.source());
    if (!source)
      return badMetadata(context) << "dim '" << textOf(dim.name()) << "' has an unknown source";
    dims.push_back(FlatSymbolRefAttr::get(&context, textOf(dim.name())));
    engine::DimOp::create(builder, location, textOf(dim.name()), *source, dim.min(), dim.max());
  }
  for (uint32_t i = 0; i < countOf(engine.weights()); ++i) {
    const schema::Weight &weight = *engine.weights()->Get(i);
    RankedTensorType type = weightType(context, weight);
    if (!type)
      return failure();
    weights.push_back(FlatSymbolRefAttr::get(&context, textOf(weight.name())));
    engine::WeightOp::create(builder, location, textOf(weight.name()), type,
                             textOf(weight.format()));
  }
  EngineUnitReader reader(builder, location, dims, weights);
  for (uint32_t i = 0; i < countOf(engine.targets()); ++i)
    if (failed(reader.read(*engine.targets()->Get(i))))
      return failure();
  return success();
}

OwningOpRef<ModuleOp> compiler::readEngineMetadata(MLIRContext &context,
                                                   ArrayRef<std::byte> metadata) {
  constexpr uint32_t maximumDepth = 64, maximumTables = 100'000'000;
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t *>(metadata.data()),
                                 metadata.size(), maximumDepth, maximumTables);
  if (metadata.size() > schema::maximumMetadataBytes || !schema::VerifyEngineBuffer(verifier)) {
    badMetadata(context) << "these " << metadata.size() << " bytes are no engine";
    return {};
  }
  context.loadDialect<engine::EngineDialect>();
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  auto builder = OpBuilder::atBlockBegin(module->getBody());
  if (failed(readEngine(builder, *schema::GetEngine(metadata.data()))) || failed(verify(*module)))
    return {};
  return module;
}

checkpoint::Expected<std::vector<std::byte>>
compiler::readMetadataBytes(const std::filesystem::path &path) {
  auto damaged = [&](const char *what) {
    return checkpoint::Error{"INGOT-E5802", what, path.string(),
                             "name an engine file, or build it again"};
  };
  checkpoint::Expected<checkpoint::File> file = checkpoint::File::open(path);
  if (!file)
    return file.error();
  schema::FileHeader header;
  if (file->size() < sizeof header)
    return damaged("the file is shorter than an engine file's header");
  auto headerBytes = std::as_writable_bytes(std::span<schema::FileHeader, 1>(&header, 1));
  if (checkpoint::Outcome read = file->readAt(0, headerBytes); !read)
    return read.error();
  if (!std::equal(std::begin(header.magic), std::end(header.magic), std::begin(schema::fileMagic)))
    return damaged("the file is no engine file");
  if (header.formatVersion != schema::fileFormatVersion)
    return damaged("the file has another format version than this compiler writes");
  if (header.metadataBytes > schema::maximumMetadataBytes || header.metadataOffset > file->size() ||
      header.metadataBytes > file->size() - header.metadataOffset)
    return damaged("the metadata lies outside the file");
  std::vector<std::byte> metadata(header.metadataBytes);
  if (checkpoint::Outcome read = file->readAt(header.metadataOffset, metadata); !read)
    return read.error();
  checkpoint::Sha256 hash;
  hash.update(metadata);
  checkpoint::Expected<checkpoint::Digest> digest = hash.finish();
  if (!digest)
    return digest.error();
  if (!std::equal(digest->begin(), digest->end(), header.metadataDigest))
    return damaged("the metadata does not have the digest that the header states");
  return metadata;
}
