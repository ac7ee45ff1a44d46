// SPDX-License-Identifier: Apache-2.0
// Keywords of numbers and strings, and constants.
#include "tests/unit/guided_json/SchemaCases.h"

namespace ingot::runtime::guided {

TEST(SchemaScalars, NumbersAreExact) {
  check({R"({"type":"number"})",
         {"0", "-0", "1.5", "1e2", "0e5", "12.5E-3", "-7"},
         {"1.", ".5", "01", "1.e2", "+1", "1e", "--1", "NaN"}});
  check({R"({"type":"integer"})",
         {"0", "-12", "98249283749234923498293171823948729348710298301928331"},
         {"1.5", "1e2", "01"}});
  check({R"({"type":"number","maximum":99.95})",
         {"99.9", "99.90", "99.95", "99.95000", "-1000", "0", "9.9e1", "999.5e-1"},
         {"99.951", "99.96", "100", "1e2", "9.996e1", "1e3"}});
  check({R"({"type":"number","exclusiveMinimum":0})",
         {"0.1", "1", "1e5", "0.5e-20"},
         {"0", "-0", "0.0", "0e5", "-1", "-1e2"}});
  check({R"({"type":"number","minimum":0})",
         {"0", "-0", "0e5", "0.001", "1e30"},
         {"-0.001", "-1e-5"}});
  check({R"({"type":"integer","minimum":9007199254740993,"maximum":9223372036854775808})",
         {"9007199254740993", "9223372036854775808"},
         {"9007199254740992", "9223372036854775809", "0"}});
  check({R"({"type":"integer","minimum":-5,"maximum":12})",
         {"-5", "-4", "0", "9", "10", "12"},
         {"-6", "13", "-10", "100"}});
  check({R"({"type":"integer","exclusiveMinimum":1.5,"exclusiveMaximum":3})", {"2"}, {"1", "3"}});
  check({R"({"type":"number","minimum":-1.5,"maximum":-0.25})",
         {"-1.5", "-1", "-0.25", "-0.3", "-5e-1"},
         {"-1.51", "-0.2", "0", "-0", "-1e1", "1"}});
}

TEST(SchemaScalars, MultiplesAreExact) {
  check({R"({"type":"integer","multipleOf":7})",
         {"0", "7", "-14", "98", "7000000007"},
         {"1", "8", "-15"}});
  check({R"({"multipleOf":0.01})", {"1", "1.2", "1.25", "-0.01"}, {"1.255", "0.001"}});
  check({R"({"type":"number","multipleOf":0.25,"minimum":1})",
         {"1", "1.25", "1.5", "2.75"},
         {"0.75", "1.3", "1.2"}});
  check({R"({"type":"integer","multipleOf":300})", {"0", "300", "900"}, {"100", "310"}});
}

TEST(SchemaScalars, LengthsCountCodePoints) {
  check({R"({"type":"string","minLength":2,"maxLength":3})",
         {R"("ab")", R"("日本語")", R"("\u00e9x")", R"("\ud83d\ude00b")", R"("😀b")", R"("a\n\"")"},
         {R"("a")", R"("abcd")", R"("\ud83d\ude00")", R"("\ud83dab")", "\"a\n\""}});
}

TEST(SchemaScalars, PatternsSearchDecodedText) {
  check({R"({"type":"string","pattern":"^a|b$"})",
         {R"("abc")", R"("cb")", R"("\u0061x")"},
         {R"("cbc")"}});
  check({R"({"type":"string","pattern":"\\d"})", {R"("a1")"}, {R"("٣")", R"("a")"}});
  check({R"({"type":"string","pattern":"^[\"\\\\\\t]+$"})",
         {R"("\"\\\t")", R"("\u0009")"},
         {R"("a")", R"("")"}});
  check({R"({"type":"string","pattern":"^[a-z]+$","maxLength":3,"not":{"const":"ab"}})",
         {R"("a")", R"("abc")"},
         {R"("ab")", R"("abcd")", R"("a\u0062")"}});
}

TEST(SchemaScalars, FormatsAreOfTheCalendar) {
  check({R"({"type":"string","format":"date"})",
         {R"("2024-02-29")", R"("2000-02-29")", R"("2023-12-31")"},
         {R"("2023-02-29")", R"("1900-02-29")", R"("2023-04-31")", R"("2023-00-10")"}});
  check({R"({"type":"string","format":"date-time"})",
         {R"("2024-02-29T23:59:60Z")", R"("2024-01-01T00:00:00.5+02:00")"},
         {R"("2024-01-01T24:00:00Z")", R"("2024-01-01 00:00:00Z")", R"("2024-01-01T00:00:00")"}});
  check({R"({"type":"string","format":"ipv4"})",
         {R"("1.2.3.4")", R"("255.0.0.1")"},
         {R"("1.2.3.04")", R"("256.1.1.1")", R"("1.2.3")"}});
  check({R"({"type":"string","format":"ipv6"})",
         {R"("::1")", R"("1:2:3:4:5:6:7:8")", R"("::ffff:1.2.3.4")"},
         {R"("1::2::3")", R"("12345::")"}});
  check({R"({"type":"string","format":"uuid"})",
         {R"("2eb8aa08-AA98-11ea-b4aa-73b441d16380")"},
         {R"("2eb8aa08aa9811eab4aa73b441d16380")"}});
  check({R"({"type":"string","format":"duration"})",
         {R"("P4DT12H30M5S")", R"("P1W")"},
         {R"("PT")", R"("P1YT")", R"("P1D2H")", R"("P1Y2W")"}});
  check({R"({"type":"string","format":"email"})",
         {R"("joe.bloggs@example.com")"},
         {R"("a..b@c.d")", R"("a@")"}});
  check({R"({"type":"string","format":"hostname"})",
         {R"("a-b.example")"},
         {R"("-a")", R"("a.")", R"("xn--x")"}});
  check({R"({"type":"string","format":"uri"})",
         {R"("http://example.com/c?d=e#f")", R"("urn:x:y")"},
         {R"("/relative")", R"("http:// x")", R"("http://localhost/%zz")"}});
  check({R"({"format":"int32"})", {"2147483647", R"("text")"}, {"2147483648", "1.5"}});
  check({R"({"type":"integer","format":"uint8"})", {"0", "255"}, {"256", "-1"}});
  check({R"({"type":"string","format":"uuid4"})",
         {R"("2eb8aa08-AA98-41ea-b4aa-73b441d16380")"},
         {R"("2eb8aa08-aa98-11ea-b4aa-73b441d16380")"}});
  check({R"({"type":"string","format":"path"})", {R"("/a b")", R"("")"}, {"1"}});
}

TEST(SchemaScalars, ConstantsAndEnums) {
  check({R"({"enum":["é\n","a/b",1.50,null,{"a":[1]}]})",
         {R"("é\n")", R"("\u00e9\u000a")", R"("a/b")", "1.5", "null", R"({"a":[1]})",
          R"({ "a": [ 1 ] })"},
         {R"("e")", "1.6", R"({"a":[]})", R"({"a":[1],"b":1})", "\"Ã©\\n\""}});
  check({R"({"enum":["a",1,"bcd"],"type":"string","minLength":2})", {R"("bcd")"}, {"1", R"("a")"}});
}

} // namespace ingot::runtime::guided
