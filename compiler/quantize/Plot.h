// SPDX-License-Identifier: Apache-2.0
// Plots as inline SVG: categories along x, numbers along y. Colours are CSS classes of the page.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::quantize {

/// `text` with what HTML reads as its own escaped.
std::string escapeHtml(std::string_view text);

/// Four digits, for people.
std::string shortNumber(double number);

struct PlotPoint {
  size_t category = 0;
  double low = 0, high = 0; ///< of a line and a bar `high` alone; may be infinite
  std::string title;        ///< shown under the pointer
};

struct PlotSeries {
  enum class Kind : uint8_t { Line, Bar, Thin, Thick }; ///< the last two: from low to high
  std::string name;
  Kind kind = Kind::Line;
  int color = 1; ///< class "s1", "s2"
  std::vector<PlotPoint> points;
};

struct Plot {
  std::string label;                     ///< what y is
  std::vector<std::string> categories{}; ///< what is written along x
  std::vector<PlotSeries> series{};
  bool isWide = false;      ///< logarithmic where numbers differ much; 0 is at the lower edge then
  size_t marked = SIZE_MAX; ///< a category that is called by its name
  std::string markedName{};

  /// The legend, where there are several series, and the plot.
  std::string html() const;
};

} // namespace ingot::quantize
