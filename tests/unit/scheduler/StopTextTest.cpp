// SPDX-License-Identifier: Apache-2.0
// Stop strings in text that comes in any pieces.
#include "runtime/serving/StopText.h"

#include <gtest/gtest.h>

using ingot::runtime::StopText;

namespace {

/// What comes out when `text` arrives in pieces of `size`; `found` says whether it stopped.
std::string feed(const std::vector<std::string> &stops, const std::string &text, size_t size,
                 bool &found, bool included = false) {
  StopText stop(stops, included);
  std::string out;
  found = false;
  for (size_t at = 0; at < text.size() && !found; at += size)
    found = stop.push(std::string_view(text).substr(at, size), out);
  if (!found)
    stop.finish(out);
  return out;
}

TEST(StopTextTest, TheFirstStopEndsTheTextWhateverThePieces) {
  const std::vector<std::string> stops = {"END", "\n\n", "aab"};
  for (size_t size = 1; size < 8; ++size) {
    bool found = false;
    EXPECT_EQ(feed(stops, "some text EN EEND more", size, found), "some text EN E");
    EXPECT_TRUE(found);
    EXPECT_EQ(feed(stops, "aaaab", size, found), "aa");
    EXPECT_TRUE(found);
    EXPECT_EQ(feed(stops, "one\ntwo\n", size, found), "one\ntwo\n");
    EXPECT_FALSE(found);
  }
}

TEST(StopTextTest, AStopMayBePartOfTheText) {
  for (size_t size = 1; size < 8; ++size) {
    bool found = false;
    EXPECT_EQ(feed({"END", "EN\n", "x"}, "some EEN\n more x", size, found, true), "some EEN\n");
    EXPECT_TRUE(found);
  }
  bool found = false;
  EXPECT_EQ(feed({"abc", "ab"}, "abc", 3, found, true), "ab") << "the shorter one is there first";
}

TEST(StopTextTest, AStopThatEndsWhereNoneIsSearchedIsText) {
  StopText stop({"ab", "bcd"});
  std::string out;
  EXPECT_FALSE(stop.push("xab", out, false));
  EXPECT_FALSE(stop.push("c", out, false));
  EXPECT_EQ(out, "xa");
  // Begins before the place, ends behind it.
  EXPECT_TRUE(stop.push("de", out));
  EXPECT_EQ(out, "xa");
  StopText other({"aXb", "X"});
  EXPECT_FALSE(other.push("aX", out = "", false));
  EXPECT_FALSE(other.push("c", out)) << "X was passed";
  EXPECT_EQ(out, "aXc");
  EXPECT_TRUE(other.push("-X", out));
  EXPECT_EQ(out, "aXc-");
}

TEST(StopTextTest, HoldsBackOnlyWhatMayBecomeAStop) {
  StopText stop({"STOP"});
  std::string out;
  EXPECT_FALSE(stop.push("go ST", out));
  EXPECT_EQ(out, "go ");
  EXPECT_FALSE(stop.push("AY", out));
  EXPECT_EQ(out, "go STAY");
}

TEST(StopTextTest, WithoutStopsNothingIsHeld) {
  StopText stop;
  std::string out;
  EXPECT_FALSE(stop.push("abc", out));
  EXPECT_EQ(out, "abc");
}

} // namespace
