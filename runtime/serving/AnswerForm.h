// SPDX-License-Identifier: Apache-2.0
// What a request says of the form of its answer, and the grammars that come of it.
#pragma once

#include "runtime/guided/GrammarConstraint.h"
#include "runtime/guided/MarkedConstraint.h"
#include "runtime/guided/tags/TagFormat.h"

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace ingot::runtime {

class Tokenizer;

struct AnswerForm {
  enum class Kind : uint8_t {
    Free,
    Json,       ///< any JSON value
    JsonObject, ///< any JSON object
    JsonSchema, ///< `text`: of which the answer is a JSON text
    Regex,      ///< `text`: an expression of ECMA-262 that the whole answer matches
    Choice,     ///< the answer is one of `choices`
    Gbnf,       ///< `text`: a grammar of llama.cpp's
    Lark,       ///< `text`: a grammar of Lark's
    Tags,       ///< the answer has the format of `tags`
  };
  /// The longest `text` that is read from a file.
  static constexpr uint64_t mostBytes = uint64_t(16) << 20;

  Kind kind = Kind::Free;
  std::string text;
  std::vector<std::string> choices;
  std::shared_ptr<const guided::TagFormat> tags = nullptr;

  /// Of a grammar, whose notation guided::syntaxOf tells.
  static AnswerForm ofGrammar(std::string grammar);

  bool isFree() const { return kind == Kind::Free; }
  /// Whether answers are JSON, in whose objects a name comes once.
  bool isJson() const {
    return kind == Kind::Json || kind == Kind::JsonObject || kind == Kind::JsonSchema;
  }
  /// Whether it may ask for tokens by name.
  bool namesTokens() const;
  bool operator==(const AnswerForm &other) const;
};

/// The grammar of the answers that have a form other than Free. Errors: INGOT-E6006 for an empty
/// list of choices, else those of guided::schemaGrammar, guided::readRegex, guided::gbnfGrammar,
/// guided::larkGrammar and guided::tagGrammar; `special` is for forms that name tokens.
Result<std::shared_ptr<const guided::Grammar>> grammarOf(const AnswerForm &form,
                                                         const guided::SpecialNames &special = {});

/// Grammars with their masks over a model's tokens, of which the latest are kept. Threads may share
/// it; one that compiles does not keep others waiting.
class AnswerForms {
public:
  /// `tokenizer` must outlive it. `vocabulary`: of the model.
  AnswerForms(const Tokenizer &tokenizer, size_t vocabulary)
      : tokenizer(&tokenizer), vocabulary(vocabulary) {}

  /// Of a form other than Free. Errors as grammarOf.
  Result<std::shared_ptr<guided::GrammarMasks>> masksOf(const AnswerForm &form);

  /// An answer of that form between such markers, whose `masks` are those of masksOf(form), ended
  /// by any of `endTokens`. Of the form Free: one whose thoughts the markers limit.
  std::unique_ptr<guided::TokenConstraint> constraintOf(const AnswerForm &form,
                                                        std::shared_ptr<guided::GrammarMasks> masks,
                                                        const guided::AnswerMarkers &markers,
                                                        std::vector<int32_t> endTokens);

private:
  struct Entry {
    AnswerForm form;
    std::shared_ptr<guided::GrammarMasks> masks;
  };
  std::shared_ptr<guided::GrammarMasks> find(const AnswerForm &form);
  std::shared_ptr<const guided::TokenVocabulary> tokens();
  std::shared_ptr<const guided::SpelledTokens> spelled();

  const Tokenizer *tokenizer;
  size_t vocabulary;
  std::once_flag tokensOnce; ///< Reading all pieces takes some milliseconds, for who needs them.
  std::shared_ptr<const guided::TokenVocabulary> tokenVocabulary;
  std::shared_ptr<const std::vector<uint32_t>> quoted; ///< its tokens with quotes
  std::once_flag spelledOnce;
  std::shared_ptr<const guided::SpelledTokens> named; ///< tokens, special ones too
  std::mutex guard;
  std::list<Entry> entries; ///< the latest first
};

} // namespace ingot::runtime
