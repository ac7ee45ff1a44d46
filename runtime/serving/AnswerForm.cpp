// SPDX-License-Identifier: Apache-2.0
// From a request's words to a grammar, and which grammars are kept.
#include "runtime/serving/AnswerForm.h"

#include "runtime/guided/RegexSyntax.h"
#include "runtime/guided/ThoughtLimit.h"
#include "runtime/guided/grammars/Gbnf.h"
#include "runtime/guided/grammars/GrammarText.h"
#include "runtime/guided/grammars/Lark.h"
#include "runtime/guided/json/JsonConstraint.h"
#include "runtime/guided/json/SchemaGrammar.h"
#include "runtime/serving/TokenBytes.h"

#include <algorithm>

namespace ingot::runtime {

namespace {

constexpr size_t mostKept = 16;
/// Of the tables of one grammar: sixteen of the largest are a GiB.
constexpr guided::RecognizerLimits limits = {.bytes = size_t(64) << 20};
const guided::JsonForm jsonForm = {.uniqueNames = true};

Result<std::shared_ptr<const guided::Grammar>> regexGrammar(std::string_view pattern) {
  guided::GrammarBuilder builder;
  Result<guided::ExpressionId> expression = guided::readRegex(builder.expressions(), pattern);
  if (!expression.ok())
    return std::move(expression).status();
  const guided::Symbol start = builder.terminal(*expression);
  return std::move(builder).build(start);
}

Result<std::shared_ptr<const guided::Grammar>>
choiceGrammar(const std::vector<std::string> &choices) {
  if (choices.empty())
    return Status::error("INGOT-E6006", "the list of choices is empty", "give one text at least");
  guided::GrammarBuilder builder;
  const guided::Symbol start = builder.terminal(builder.expressions().literals(choices));
  return std::move(builder).build(start);
}

} // namespace

AnswerForm AnswerForm::ofGrammar(std::string grammar) {
  const bool isGbnf = guided::syntaxOf(grammar) == guided::GrammarSyntax::Gbnf;
  return {isGbnf ? Kind::Gbnf : Kind::Lark, std::move(grammar), {}};
}

bool AnswerForm::namesTokens() const {
  return tags || (kind == Kind::Gbnf && text.find('<') != text.npos);
}

bool AnswerForm::operator==(const AnswerForm &other) const {
  const auto same = [&] { return tags && other.tags && *tags == *other.tags; };
  return kind == other.kind && text == other.text && choices == other.choices &&
         (tags == other.tags || same());
}

Result<std::shared_ptr<const guided::Grammar>> grammarOf(const AnswerForm &form,
                                                         const guided::SpecialNames &special) {
  switch (form.kind) {
  case AnswerForm::Kind::JsonSchema:
    return guided::schemaGrammar(form.text, jsonForm);
  case AnswerForm::Kind::Regex:
    return regexGrammar(form.text);
  case AnswerForm::Kind::Choice:
    return choiceGrammar(form.choices);
  case AnswerForm::Kind::Tags:
    return guided::tagGrammar(*form.tags, special);
  case AnswerForm::Kind::Gbnf:
    return guided::gbnfGrammar(form.text, special);
  case AnswerForm::Kind::Lark:
    return guided::larkGrammar(form.text);
  default:
    return guided::jsonGrammar(form.kind == AnswerForm::Kind::JsonObject, jsonForm);
  }
}

std::shared_ptr<const guided::TokenVocabulary> AnswerForms::tokens() {
  std::call_once(tokensOnce, [&] {
    tokenVocabulary =
        std::make_shared<const guided::TokenVocabulary>(guidedBytes(*tokenizer, vocabulary));
    quoted =
        std::make_shared<const std::vector<uint32_t>>(guided::tokensWithQuotes(*tokenVocabulary));
  });
  return tokenVocabulary;
}

/// The entry of a form, which is the latest from now on; null where there is none, or one past its
/// limits, which is dropped: answers that have it keep it.
std::shared_ptr<guided::GrammarMasks> AnswerForms::find(const AnswerForm &form) {
  const auto entry = std::ranges::find(entries, form, &Entry::form);
  if (entry == entries.end())
    return nullptr;
  if (entry->masks->failed()) {
    entries.erase(entry);
    return nullptr;
  }
  entries.splice(entries.begin(), entries, entry);
  return entry->masks;
}

Result<std::shared_ptr<guided::GrammarMasks>> AnswerForms::masksOf(const AnswerForm &form) {
  {
    std::lock_guard lock(guard);
    if (auto known = find(form))
      return known;
  }
  Result<std::shared_ptr<const guided::Grammar>> grammar = grammarOf(
      form, form.namesTokens() ? specialNames(*tokenizer, tokens()) : guided::SpecialNames());
  if (!grammar.ok())
    return std::move(grammar).status();
  auto masks = std::make_shared<guided::GrammarMasks>(*std::move(grammar), tokens(), limits);
  std::lock_guard lock(guard);
  if (auto known = find(form)) // another thread was faster
    return known;
  entries.push_front({form, masks});
  if (entries.size() > mostKept)
    entries.pop_back();
  return masks;
}

std::shared_ptr<const guided::SpelledTokens> AnswerForms::spelled() {
  std::call_once(spelledOnce, [&] { named = spelledTokens(*tokenizer, vocabulary); });
  return named;
}

std::unique_ptr<guided::TokenConstraint>
AnswerForms::constraintOf(const AnswerForm &form, std::shared_ptr<guided::GrammarMasks> masks,
                          const guided::AnswerMarkers &markers, std::vector<int32_t> endTokens) {
  std::unique_ptr<guided::TokenConstraint> answer;
  if (form.isFree())
    return std::make_unique<guided::ThoughtLimit>(markers, spelled());
  if (form.isJson())
    answer = std::make_unique<guided::JsonConstraint>(std::move(masks), quoted, endTokens);
  else
    answer = std::make_unique<guided::GrammarConstraint>(std::move(masks), endTokens);
  if (markers.empty())
    return answer;
  return std::make_unique<guided::MarkedConstraint>(std::move(answer), markers, spelled(),
                                                    std::move(endTokens));
}

} // namespace ingot::runtime
