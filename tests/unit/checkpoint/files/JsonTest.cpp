// SPDX-License-Identifier: Apache-2.0
// Json: limits, positions in messages, and typed reading.
#include "compiler/checkpoint/files/Json.h"
#include "compiler/checkpoint/files/JsonFields.h"
#include "tests/unit/checkpoint/Fixtures.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

using namespace ingot::checkpoint;
using namespace ingot::test;

static Expected<Json> parse(std::string_view text, const JsonLimits &limits = {}) {
  return Json::parse(text, "f.json", limits);
}

TEST(Json, ReadsEveryType) {
  auto root = parse(R"({"n": null, "b": true, "i": 18446744073709551615, "m": -3, "d": 1.5,
                        "s": "\u00e4", "a": [1, [2]], "o": {"k": 7}})");
  ASSERT_TRUE(succeeds(root));
  EXPECT_EQ(root->size(), 8u);
  EXPECT_EQ(root->keys(), (std::vector<std::string>{"a", "b", "d", "i", "m", "n", "o", "s"}));
  EXPECT_EQ(root->keysInOrder(),
            (std::vector<std::string>{"n", "b", "i", "m", "d", "s", "a", "o"}));
  EXPECT_TRUE(root->find("n")->isNull());
  EXPECT_TRUE(*root->find("b")->boolean());
  EXPECT_EQ(*root->find("i")->unsignedInteger(), UINT64_MAX);
  EXPECT_EQ(*root->find("m")->number(), -3.0);
  EXPECT_EQ(*root->find("d")->number(), 1.5);
  EXPECT_EQ(*root->find("s")->string(), "\xc3\xa4");
  EXPECT_EQ(*root->find("a")->element(1).element(0).unsignedInteger(), 2u);
  EXPECT_EQ(*root->find("o")->find("k")->number(), 7.0);
  EXPECT_FALSE(root->find("absent"));
  EXPECT_FALSE(root->find("s")->find("k"));
}

TEST(Json, OutlivesTheDocumentItCameFrom) {
  std::optional<Json> inner;
  {
    auto root = parse(R"({"a": {"b": "kept"}})");
    inner = root->find("a")->find("b");
  }
  EXPECT_EQ(*inner->string(), "kept");
}

TEST(Json, SyntaxErrorsNameLineAndColumn) {
  EXPECT_TRUE(failsWith(parse("{\n  \"a\": 1,\n  b\n}"), "INGOT-E1001", {"f.json:3:3, byte 15"}));
  EXPECT_TRUE(failsWith(parse(""), "INGOT-E1001", {"f.json:1:"}));
  EXPECT_TRUE(failsWith(parse("{} x"), "INGOT-E1001"));
  EXPECT_TRUE(failsWith(parse("\"\xff\""), "INGOT-E1001"));
  EXPECT_TRUE(failsWith(parse("[1e999]"), "INGOT-E1001"));
  EXPECT_TRUE(failsWith(parse("[NaN]"), "INGOT-E1001"));
}

TEST(Json, TakesNumbersThatAreNotFiniteWherePythonWritesThem) {
  const JsonLimits limits = JsonLimits::ofPython();
  auto root = parse(
      R"({"NaN": "NaN \"NaN", "a": NaN, "b": [Infinity,-Infinity, null,NaN], "c": 1})", limits);
  ASSERT_TRUE(succeeds(root));
  EXPECT_EQ(*root->find("NaN")->string(), "NaN \"NaN");
  EXPECT_TRUE(std::isnan(root->find("a")->raw().get<double>()));
  const Json list = *root->find("b");
  EXPECT_EQ(list.element(0).raw().get<double>(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(list.element(1).raw().get<double>(), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(list.element(2).isNull());
  EXPECT_TRUE(std::isnan(list.element(3).raw().get<double>()));
  // No reader of a number takes them.
  EXPECT_TRUE(failsWith(root->find("a")->number(), "INGOT-E1006", {"nan", "byte 26"}));
  EXPECT_TRUE(failsWith(list.element(1).number(), "INGOT-E1006", {"-inf", "b[1]"}));
  EXPECT_TRUE(failsWith(root->find("a")->unsignedInteger(), "INGOT-E1004"));
  // Errors behind them are where they are.
  EXPECT_TRUE(failsWith(parse("[NaN,\n NaN, x]", limits), "INGOT-E1001", {"f.json:2:7, byte 13"}));
  for (const char *text : {"NaNs", "[nullNaN]", "[NaNNaN]", "[1NaN]", "{NaN: 1}", "[--Infinity]",
                           "[nan]", "[inf]", "[+Infinity]", "[NaN"})
    EXPECT_TRUE(failsWith(parse(text, limits), "INGOT-E1001")) << text;
  EXPECT_TRUE(succeeds(parse("NaN", limits)));
}

TEST(Json, KeepsToItsLimits) {
  JsonLimits limits;
  limits.maxDepth = 3;
  limits.maxValues = 5;
  limits.maxBytes = 20;
  EXPECT_TRUE(succeeds(parse("[[[]]]", limits)));
  EXPECT_TRUE(
      failsWith(parse("[[[[]]]]", limits), "INGOT-E1002", {"f.json:1:4, byte 4", "3 levels"}));
  EXPECT_TRUE(succeeds(parse("[1,2,3,4]", limits)));
  EXPECT_TRUE(failsWith(parse("[1,2,3,4,5]", limits), "INGOT-E1002", {"5 values"}));
  EXPECT_TRUE(failsWith(parse(std::string(21, ' '), limits), "INGOT-E1002", {"20 bytes"}));
  EXPECT_TRUE(failsWith(parse(std::string(1000000, '[')), "INGOT-E1002"));
  EXPECT_TRUE(failsWith(parse(std::string(1000000, '{')), "INGOT-E1001"));
}

TEST(Json, RefusesAKeyGivenTwice) {
  EXPECT_TRUE(
      failsWith(parse("{\"a\": 1,\n \"a\": 2}"), "INGOT-E1003", {"f.json:2:4, byte 13", "\"a\""}));
  EXPECT_TRUE(succeeds(parse(R"([{"a": 1}, {"a": 2}])")));
}

TEST(Json, ErrorsAtAValueNameItsByte) {
  const std::string text =
      R"({"a,]": ["}\"", {"b" : [1, -2.5e3 ,true]}], "n\u006f" :"x", "a": 18446744073709551616})";
  JsonLimits limits;
  for (uint64_t firstByte : {0, 100}) {
    limits.firstByte = firstByte;
    const auto root = parse(text, limits);
    ASSERT_TRUE(succeeds(root));
    auto at = [&](std::string_view value) {
      return message(", byte ", firstByte + text.find(value));
    };
    EXPECT_TRUE(failsWith(root->string(), "INGOT-E1004", {at("{")}));
    const Json list = root->find("a,]")->element(1).find("b").value();
    EXPECT_TRUE(failsWith(list.string(), "INGOT-E1004", {at("[1")}));
    EXPECT_TRUE(failsWith(list.element(1).string(), "INGOT-E1004", {at("-2.5")}));
    EXPECT_TRUE(failsWith(list.element(2).string(), "INGOT-E1004", {at("true")}));
    EXPECT_TRUE(failsWith(root->find("no")->boolean(), "INGOT-E1004", {at("\"x\"")}));
    EXPECT_TRUE(failsWith(root->find("a")->unsignedInteger(), "INGOT-E1004", {at("1844")}));
  }
}

TEST(Json, ErrorsAtAValueWithoutATextNameItsPathAlone) {
  const Json root = Json::of({{"a", {1, 2}}}, "f.gguf");
  EXPECT_EQ(root.find("a")->element(1).error("INGOT-E1004", "wrong").where, "f.gguf: a[1]");
}

TEST(Json, WrongTypesNameThePath) {
  auto root = parse(R"({"a": {"list": [1, "x"]}, "n": -1, "h": 0.5})");
  ASSERT_TRUE(succeeds(root));
  Json list = *root->find("a")->find("list");
  EXPECT_TRUE(failsWith(list.element(1).unsignedInteger(), "INGOT-E1004",
                        {"f.json: a.list[1]", "an integer", "a string"}));
  EXPECT_TRUE(failsWith(list.element(0).string(), "INGOT-E1004", {"a.list[0]"}));
  EXPECT_TRUE(failsWith(list.boolean(), "INGOT-E1004", {"an array"}));
  EXPECT_TRUE(failsWith(list.at("k"), "INGOT-E1004", {"an object"}));
  EXPECT_TRUE(failsWith(root->find("h")->unsignedInteger(), "INGOT-E1004", {"fractional"}));
  EXPECT_TRUE(failsWith(root->at("absent"), "INGOT-E1005", {"\"absent\""}));
  EXPECT_TRUE(failsWith(root->find("n")->unsignedInteger(), "INGOT-E1006", {"-1"}));
  EXPECT_TRUE(failsWith(root->find("h")->number(1.0, 2.0), "INGOT-E1006", {"0.5", "1 to 2"}));
}

TEST(JsonFields, RemembersTheFirstError) {
  JsonFields fields(*parse(R"({"a": 1, "b": "x", "c": 2, "d": null})"));
  EXPECT_EQ(fields.unsignedInteger("a", 0, 10), 1u);
  EXPECT_EQ(fields.unsignedIntegerOr("absent", 5, 0, 10), 5u);
  EXPECT_EQ(fields.unsignedIntegerOr("d", 6, 0, 10), 6u);
  EXPECT_FALSE(fields.has("d"));
  EXPECT_FALSE(fields.error());
  EXPECT_FALSE(fields.booleanOr("b", false));
  EXPECT_EQ(fields.unsignedInteger("c", 0, 1), 0u);
  ASSERT_TRUE(fields.error());
  EXPECT_EQ(fields.error()->where, "f.json: b, byte 14");
}

TEST(JsonFields, ReadsOneIntegerOrAList) {
  JsonFields fields(*parse(R"({"one": 3, "list": [1, 2], "bad": [1, -2]})"));
  EXPECT_EQ(fields.unsignedIntegers("one", 0, 9), std::vector<uint64_t>{3});
  EXPECT_EQ(fields.unsignedIntegers("list", 0, 9), (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(fields.unsignedIntegers("absent", 0, 9), std::nullopt);
  EXPECT_FALSE(fields.error());
  fields.unsignedIntegers("bad", 0, 9);
  ASSERT_TRUE(fields.error());
  EXPECT_EQ(fields.error()->where, "f.json: bad[1], byte 38");
}

TEST(JsonFields, RefusesWhatIsNoObject) {
  JsonFields fields(*parse("[1]"));
  ASSERT_TRUE(fields.error());
  EXPECT_EQ(fields.error()->code, "INGOT-E1004");
}
