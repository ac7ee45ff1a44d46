// SPDX-License-Identifier: Apache-2.0
// Stop strings in text that comes in any pieces.
#include "runtime/serving/StopText.h"

#include <gtest/gtest.h>

using ingot::runtime::StopText;

namespace {

/// What comes out when `text` arrives in pieces of `size`; `found` says whether it stopped.
std::string feed(const std::vector<std::string> &stops, const std::string &text, size_t size,
                 bool &found) {
  StopText stop(stops);
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
