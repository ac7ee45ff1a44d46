// SPDX-License-Identifier: Apache-2.0
// Sizes are in the units of the SVG's own box, which the page scales.
#include "compiler/quantize/Plot.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace ingot::quantize;

namespace {

constexpr double kWidth = 760, kHeight = 240, kLeft = 62, kRight = 748, kTop = 14, kBottom = 208;
constexpr size_t kLabels = 20; ///< along x at most
constexpr double kWide = 30;   ///< from this ratio on an axis may be logarithmic

std::string text(const char *format, auto... values) {
  char buffer[512];
  std::snprintf(buffer, sizeof buffer, format, values...);
  return buffer;
}

/// From numbers to heights.
class Axis {
public:
  Axis(const Plot &plot) {
    double positive = HUGE_VAL; // the least number above 0
    for (const PlotSeries &series : plot.series)
      for (const PlotPoint &point : series.points) {
        const bool isSpan =
            series.kind == PlotSeries::Kind::Thin || series.kind == PlotSeries::Kind::Thick;
        for (const double value : {isSpan ? point.low : point.high, point.high})
          if (std::isfinite(value)) {
            low = std::min(low, value);
            high = std::max(high, value);
            positive = value > 0 ? std::min(positive, value) : positive;
          }
      }
    isLogarithmic = plot.isWide && high > kWide * positive;
    if (isLogarithmic) {
      low = std::pow(10, std::floor(std::log10(positive)));
      high = std::pow(10, std::ceil(std::log10(high)));
    } else if (!(high > low)) {
      high = low + 1;
    }
  }

  /// Whether 0 is on it.
  bool hasZero() const { return !isLogarithmic; }

  double at(double value) const {
    const double share = isLogarithmic
                             ? std::log10(std::max(value, low) / low) / std::log10(high / low)
                             : (value - low) / (high - low);
    return kBottom - std::clamp(share, 0.0, 1.0) * (kBottom - kTop);
  }

  std::vector<double> ticks() const {
    std::vector<double> ticks;
    if (isLogarithmic) {
      const int decades = static_cast<int>(std::lround(std::log10(high / low)));
      const int step = std::max(1, (decades + 5) / 6);
      for (int i = 0; i <= decades; i += step)
        ticks.push_back(low * std::pow(10, i));
      return ticks;
    }
    const double rough = (high - low) / 5, decade = std::pow(10, std::floor(std::log10(rough)));
    double step = decade * 10;
    for (const double factor : {5.0, 2.0, 1.0})
      if (decade * factor >= rough)
        step = decade * factor;
    for (double tick = std::ceil(low / step) * step; tick <= high + step * 1e-9; tick += step)
      ticks.push_back(std::abs(tick) < step * 1e-9 ? 0 : tick);
    return ticks;
  }

private:
  bool isLogarithmic = false;
  double low = 0, high = 0;
};

class Drawing {
public:
  explicit Drawing(const Plot &plot)
      : plot(plot), axis(plot),
        slot((kRight - kLeft) / double(std::max<size_t>(1, plot.categories.size()))) {}

  std::string svg() {
    out = text("<svg viewBox=\"0 0 %g %g\" role=\"img\" aria-label=\"", kWidth, kHeight) +
          escapeHtml(plot.label) + "\">";
    for (const double tick : axis.ticks())
      out += text("<line class=\"grid\" x1=\"%g\" x2=\"%g\" y1=\"%.1f\" y2=\"%.1f\"/><text "
                  "class=\"tick\" x=\"%g\" y=\"%.1f\" text-anchor=\"end\">%s</text>",
                  kLeft, kRight, axis.at(tick), axis.at(tick), kLeft - 8, axis.at(tick) + 4,
                  shortNumber(tick).c_str());
    const size_t every = (plot.categories.size() + kLabels - 1) / kLabels;
    for (size_t i = 0; i < plot.categories.size(); i += every)
      out += text("<text class=\"tick\" x=\"%.1f\" y=\"%g\" text-anchor=\"middle\">", middle(i),
                  kBottom + 20) +
             escapeHtml(plot.categories[i]) + "</text>";
    for (const PlotSeries &series : plot.series)
      draw(series);
    if (axis.hasZero())
      out += text("<line class=\"base\" x1=\"%g\" x2=\"%g\" y1=\"%.1f\" y2=\"%.1f\"/>", kLeft,
                  kRight, axis.at(0), axis.at(0));
    mark();
    return out + "</svg>";
  }

private:
  double middle(size_t category) const { return kLeft + slot * (double(category) + 0.5); }

  void draw(const PlotSeries &series) {
    if (series.kind == PlotSeries::Kind::Line) {
      out += text("<polyline class=\"line s%d\" stroke-width=\"2\" points=\"", series.color);
      for (const PlotPoint &point : series.points)
        out += text("%.1f,%.1f ", middle(point.category), axis.at(point.high));
      out += "\"/>";
    }
    std::vector<size_t> all(plot.categories.size()), drawn(plot.categories.size());
    for (const PlotPoint &point : series.points)
      ++all[point.category];
    for (const PlotPoint &point : series.points) {
      // Several of one category stand side by side.
      const double place =
          (double(drawn[point.category]++) + 0.5) / double(all[point.category]) - 0.5;
      const double x = middle(point.category) + place * slot * 0.8;
      out += shape(series, point, x, slot * 0.8 / double(all[point.category])) + "<title>" +
             escapeHtml(point.title) + "</title>" +
             (series.kind == PlotSeries::Kind::Line  ? "</circle>"
              : series.kind == PlotSeries::Kind::Bar ? "</rect>"
                                                     : "</line>");
    }
  }

  std::string shape(const PlotSeries &series, const PlotPoint &point, double x, double room) const {
    const double top = axis.at(point.high);
    if (series.kind == PlotSeries::Kind::Line)
      return text("<circle class=\"dot s%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"%g\">", series.color, x,
                  top, plot.categories.size() > 60 ? 2.5 : 4.0);
    if (series.kind == PlotSeries::Kind::Bar) {
      const double width = std::min(24.0, room * 0.9);
      return text("<rect class=\"fill s%d\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                  "rx=\"2\">",
                  series.color, x - width / 2, top, width, kBottom - top);
    }
    const bool isThick = series.kind == PlotSeries::Kind::Thick;
    return text("<line class=\"line s%d\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" "
                "stroke-width=\"%.1f\">",
                series.color, x, x, axis.at(point.low), top,
                isThick ? std::min(8.0, room * 0.6) : std::min(2.0, room * 0.3));
  }

  /// The name of the marked category, under its first series.
  void mark() {
    if (plot.series.empty())
      return;
    for (const PlotPoint &point : plot.series.front().points)
      if (point.category == plot.marked) {
        const double x = middle(point.category), y = axis.at(point.high);
        const bool isRight = x > kWidth / 2;
        out += text("<circle class=\"ring\" cx=\"%.1f\" cy=\"%.1f\" r=\"7\"/><text class=\"name\" "
                    "x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">",
                    x, y, x + (isRight ? -11 : 11), std::min(y + 16, kBottom - 6),
                    isRight ? "end" : "start") +
               escapeHtml(plot.markedName) + "</text>";
      }
  }

  const Plot &plot;
  Axis axis;
  double slot;
  std::string out;
};

} // namespace

std::string ingot::quantize::escapeHtml(std::string_view text) {
  std::string out;
  for (const char c : text)
    switch (c) {
    case '&':
      out += "&amp;";
      break;
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '"':
      out += "&quot;";
      break;
    default:
      out += c;
    }
  return out;
}

std::string ingot::quantize::shortNumber(double number) {
  const double magnitude = std::abs(number);
  return text(magnitude >= 1e4 && magnitude < 1e9 ? "%.0f" : "%.4g", number);
}

std::string Plot::html() const {
  std::string out;
  if (series.size() > 1) {
    out += "<ul class=\"legend\">";
    for (const PlotSeries &one : series)
      out += text("<li><span class=\"swatch s%d\"></span>", one.color) + escapeHtml(one.name) +
             "</li>";
    out += "</ul>";
  }
  return out + Drawing(*this).svg();
}
