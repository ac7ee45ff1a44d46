// SPDX-License-Identifier: Apache-2.0
// What the constraint of calls lets through, the parser reads back: random walks for each family.
#include "tests/unit/chat/ParsedAnswer.h"

#include "runtime/chat/CallFormat.h"
#include "runtime/guided/GrammarConstraint.h"
#include "runtime/guided/json/SchemaGrammar.h"

#include <cstdlib>

using namespace ingot::runtime;
using namespace ingot::test;

namespace {

using Json = nlohmann::ordered_json;

/// Walks for each family; an argument of the program gives more.
int walkCount = 40;
constexpr size_t longestWalk = 20000; // bytes

/// Schemas of arguments, each with what some notation has its own way to write.
const std::vector<std::pair<const char *, const char *>> schemas = {
    {"get_weather", R"({"type": "object", "properties": {"city": {"type": "string"},
      "days": {"type": "integer", "minimum": 1, "maximum": 14}, "on": {"type": ["boolean", "null"]},
      "unit": {"enum": ["C", "F", "a \"quoted\" <one>", null, 7]}}, "required": ["city"]})"},
    {"now", R"({})"},
    {"none-at-all", R"({"type": "object", "properties": {}, "additionalProperties": false})"},
    {"nested", R"({"type": "object", "properties": {"list": {"type": "array", "items":
      {"$ref": "#/$defs/point"}, "minItems": 1, "maxItems": 3}, "deep": {"$ref": "#/$defs/point"},
      "ratio": {"type": "number"}}, "required": ["list", "deep"], "additionalProperties": false,
      "$defs": {"point": {"type": "object", "properties": {"x": {"type": "number"}, "label":
      {"type": "string", "maxLength": 5}}, "required": ["x"]}}})"},
    {"texts", R"({"type": "object", "properties": {"code": {"type": "string", "pattern":
      "^[A-Z]{2}-[0-9]+$"}, "date": {"type": "string", "format": "date"}, "either": {"anyOf":
      [{"type": "string"}, {"type": "integer", "minimum": 10}, {"type": "array", "items":
      {"type": "string"}}]}, "short": {"type": "string", "minLength": 1, "maxLength": 3}},
      "required": ["code", "either", "short"]})"},
    {"open", R"({"type": "object", "properties": {"a": {"const": "x"}}, "required": ["a"],
      "additionalProperties": {"type": "integer"}})"},
};

std::vector<AnswerTool> allTools(bool areStrict) {
  std::vector<AnswerTool> tools;
  for (const auto &[name, schema] : schemas)
    tools.push_back({name, Json::parse(schema), areStrict});
  return tools;
}

/// What walks are made of: markers in one piece, so that they are met, and single characters.
std::vector<std::string> piecesOf(const AnswerFamily &family, const guided::SpecialNames &special) {
  std::vector<std::string> pieces;
  const auto add = [&](std::string_view text) {
    if (!text.empty())
      pieces.push_back(special.bytesOf(text));
  };
  for (const CallForm &form : family.forms)
    for (const std::string_view marker :
         {form.open, form.callOpen, form.head[0].end, form.head[1].end, form.tags.key,
          form.tags.keyEnd, form.tags.value, form.tags.valueEnd, form.tags.ofString,
          form.tags.ofJson, form.argumentsClose, form.callClose, form.close})
      add(marker);
  for (const std::string_view token : family.tokens)
    add(token);
  for (const AnswerTool &tool : allTools(false))
    add(tool.name);
  for (const char *text :
       {"\"",   "}",    "{",    "]",    "[",         ", ", ": ",     "\": ",      "\"}",
        "null", "true", "None", "True", "é",         "日", "😀",     "\\u00e9",   "\\n",
        "\\\"", "\n",   " ",    "name", "arguments", "</", "<|\"|>", "functions."})
    add(text);
  // A marker that is spelled may come in parts.
  for (const char *text : {"｜", "▁"})
    add(text);
  for (char byte = ' '; byte < 0x7F; ++byte)
    pieces.emplace_back(1, byte);
  return pieces;
}

/// The text that a parser gets: special tokens by their names.
std::string shown(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes)
    if (byte != '\xFF' && byte != '\xFE')
      text += byte;
  return text;
}

class Walker {
public:
  Walker(const AnswerFamily &family, const AnswerSettings &settings,
         const guided::SpecialNames &special, unsigned seed)
      : pieces(piecesOf(family, special)), generator(seed) {
    AnswerForm form;
    const AnswerFamilies families = {&noFamily(), &family};
    const Status status = bindCalls(families, settings, form);
    EXPECT_TRUE(status.ok()) << status.toString();
    Result<std::shared_ptr<const guided::Grammar>> made = grammarOf(form, special);
    EXPECT_TRUE(made.ok()) << made.status().toString();
    if (made.ok())
      grammar = *std::move(made);
  }

  /// A whole answer; empty where the walk was too long. It ends at one of `lives` places where it
  /// may.
  std::string walk(unsigned lives = 3) {
    using guided::Recognizer;
    if (walks++ % 100 == 0) // its states would fill its limit
      recognizer = std::make_unique<Recognizer>(grammar);
    std::string text;
    Recognizer::State state = recognizer->start();
    while (text.size() < longestWalk) {
      if (recognizer->mustEnd(state) || (recognizer->mayEnd(state) && generator() % lives == 0))
        return text;
      size_t tries = 0;
      for (Recognizer::State next = Recognizer::dead; next == Recognizer::dead; ++tries) {
        if (tries > 4000) {
          ADD_FAILURE() << "nothing goes on behind " << shown(text);
          return {};
        }
        // Markers and ends first: a character more is always possible in a string.
        const size_t most = tries < 12 && generator() % 2 ? pieces.size() - 95 : pieces.size();
        const std::string &piece = pieces[generator() % most];
        next = recognizer->run(state, piece);
        if (next != Recognizer::dead) {
          text += piece;
          state = next;
        }
      }
    }
    return {};
  }

  std::shared_ptr<const guided::Grammar> grammar; ///< null after a failure

private:
  std::unique_ptr<guided::Recognizer> recognizer;
  int walks = 0;
  std::vector<std::string> pieces;
  std::minstd_rand generator;
};

/// Whether arguments match the schema of their tool. Recognizers of schemas are the oracle; the
/// walks come out of other rules.
class Schemas {
public:
  Schemas() {
    for (const auto &[name, schema] : schemas) {
      auto grammar = guided::schemaGrammar(schema, {.mostSpace = 64, .closed = true});
      EXPECT_TRUE(grammar.ok()) << grammar.status().toString();
      recognizers.emplace_back(*grammar);
    }
  }

  bool matches(const ParsedCall &call) {
    for (size_t i = 0; i < schemas.size(); ++i)
      if (call.name == schemas[i].first) {
        guided::Recognizer &one = recognizers[i];
        const guided::Recognizer::State end = one.run(one.start(), call.arguments);
        return Json::accept(call.arguments) && end != guided::Recognizer::dead && one.mayEnd(end);
      }
    return false;
  }

private:
  std::vector<guided::Recognizer> recognizers;
};

/// Special tokens of a family, or none: both kinds of vocabularies are in use.
guided::SpecialNames specialOf(const AnswerFamily &family, bool has) {
  std::vector<std::string> names;
  if (has)
    names.assign(family.tokens.begin(), family.tokens.end());
  return guided::SpecialNames(std::move(names));
}

std::vector<const AnswerFamily *> callFamilies() {
  std::vector<const AnswerFamily *> found;
  for (const AnswerFamily &family : answerFamilies())
    if (family.hasTools())
      found.push_back(&family);
  return found;
}

} // namespace

TEST(CallFormat, WalksOfRequiredCallsAreCalls) {
  Schemas oracle;
  for (const AnswerFamily *family : callFamilies())
    for (const bool hasSpecial : {false, true}) {
      SCOPED_TRACE(std::string(family->name) + (hasSpecial ? " special" : ""));
      Reading how;
      how.tools = family;
      how.settings.tools = allTools(false);
      how.settings.mustCall = true;
      how.settings.parallel = hasSpecial;
      how.settings.promptTail = family->promptPrefix;
      Walker walker(*family, how.settings, specialOf(*family, hasSpecial), 1);
      ASSERT_TRUE(walker.grammar);
      int whole = 0;
      for (int i = 0; i < walkCount; ++i) {
        const std::string text = shown(walker.walk());
        if (text.empty())
          continue;
        ++whole;
        const ParsedAnswer answer = parse(how, text);
        ASSERT_FALSE(answer.calls.empty()) << text;
        ASSERT_EQ(answer.text, "") << text;
        if (!how.settings.parallel)
          ASSERT_EQ(answer.calls.size(), 1U) << text;
        for (const ParsedCall &call : answer.calls)
          ASSERT_TRUE(call.whole && oracle.matches(call)) << call.name << call.arguments << "\n"
                                                          << text;
      }
      EXPECT_GT(whole, walkCount / 2);
    }
}

TEST(CallFormat, WalksOfStrictToolsAreTextAndCalls) {
  Schemas oracle;
  for (const AnswerFamily *family : callFamilies())
    for (const bool hasSpecial : {false, true}) {
      SCOPED_TRACE(std::string(family->name) + (hasSpecial ? " special" : ""));
      Reading how;
      how.tools = family;
      how.settings.tools = allTools(true);
      how.settings.promptTail = family->promptPrefix;
      Walker walker(*family, how.settings, specialOf(*family, hasSpecial), 2);
      ASSERT_TRUE(walker.grammar);
      int withCalls = 0;
      for (int i = 0; i < walkCount; ++i) {
        const std::string text = shown(walker.walk(60));
        const ParsedAnswer answer = parse(how, text);
        withCalls += !answer.calls.empty();
        for (const ParsedCall &call : answer.calls)
          ASSERT_TRUE(call.whole && oracle.matches(call)) << call.name << call.arguments << "\n"
                                                          << text;
      }
      EXPECT_GT(withCalls, 0);
    }
}

/// The same by tokens: masks hold what is accepted, special tokens among them.
TEST(CallFormat, MasksAreOfWhatIsAccepted) {
  for (const AnswerFamily *family : callFamilies())
    for (const bool isStrict : {false, true}) {
      SCOPED_TRACE(std::string(family->name) + (isStrict ? " strict" : ""));
      AnswerSettings settings;
      settings.tools = allTools(isStrict);
      settings.mustCall = !isStrict;
      AnswerForm form;
      ASSERT_TRUE(bindCalls({&noFamily(), family}, settings, form).ok());
      const guided::SpecialNames special = specialOf(*family, true);
      const auto grammar = grammarOf(form, special);
      ASSERT_TRUE(grammar.ok()) << grammar.status().toString();
      const std::vector<std::string> tokens = piecesOf(*family, special);
      const auto vocabulary = std::make_shared<const guided::TokenVocabulary>(tokens);
      guided::GrammarConstraint answer(std::make_shared<guided::GrammarMasks>(*grammar, vocabulary),
                                       {});
      std::minstd_rand generator(4);
      std::vector<uint32_t> words(vocabulary->words());
      for (int step = 0; step < 60; ++step) {
        ASSERT_TRUE(answer.mask(words).ok());
        std::vector<int32_t> allowed;
        for (int32_t token = 0; token < int32_t(tokens.size()); ++token) {
          const bool isAllowed = words[size_t(token) / 32] >> (token % 32) & 1;
          ASSERT_EQ(answer.accept(token), isAllowed) << tokens[size_t(token)];
          if (isAllowed) {
            allowed.push_back(token);
            answer.rollback(1);
          }
        }
        if (allowed.empty())
          break;
        answer.accept(allowed[generator() % allowed.size()]);
      }
    }
}

TEST(CallFormat, OneToolThatIsNamed) {
  for (const AnswerFamily *family : callFamilies()) {
    SCOPED_TRACE(family->name);
    Reading how;
    how.tools = family;
    how.settings.tools = allTools(false);
    how.settings.mustCall = true;
    how.settings.onlyTool = "now";
    how.settings.parallel = false;
    Walker walker(*family, how.settings, {}, 3);
    ASSERT_TRUE(walker.grammar);
    for (int i = 0; i < 10; ++i) {
      const std::string text = shown(walker.walk());
      if (text.empty())
        continue;
      const ParsedAnswer answer = parse(how, text);
      ASSERT_EQ(answer.calls.size(), 1U);
      EXPECT_EQ(answer.calls[0].name, "now");
    }
  }
}

TEST(CallFormat, Refusals) {
  AnswerSettings settings;
  settings.tools = allTools(false);
  settings.mustCall = true;
  AnswerForm form;
  const Status unknown = bindCalls({&noFamily(), &noFamily()}, settings, form);
  EXPECT_EQ(unknown.code(), "INGOT-E6608");
  settings.tools = {{"with space", Json::object()}};
  EXPECT_EQ(bindCalls({&noFamily(), toolFamily("glm")}, settings, form).code(), "INGOT-E6608");
  EXPECT_TRUE(bindCalls({&noFamily(), toolFamily("hermes")}, settings, form).ok());
  settings.tools = {
      {"f", Json::parse(R"({"properties": {"a": {"minimum": 2, "maximum": 1}},
                                          "required": ["a"], "type": "object"})")},
      {"g", Json::parse(R"({"type": "object", "properties": {"a": {"$ref": "x"}}})")}};
  form = {};
  ASSERT_TRUE(bindCalls({&noFamily(), toolFamily("qwen3_xml")}, settings, form).ok());
  const Status reference = grammarOf(form).status();
  EXPECT_EQ(reference.code(), "INGOT-E6612");
  EXPECT_NE(reference.message().find("tool 'g'"), std::string::npos) << reference.toString();
  settings.tools.pop_back();
  settings.tools[0].parameters["properties"]["a"] =
      Json::parse(R"({"type": "integer", "minimum": 2, "maximum": 1})");
  form = {};
  ASSERT_TRUE(bindCalls({&noFamily(), toolFamily("hermes")}, settings, form).ok());
  const Status nothing = grammarOf(form).status();
  EXPECT_EQ(nothing.code(), "INGOT-E6613");
  EXPECT_NE(nothing.message().find("tool 'f': #/properties/a"), std::string::npos)
      << nothing.toString();
}

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc > 1)
    walkCount = std::atoi(argv[1]);
  return RUN_ALL_TESTS();
}
