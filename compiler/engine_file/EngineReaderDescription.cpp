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
