// SPDX-License-Identifier: Apache-2.0
// `match`: which texts a schema, an expression or a grammar lets through.
#include "runtime/guided/json/UniqueNames.h"
#include "runtime/serving/AnswerForm.h"
#include "runtime/serving/TokenBytes.h"
#include "runtime/serving/Tokenizer.h"
#include "runtime/tools/CommandLine.h"
#include "runtime/tools/Commands.h"
#include "runtime/tools/GrammarOption.h"
#include "runtime/tools/LineReader.h"
#include "runtime/tools/Program.h"
#include "runtime/tools/SessionArguments.h"

#include "runtime/engine/EngineFile.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace ingot::runtime {

namespace {

struct MatchArguments {
  std::string engine, schema, regex, texts;
  std::vector<std::string> grammar;
};

/// How far a text gets.
struct Match {
  std::optional<size_t> stoppedAt; ///< the first byte that no answer has there
  bool isComplete = false;
};

class Matcher {
public:
  /// A name of `special` in a text is that token, or spelled: either may be what passes.
  Matcher(std::shared_ptr<const guided::Grammar> grammar, guided::SpecialNames special, bool isJson)
      : recognizer(std::move(grammar)), special(std::move(special)), isJson(isJson) {}

  /// INGOT-E6605: the text is past the limits.
  Result<Match> match(std::string_view text) {
    // Those that may be reached before each byte, and at the end.
    std::vector<std::vector<guided::Recognizer::State>> states(text.size() + 1);
    states[0].push_back(recognizer.start());
    guided::UniqueNames names;
    size_t furthest = 0; // that is reached
    for (size_t i = 0; i < text.size() && i <= furthest; ++i) {
      if (isJson && !names.take(text.substr(i, 1)))
        return Match{i, false};
      for (const guided::Recognizer::State state : states[i]) {
        add(states[i + 1], recognizer.next(state, uint8_t(text[i])));
        const size_t length = special.lengthAt(text.substr(i));
        if (length > 0)
          add(states[i + length],
              recognizer.run(state, guided::specialBytes(text.substr(i, length))));
        if (!recognizer.status().ok())
          return recognizer.status();
        for (const size_t next : {i + 1, i + length})
          if (!states[next].empty())
            furthest = std::max(furthest, next);
      }
      std::vector<guided::Recognizer::State>().swap(states[i]);
    }
    if (states.back().empty())
      return Match{furthest, false};
    return Match{std::nullopt, std::ranges::any_of(states.back(), [&](auto state) {
                   return recognizer.mayEnd(state);
                 })};
  }

private:
  static void add(std::vector<guided::Recognizer::State> &states, guided::Recognizer::State state) {
    if (state != guided::Recognizer::dead && std::ranges::find(states, state) == states.end())
      states.push_back(state);
  }

  guided::Recognizer recognizer;
  guided::SpecialNames special;
  bool isJson;
};

/// What the arguments ask of texts.
Result<AnswerForm> formOf(const MatchArguments &arguments) {
  if (!arguments.grammar.empty())
    return readGrammarForm(arguments.grammar);
  const bool isSchema = !arguments.schema.empty();
  const std::string &path = isSchema ? arguments.schema : arguments.regex;
  Result<std::string> text = readTextFile(path == "-" ? "/dev/stdin" : path, AnswerForm::mostBytes);
  if (!text.ok())
    return std::move(text).status();
  if (!isSchema && text->ends_with('\n')) // The end of the line is the file's.
    text->pop_back();
  return AnswerForm{
      isSchema ? AnswerForm::Kind::JsonSchema : AnswerForm::Kind::Regex, *std::move(text), {}};
}

Status matchLine(Matcher &matcher, const std::string &line) {
  const nlohmann::json text = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!text.is_string())
    return Status::error("INGOT-E6018", "a line is no JSON string",
                         "write each text as a JSON string on a line of its own");
  const Result<Match> match = matcher.match(text.get_ref<const std::string &>());
  if (!match.ok())
    return match.status();
  nlohmann::ordered_json result = {
      {"accepted", !match->stoppedAt}, {"at", nullptr}, {"complete", match->isComplete}};
  if (match->stoppedAt)
    result["at"] = *match->stoppedAt;
  std::puts(result.dump().c_str());
  return Status::success();
}

/// The tokens that `form` may name.
Result<guided::SpecialNames> namesOf(const AnswerForm &form, const EngineFile &file) {
  const auto section = file.sectionOfKind(schema::SectionKind::Tokenizer);
  if (!form.namesTokens() || section.empty())
    return guided::SpecialNames();
  const Result<Tokenizer> tokenizer = Tokenizer::load(std::as_bytes(section));
  if (!tokenizer.ok())
    return tokenizer.status();
  return specialNames(*tokenizer, std::make_shared<const guided::TokenVocabulary>(
                                      guidedBytes(*tokenizer, tokenizer->size())));
}

Status matchAll(const MatchArguments &arguments) {
  const Result<std::shared_ptr<const EngineFile>> file = EngineFile::open(arguments.engine);
  if (!file.ok())
    return file.status();
  const Result<AnswerForm> form = formOf(arguments);
  if (!form.ok())
    return form.status();
  Result<guided::SpecialNames> special = namesOf(*form, **file);
  if (!special.ok())
    return std::move(special).status();
  Result<std::shared_ptr<const guided::Grammar>> grammar = grammarOf(*form, *special);
  if (!grammar.ok())
    return std::move(grammar).status();
  Result<LineReader> lines = LineReader::open(arguments.texts);
  if (!lines.ok())
    return std::move(lines).status();
  Matcher matcher(*std::move(grammar), *std::move(special), form->isJson());
  std::string line;
  for (size_t number = 1;; ++number) {
    Result<LineReader::Next> next = lines->next(line, /*wait=*/true);
    if (!next.ok())
      return std::move(next).status();
    if (*next == LineReader::Next::End)
      return flushOutput();
    if (Status status = matchLine(matcher, line); !status.ok())
      return std::move(status).in(arguments.texts + ", line " + std::to_string(number));
  }
}

} // namespace

int runMatch(int argc, char **argv) {
  CommandLine app(
      "Tells which texts a JSON Schema, a regular expression or a grammar lets through, "
      "and which are the beginning of one: what answers may look like that are held "
      "to it.",
      argv[0],
      "examples:\n"
      "  {} model.ingot --json-schema person.json --texts texts.jsonl\n"
      "  {} model.ingot --regex date.txt --texts - <texts.jsonl\n"
      "  {} model.ingot --grammar gbnf list.gbnf --texts texts.jsonl\n\n"
      "A line of --texts is a JSON string. Of each a line is printed: \"accepted\", "
      "whether all of it may come;\n\"at\", else the first byte that may not; "
      "\"complete\", whether the answer may end there.");
  MatchArguments arguments;
  app.addOption("engine", arguments.engine, "engine file").required();
  CommandOption schema =
      app.addOption("--json-schema", arguments.schema, "a file with the schema; -: standard input")
          .file(FileUse::Reads);
  CommandOption regex =
      app.addOption("--regex", arguments.regex,
                    "a file with an expression of ECMA-262 that whole texts match")
          .excludes(schema)
          .file(FileUse::Reads);
  addGrammarOption(app, arguments.grammar).excludes(schema).excludes(regex);
  app.addOption("--texts", arguments.texts,
                "a file of texts, a JSON string a line; -: standard input")
      .required()
      .file(FileUse::Reads);
  int exitStatus = 0;
  if (!parseArguments(app, argc, argv, exitStatus))
    return exitStatus;
  if (arguments.schema.empty() && arguments.regex.empty() && arguments.grammar.empty())
    return reportError(Status::error("INGOT-E2103",
                                     "there is neither a schema nor an expression nor a grammar",
                                     "give --json-schema, --regex or --grammar"));
  const Status status = matchAll(arguments);
  return status.ok() ? 0 : reportError(status);
}

} // namespace ingot::runtime
