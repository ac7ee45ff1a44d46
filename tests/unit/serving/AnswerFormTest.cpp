// SPDX-License-Identifier: Apache-2.0
// Which grammars are kept for later answers.
#include "runtime/serving/AnswerForm.h"

#include "tests/unit/serving/TokenizerFixture.h"

namespace {

using namespace ingot::runtime;

TEST(AnswerForm, OneInErrorIsReplaced) {
  const auto tokenizer = ingot::test::loadJson(R"({"model": {"type": "BPE", "byte_fallback": false,
    "vocab": {"a": 0, "b": 1}, "merges": []}})");
  AnswerForms forms(*tokenizer, 2);
  const AnswerForm form{AnswerForm::Kind::Regex, "[ab]*", {}};
  const auto first = *forms.masksOf(form);
  EXPECT_EQ(*forms.masksOf(form), first);
  first->recognizer = guided::Recognizer(*grammarOf(form), {.bytes = 1});
  std::vector<uint32_t> words(1);
  EXPECT_EQ(first->mask(first->recognizer.start(), words).code(), "INGOT-E6605");
  const auto second = *forms.masksOf(form);
  EXPECT_NE(second, first);
  EXPECT_TRUE(second->mask(second->recognizer.start(), words).ok());
  EXPECT_EQ(*forms.masksOf(form), second);
}

} // namespace
