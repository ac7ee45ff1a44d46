// SPDX-License-Identifier: Apache-2.0
// From the text of a schema to its grammar.
#include "runtime/guided/json/SchemaGrammar.h"

#include "runtime/guided/json/SchemaRules.h"

namespace ingot::runtime::guided {

Result<std::shared_ptr<const Grammar>> schemaGrammar(std::string_view schema,
                                                     const JsonForm &form) {
  GrammarBuilder builder;
  Result<std::unique_ptr<SchemaRules>> rules = SchemaRules::read(builder, schema, form);
  if (!rules.ok())
    return std::move(rules).status();
  Status status = (*rules)->finish();
  if (status.ok())
    status = (*rules)->check(builder.productive());
  if (!status.ok())
    return status;
  const Symbol space = (*rules)->space();
  const Symbol start = builder.sequence({space, (*rules)->value(), space});
  return std::move(builder).build(start);
}

Result<std::shared_ptr<const Grammar>> jsonGrammar(bool onlyObjects, const JsonForm &form) {
  return schemaGrammar(onlyObjects ? R"({"type":"object"})" : "true", form);
}

} // namespace ingot::runtime::guided
