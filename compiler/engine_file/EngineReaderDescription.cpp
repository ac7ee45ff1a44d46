// SPDX-License-Identifier: Apache-2.0
// Reads what an engine states beside its programs: provenance, serving facts, golden tokens.
#include "compiler/engine_file/EngineReader.h"
#include "compiler/engine_file/EngineReaderUnit.h"
#include "runtime/schema/FileHeader.h"

using namespace ingot;
using namespace ingot::compiler;

static std::string stringOf(const flatbuffers::String *text) { return textOf(text).str(); }

static Provenance readProvenance(const schema::Provenance &table) {
  Provenance provenance;
  provenance.compiler = stringOf(table.compiler());
  provenance.revision = stringOf(table.revision());
  provenance.toolchain = stringOf(table.toolchain());
  provenance.recipe = stringOf(table.recipe());
  provenance.tuning = stringOf(table.tuning());
  for (uint32_t i = 0; i < countOf(table.inputs()); ++i) {
    const schema::InputFile &entry = *table.inputs()->Get(i);
    InputFile input{stringOf(entry.name()), entry.bytes()};
    if (countOf(entry.digest()) == input.digest.size())
      std::copy(entry.digest()->begin(), entry.digest()->end(), input.digest.begin());
    provenance.inputs.push_back(std::move(input));
  }
  for (uint32_t i = 0; i < countOf(table.options()); ++i) {
    const schema::Option &entry = *table.options()->Get(i);
    provenance.options.push_back({stringOf(entry.name()), stringOf(entry.asked()),
                                  stringOf(entry.effective()), stringOf(entry.reason())});
  }
  return provenance;
}

static ServingFacts readServing(const schema::Serving &table) {
  ServingFacts facts;
  facts.vocabulary = table.vocabulary();
  facts.maxContext = table.max_context();
  facts.bos = table.bos();
  for (uint32_t i = 0; i < countOf(table.eos()); ++i)
    facts.eos.push_back(table.eos()->Get(i));
  facts.pad = table.pad();
  facts.temperature = table.temperature();
  facts.topK = table.top_k();
  facts.topP = table.top_p();
  facts.minP = table.min_p();
  facts.repetitionPenalty = table.repetition_penalty();
  for (uint32_t i = 0; i < countOf(table.placeholders()); ++i)
    facts.placeholders.push_back(table.placeholders()->Get(i));
  facts.namesNoSampling = table.names_no_sampling();
  return facts;
}

static ImageFacts readImages(const schema::Images &table) {
  ImageFacts facts;
  facts.rule = ImageFacts::Rule(table.rule());
  facts.filter = ImageFacts::Filter(table.filter());
  facts.factor = table.factor();
  facts.minPixels = table.min_pixels();
  facts.maxPixels = table.max_pixels();
  facts.frames = table.frames();
  facts.width = table.width();
  facts.height = table.height();
  facts.maxTokens = table.max_tokens();
  facts.longestEdge = table.longest_edge();
  facts.tile = table.tile();
  for (auto [from, to] :
       {std::pair(table.mean(), &facts.mean), std::pair(table.deviation(), &facts.deviation)})
    for (uint32_t i = 0; i < countOf(from); ++i)
      to->push_back(from->Get(i));
  facts.patch = table.patch();
  facts.mergeRows = table.merge_rows();
  facts.mergeColumns = table.merge_columns();
  facts.channelsLast = table.order() == schema::ValueOrder::RowColumnChannel;
  facts.window = table.window();
  facts.positions = ImageFacts::Positions(table.positions());
  facts.positionSide = table.position_side();
  facts.placeholder = stringOf(table.placeholder());
  facts.token = stringOf(table.token());
  facts.tokenId = table.token_id();
  facts.before = stringOf(table.before());
  facts.after = stringOf(table.after());
  facts.beforeTile = stringOf(table.before_tile());
  facts.afterTileRow = stringOf(table.after_tile_row());
  facts.afterTiles = stringOf(table.after_tiles());
  facts.seesAhead = table.sees_ahead();
  facts.added = table.added();
  facts.axes = table.axes();
  facts.stepToken = table.step_token();
  return facts;
}

checkpoint::Expected<EngineDescription>
compiler::readDescription(llvm::ArrayRef<std::byte> metadata) {
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t *>(metadata.data()),
                                 metadata.size());
  if (metadata.size() > schema::maximumMetadataBytes || !schema::VerifyEngineBuffer(verifier))
    return checkpoint::Error{"INGOT-E5801", "these bytes are no engine metadata", "",
                             "build the engine again"};
  const schema::Engine &engine = *schema::GetEngine(metadata.data());
  EngineDescription description;
  description.name = stringOf(engine.name());
  description.architecture = stringOf(engine.architecture());
  description.provenance = readProvenance(*engine.provenance());
  description.serving = readServing(*engine.serving());
  if (engine.images())
    description.images = readImages(*engine.images());
  for (uint32_t i = 0; i < countOf(engine.golden()); ++i) {
    const schema::GoldenCase &table = *engine.golden()->Get(i);
    GoldenCase golden;
    auto copy = [](const auto *from, auto &to) {
      if (from)
        to.assign(from->begin(), from->end());
    };
    copy(table.prompt(), golden.prompt);
    copy(table.tokens(), golden.tokens);
    copy(table.margins(), golden.margins);
    description.golden.push_back(std::move(golden));
  }
  return description;
}
