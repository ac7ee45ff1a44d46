// SPDX-License-Identifier: Apache-2.0
// Names that come twice, whatever their spelling, and going back.
#include "runtime/guided/json/UniqueNames.h"

#include <gtest/gtest.h>

namespace ingot::runtime::guided {

static bool fits(std::string_view text) {
  UniqueNames names;
  return names.take(text);
}

TEST(UniqueNames, EachOnceInItsObject) {
  EXPECT_TRUE(fits(R"({"a":1,"b":{"a":["a","a"],"b":{}},"c":"a"})"));
  EXPECT_TRUE(fits(R"([{"a":1},{"a":2}])"));
  EXPECT_TRUE(fits(R"({"a":"\",\"a\":","aa":{}, "":1})"));
  EXPECT_FALSE(fits(R"({"a":1,"a)"
                    "\""));
  EXPECT_FALSE(fits(R"({"a":{"b":[{}]}, "a":1})"));
  EXPECT_FALSE(fits(R"({"":1,"":1})"));
}

TEST(UniqueNames, SpellingsAreOneName) {
  EXPECT_FALSE(fits(R"({"a/\"\n":1,"\u0061\/\u0022\u000a":1})"));
  EXPECT_FALSE(fits(R"({"é":1,"\u00E9":1})"));
  EXPECT_FALSE(fits(R"({"😀":1,"\ud83D\uDE00":1})"));
  EXPECT_TRUE(fits(R"({"\\u0061":1,"a":1})"));
}

TEST(UniqueNames, GoesBack) {
  UniqueNames names;
  ASSERT_TRUE(names.take(R"({"a":[{"x":1}],"b)"));
  UniqueNames::State before = names.state();
  EXPECT_TRUE(names.take(R"(":{"c":1},"c":1,"bb":2)"));
  EXPECT_FALSE(names.take(R"(,"b")"));
  names.restore(before);
  EXPECT_TRUE(names.take(R"(b":1,"b":2,"c":3)"));
  EXPECT_FALSE(names.take(R"(,"a":2)"));
}

} // namespace ingot::runtime::guided
