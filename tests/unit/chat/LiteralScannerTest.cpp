// SPDX-License-Identifier: Apache-2.0
// Values in the notations of JSON, Python and Gemma, and the types that a schema gives them.
#include "runtime/chat/LiteralScanner.h"
#include "runtime/chat/ParameterType.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace ingot::runtime;
using Result = LiteralScanner::Result;

/// What a value becomes; what is behind it has to be the rest. "fault" where it is none.
static std::string read(Notation notation, std::string_view text, std::string_view rest = {}) {
  LiteralScanner scanner(notation);
  std::string json;
  for (size_t i = 0; i < text.size(); ++i) {
    const Result result = scanner.feed(text[i], json);
    if (result == Result::Fault)
      return "fault";
    if (result == Result::More)
      continue;
    EXPECT_EQ(text.substr(result == Result::Done ? i + 1 : i), rest) << text;
    return json;
  }
  EXPECT_TRUE(rest.empty());
  return scanner.finish(json) == Result::Done ? json : "fault";
}

TEST(LiteralScanner, JsonPassesAsItIs) {
  for (const char *text :
       {R"({"a": [1, -2.5e+10, true, false, null, "x\"\\\/\b\f\n\r\t\u00e9"], "b": {}})",
        R"({"":{"":[[]]}})", R"("\ud83e\udd99 🦙")", "-0.5", "0", "1E5", "null", "[ 1 ,\n2 ]"}) {
    EXPECT_EQ(read(Notation::Json, text), text);
    EXPECT_TRUE(nlohmann::json::accept(text)) << text;
  }
  EXPECT_EQ(read(Notation::Json, "{\"a\": 1}, x", ", x"), "{\"a\": 1}");
  EXPECT_EQ(read(Notation::Json, "12}", "}"), "12");
  // A line break within a string is written as an escape.
  EXPECT_EQ(read(Notation::Json, "\"a\nb\x01\""), "\"a\\nb\\u0001\"");
}

TEST(LiteralScanner, JsonFaults) {
  for (const char *text : {"",
                           "{",
                           "{\"a\"}",
                           "{\"a\":}",
                           "{\"a\": 1,}",
                           "[1,]",
                           "[,]",
                           "{a: 1}",
                           "{'a': 1}",
                           "01",
                           "1.",
                           ".5",
                           "+1",
                           "1e",
                           "--1",
                           "True",
                           "nul",
                           "[truex]",
                           "[12x]",
                           "[9E9999]",
                           "\"\\x41\"",
                           "\"\\ud83e\"",
                           "\"\\udd99\"",
                           "\"\\ud83e\\n\"",
                           "\"\\ud83e\\ud83e\"",
                           "\"\\u00g0\"",
                           "[1)",
                           "(1)",
                           "[1}",
                           "{\"a\" 1}",
                           "[1 2]",
                           "\"a",
                           "{1: 2}"})
    EXPECT_EQ(read(Notation::Json, text), "fault") << text;
}

TEST(LiteralScanner, PythonBecomesJson) {
  const std::pair<const char *, const char *> cases[] = {
      {"{'a': [1, None, True, False], \"b\": {},}", R"({"a": [1, null, true, false], "b": {}})"},
      {"(1, 'x',)", R"([1, "x"])"},
      {"[ ]", "[]"},
      {R"('it\'s "q" \\ \n \x41 \101 \u00e9 \U0001F999 \q')",
       "\"it's \\\"q\\\" \\\\ \\n A A é 🦙 \\\\q\""},
      {"\"a\nb\\\nc\"", R"("a\nbc")"},
      {"1_000", "1000"},
      {"+1.", "1.0"},
      {"-.5", "-0.5"},
      {"1e5", "1e5"},
      {"true", "true"}};
  for (const auto &[text, json] : cases) {
    EXPECT_EQ(read(Notation::Python, text), json) << text;
    EXPECT_TRUE(nlohmann::json::accept(json)) << json;
  }
  for (const char *text : {"{a: 1}", "f(1)", "0x1F", "1__0", "nan", "{1, 2}", "{'a'}", "'\\ud83e'",
                           "'\\N{DASH}'", "'a", "b'x'", "{1: 2}", "[1,,2]", "lambda"})
    EXPECT_EQ(read(Notation::Python, text), "fault") << text;
}

TEST(LiteralScanner, ArgumentsOfPython) {
  EXPECT_EQ(read(Notation::PythonCall, "(a=1, b = 'x', c={'d': (1, [2])},) ]", " ]"),
            R"({"a": 1, "b": "x", "c": {"d": [1, [2]]}})");
  EXPECT_EQ(read(Notation::PythonCall, "()"), "{}");
  EXPECT_EQ(read(Notation::PythonCall, "(größe=1)"), R"({"größe": 1})");
  for (const char *text : {"(1)", "('a'=1)", "(a)", "(a: 1)", "[a=1]", "(a=1", "(a=b)", "(a=1]"})
    EXPECT_EQ(read(Notation::PythonCall, text), "fault") << text;
}

TEST(LiteralScanner, GemmaBecomesJson) {
  EXPECT_EQ(read(Notation::Gemma,
                 "{city:<|\"|>Zürich \"x\"\n<|\"| <<|\"|>,n:-1.5,o:{a b:[1,None,true,null],"
                 "<|\"|>k<|\"|>:<|\"|><|\"|>}}"),
            "{\"city\": \"Zürich \\\"x\\\"\\n<|\\\"| <\", \"n\": -1.5, \"o\": {\"a b\": [1, null, "
            "true, null], \"k\": \"\"}}");
  for (const char *text : {"{a}", "{a:}", "{a:\"x\"}", "{a:x}", "{:1}", "{a:<|x|>}", "{a:1"})
    EXPECT_EQ(read(Notation::Gemma, text), "fault") << text;
}

TEST(LiteralScanner, NestingIsBounded) {
  for (const Notation notation : {Notation::Json, Notation::Python}) {
    const std::string open(128, '['), close(128, ']');
    EXPECT_EQ(read(notation, open + close), open + close);
    EXPECT_EQ(read(notation, '[' + open + close + ']'), "fault");
  }
  EXPECT_EQ(read(Notation::Json, std::string(513, '1')), "fault");
}

static uint8_t typesOf(const char *property, const char *name = "p") {
  const std::string schema =
      std::string(R"({"properties": {"p": )") + property +
      R"(}, "$defs": {"S": {"type": "string"}, "L": {"$ref": "#/$defs/L"}}})";
  return parameterTypes(nlohmann::ordered_json::parse(schema), name);
}

TEST(ParameterType, FollowsTheSchema) {
  EXPECT_EQ(typesOf(R"({"type": "string"})"), JsonString);
  EXPECT_EQ(typesOf(R"({"type": "number"})"), JsonNumber | JsonInteger);
  EXPECT_EQ(typesOf(R"({"type": ["string", "null"]})"), JsonString | JsonNull);
  EXPECT_EQ(typesOf(R"({"type": "string", "nullable": true})"), JsonString | JsonNull);
  EXPECT_EQ(typesOf(R"({"anyOf": [{"type": "integer"}, {"oneOf": [{"type": "array"}]}]})"),
            JsonInteger | JsonArray);
  EXPECT_EQ(typesOf(R"({"enum": ["a", true]})"), JsonString | JsonBoolean);
  EXPECT_EQ(typesOf(R"({"const": {}})"), JsonObject);
  EXPECT_EQ(typesOf(R"({"$ref": "#/$defs/S"})"), JsonString);
  // What says nothing, or leads nowhere, allows everything.
  for (const char *property :
       {"{}", "true", R"({"$ref": "#/$defs/L"})", R"({"$ref": "#/x"})", R"({"$ref": "other.json"})",
        R"({"type": 5})", R"({"anyOf": 1, "enum": 2})"})
    EXPECT_EQ(typesOf(property), AnyJson) << property;
  EXPECT_EQ(typesOf(R"({"type": "string"})", "other"), AnyJson);
  EXPECT_EQ(parameterTypes(nullptr, "p"), AnyJson);
  EXPECT_EQ(parameterTypes({{"additionalProperties", {{"type", "string"}}}}, "p"), JsonString);
}

TEST(ParameterType, ValuesAreReadByTheirType) {
  EXPECT_EQ(typedValue("5", JsonInteger), "5");
  EXPECT_EQ(typedValue("5", JsonString), "\"5\"");
  EXPECT_EQ(typedValue("5.0", JsonInteger), "5.0");
  EXPECT_EQ(typedValue(" {\"a\": 1}\n", JsonObject), "{\"a\": 1}");
  EXPECT_EQ(typedValue("{'a': None}", JsonObject), "{\"a\": null}");
  EXPECT_EQ(typedValue("True", JsonBoolean), "true");
  EXPECT_EQ(typedValue("None", JsonString | JsonNull), "null");
  EXPECT_EQ(typedValue("\"x\"", AnyJson), "\"\\\"x\\\"\"");
  EXPECT_EQ(typedValue("[1", AnyJson), "\"[1\"");
  // What is of no allowed type is the model's mistake, which stays visible.
  EXPECT_EQ(typedValue("many", JsonInteger), "\"many\"");
  EXPECT_EQ(typedValue("[1]", JsonInteger | JsonString), "\"[1]\"");
  EXPECT_EQ(typedValue("", JsonInteger), "\"\"");
}
