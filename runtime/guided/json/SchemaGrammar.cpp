// SPDX-License-Identifier: Apache-2.0
// From the text of a schema to its grammar.
#include "runtime/guided/json/SchemaGrammar.h"

#include "runtime/guided/json/SchemaMeaning.h"
#include "runtime/guided/json/ShapeGrammar.h"

namespace ingot::runtime::guided {

Result<std::shared_ptr<const Grammar>> schemaGrammar(std::string_view schema,
                                                     const JsonForm &form) {
  Result<JsonDocument> document = JsonDocument::read(schema);
  if (!document.ok())
    return document.status();
  Result<SchemaIndex> index = SchemaIndex::of(*document);
  if (!index.ok())
    return index.status();
  GrammarBuilder builder;
  Goals goals;
  ShapeAlgebra algebra(builder.expressions(), goals);
  SchemaMeaning meaning(*document, *index, algebra);
  ShapeGrammar writer(builder, meaning, algebra, form);
  GoalId root = goals.of({0});
  Symbol value = writer.ruleOf(root);
  if (Status status = writer.finish(); !status.ok())
    return status;
  std::vector<bool> productive = builder.productive();
  if (Status status = meaning.status(); !status.ok())
    return status;
  if (!productive[value.index()])
    return Status::error("INGOT-E6613", meaning.placeOf(writer.impossible(root, productive)) +
                                            ": no value matches the schema");
  Symbol start = builder.sequence({writer.space(), value, writer.space()});
  return std::move(builder).build(start);
}

Result<std::shared_ptr<const Grammar>> jsonGrammar(bool onlyObjects, const JsonForm &form) {
  return schemaGrammar(onlyObjects ? R"({"type":"object"})" : "true", form);
}

} // namespace ingot::runtime::guided
