// SPDX-License-Identifier: Apache-2.0
// What the tests of schemas share: which texts a schema lets through.
#pragma once

#include "runtime/guided/Recognizer.h"
#include "runtime/guided/json/SchemaGrammar.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace ingot::runtime::guided {

/// A schema, texts that it lets through whole, and texts that are no sentence of it.
struct SchemaCase {
  std::string schema;
  std::vector<std::string> valid, invalid;
};

inline bool isSentence(const std::shared_ptr<const Grammar> &grammar, std::string_view text) {
  Recognizer recognizer(grammar);
  return recognizer.mayEnd(recognizer.run(recognizer.start(), text));
}

inline void check(const SchemaCase &entry) {
  SCOPED_TRACE(entry.schema);
  auto grammar = schemaGrammar(entry.schema);
  ASSERT_TRUE(grammar.ok()) << grammar.status().toString();
  for (const std::string &text : entry.valid)
    EXPECT_TRUE(isSentence(*grammar, text)) << text;
  for (const std::string &text : entry.invalid)
    EXPECT_FALSE(isSentence(*grammar, text)) << text;
}

} // namespace ingot::runtime::guided
