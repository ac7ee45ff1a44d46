// SPDX-License-Identifier: Apache-2.0
// Keywords of arrays and objects.
#include "tests/unit/guided_json/SchemaCases.h"

namespace ingot::runtime::guided {

TEST(SchemaContainers, MembersComeInOrderAndOnce) {
  check({R"({"type":"object","properties":{"b":{"type":"integer"},"a":{"type":"string"}},)"
         R"("required":["b"]})",
         {R"({"b":1})", R"({"b":1,"a":"x"})", R"({"b":1,"z":[]})", "{ \"b\" :\n1 }"},
         {R"({})", R"({"a":"x","b":1})", R"({"b":1,"b":2})", R"({"b":1,"\u0062":2})",
          R"({"b":1,"z":1,"a":"x"})", R"({"b":1,"z":1,"\u0061":"x"})"}});
}

TEST(SchemaContainers, WhiteSpaceEnds) {
  std::string eight(8, ' ');
  check({R"({"type":"object","properties":{"a":{"type":"integer"}},"additionalProperties":false})",
         {"{" + eight + "}", "{" + eight + "\"a\"" + eight + ":" + eight + "1" + eight + "}",
          eight + "{}"},
         {"{ " + eight + "}", "{\"a\": " + eight + "1}", "{\"a\":1 " + eight + "}", "{\f}"}});
}

TEST(SchemaContainers, OtherMembers) {
  check(
      {R"({"properties":{"a":true},"patternProperties":{"^x":{"type":"integer"},"y$":{"minimum":5)"
       R"(}},)"
       R"("additionalProperties":{"type":"boolean"}})",
       {R"({"a":null,"x":3,"c":true})", R"({"xy":5})", R"({"zy":7})", R"({"zy":"s"})", "12"},
       {R"({"x":1.5})", R"({"xy":4})", R"({"xy":5.5})", R"({"zy":1})", R"({"c":1})",
        R"({"\u0078":true})"}});
  check({R"({"type":"object","propertyNames":{"pattern":"^a"},"properties":{"b":true}})",
         {R"({"a":1})", "{}"},
         {R"({"b":1})", R"({"ca":1})"}});
  check({R"({"type":"object","dependentRequired":{"a":["b"]},"properties":{"a":true,"b":true},)"
         R"("additionalProperties":false})",
         {"{}", R"({"b":1})", R"({"a":1,"b":1})"},
         {R"({"a":1})"}});
}

/// The last of a few names is not followed by a comma, and none comes twice, in any order.
TEST(SchemaContainers, FewNamesRunOut) {
  for (const char *schema :
       {R"({"type":"object","patternProperties":{"^(red|green)$":{"type":"integer"}},)"
        R"("additionalProperties":false})",
        R"({"type":"object","propertyNames":{"enum":["red","green"]},)"
        R"("additionalProperties":{"type":"integer"}})"}) {
    check({schema, {R"({"green":1,"red":2})", R"({"red":1,"green":2})", "{}"}, {R"({"blue":1})"}});
    auto grammar = schemaGrammar(schema);
    ASSERT_TRUE(grammar.ok());
    Recognizer recognizer(*grammar);
    for (const char *text : {R"({"red":1,"r)", R"({"red":1,"green":2,)"})
      EXPECT_EQ(recognizer.run(recognizer.start(), text), Recognizer::dead) << text;
  }
  JsonForm form;
  form.uniqueNames = true;
  EXPECT_EQ(schemaGrammar(R"({"type":"object","propertyNames":{"enum":["a","b"]},)"
                          R"("minProperties":3})",
                          form)
                .status()
                .code(),
            "INGOT-E6613");
}

TEST(SchemaContainers, CountsOfMembers) {
  check(
      {R"({"type":"object","properties":{"a":true,"b":true,"c":true},"additionalProperties":false,)"
       R"("minProperties":2,"maxProperties":2})",
       {R"({"a":1,"b":1})", R"({"a":1,"c":1})", R"({"b":1,"c":1})"},
       {"{}", R"({"b":1})", R"({"a":1,"b":1,"c":1})"}});
  check({R"({"type":"object","minProperties":1,"maxProperties":2})",
         {R"({"a":1})", R"({"a":1,"b":2})"},
         {"{}", R"({"a":1,"b":1,"c":1})"}});
}

TEST(SchemaContainers, Items) {
  check({R"({"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}],)"
         R"("items":{"type":"null"},)"
         R"("minItems":1,"maxItems":3})",
         {"[1]", R"([1,"a"])", R"([1 , "a", null])"},
         {"[]", R"(["a"])", R"([1,"a",null,null])", R"([1,null])"}});
  check({R"({"items":[{"type":"integer"}],"additionalItems":false})",
         {"[]", "[1]"},
         {"[1,2]", R"(["a"])"}});
  std::string many = "[1";
  for (int i = 1; i < 500; ++i)
    many += ",1";
  check({R"({"type":"array","items":{"type":"integer"},"minItems":500,"maxItems":501})",
         {many + "]", many + ",1]"},
         {"[1,1]", many + ",1,1]"}});
  check({R"({"type":"array","contains":{"const":1},"minContains":1,"maxContains":2})",
         {"[1]", R"([0,1,"a",1])"},
         {"[]", "[0]", "[1,1,1]"}});
  check({R"({"type":"array","items":{"enum":["a","b",null]},"uniqueItems":true,"minItems":2})",
         {R"(["a",null])", R"([null,"b","a"])"},
         {R"(["a"])", R"(["a","a"])"}});
}

TEST(SchemaContainers, RecursionEnds) {
  check({R"({"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{)"
         R"("v":{"type":"integer"},)"
         R"("next":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]}},"required":["v"],)"
         R"("additionalProperties":false}}})",
         {R"({"v":1})", R"({"v":1,"next":{"v":2,"next":null}})"},
         {R"({"v":1,"next":{}})", R"({"next":null})"}});
}

} // namespace ingot::runtime::guided
