// SPDX-License-Identifier: Apache-2.0
// Mutated regular expressions, schemas and grammars: read or refused by a code, and what is read
// leads to no dead end.
#include "tests/fuzz/guided/GuidedCases.h"

using namespace ingot::fuzz;

TEST(GuidedFuzz, RegularExpressions) {
  FuzzSession session("regular_expressions", 21);
  auto draw = [&](uint64_t count) { return session.mutator.below(count); };
  session.mutator.setWords(regexWords);
  session.run(2500, regexSeeds, [&](const std::string &pattern) {
    const RegexOptions options{draw(2) ? Spelling::Utf8 : Spelling::JsonString, draw(2) == 0,
                               false};
    return tryRegex(pattern, options, draw);
  });
  session.check();
}

TEST(GuidedFuzz, Schemas) {
  FuzzSession session("schemas", 22);
  auto draw = [&](uint64_t count) { return session.mutator.below(count); };
  session.mutator.setWords(schemaWords);
  session.run(1200, schemaSeeds, [&](const std::string &schema) {
    JsonForm form;
    form.uniqueNames = draw(2) == 0;
    return trySchema(schema, form, draw);
  });
  session.check();
}

TEST(GuidedFuzz, Grammars) {
  FuzzSession session("grammars", 23);
  auto draw = [&](uint64_t count) { return session.mutator.below(count); };
  session.mutator.setWords(grammarWords);
  session.run(2500, grammarSeeds,
              [&](const std::string &grammar) { return tryGrammar(grammar, draw); });
  session.check();
}
