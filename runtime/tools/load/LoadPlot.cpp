// SPDX-License-Identifier: Apache-2.0
// Plain shapes and text; no script, no font of its own.
#include "runtime/tools/load/LoadPlot.h"

#include "runtime/tools/Table.h"
#include "runtime/tools/load/LoadStatistics.h"

#include <algorithm>
#include <cmath>

namespace ingot::runtime {
namespace {

constexpr double panelWidth = 400, panelHeight = 300, panelTop = 60, gap = 80;
constexpr double panelBottom = panelTop + panelHeight;
constexpr size_t mostDots = 20000; // of one series

struct Series {
  const char *name, *color;
  std::vector<double> sorted;                    ///< seconds
  std::vector<std::pair<double, double>> points; ///< when, and seconds; empty: not in time
};

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : printable(text))
    out += c == '&'   ? std::string("&amp;")
           : c == '<' ? std::string("&lt;")
           : c == '>' ? std::string("&gt;")
                      : std::string(1, c);
  return out;
}

std::string number(double value) { return fixedPoint(value, 1); }

std::string text(double x, double y, const char *anchor, std::string_view words,
                 const char *more = "") {
  return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" font-size=\"11\" text-anchor=\"" +
         anchor + "\"" + more + ">" + escaped(words) + "</text>\n";
}

std::string line(double x1, double y1, double x2, double y2, const char *color) {
  return "<line x1=\"" + number(x1) + "\" y1=\"" + number(y1) + "\" x2=\"" + number(x2) +
         "\" y2=\"" + number(y2) + "\" stroke=\"" + color + "\"/>\n";
}

/// The axis of latencies: whole decades that hold every value.
class Decades {
public:
  explicit Decades(const std::vector<Series> &all) {
    double least = INFINITY, most = 0;
    for (const Series &series : all)
      if (!series.sorted.empty()) {
        least = std::min(least, series.sorted.front());
        most = std::max(most, series.sorted.back());
      }
    first = int(std::floor(std::log10(std::clamp(least, floor, 1e6))));
    last = std::max(first + 1, int(std::ceil(std::log10(std::clamp(most, floor, 1e6)))));
  }
  double place(double seconds) const {
    double share = (std::log10(std::max(seconds, floor)) - first) / (last - first);
    return panelBottom - panelHeight * std::clamp(share, 0.0, 1.0);
  }
  /// Rules, with labels where `labelled`.
  std::string rules(double left, bool labelled) const {
    std::string out;
    for (int decade = first; decade <= last; ++decade) {
      double y = place(std::pow(10, decade));
      out += line(left, y, left + panelWidth, y, "#ddd");
      if (labelled)
        out += text(left - 6, y + 4, "end", label(decade));
    }
    return out;
  }

private:
  static constexpr double floor = 1e-6;
  static std::string label(int decade) {
    const char *unit = decade >= 0 ? " s" : decade >= -3 ? " ms" : " us";
    int scale = decade >= 0 ? 0 : decade >= -3 ? 3 : 6;
    return grouped(uint64_t(std::llround(std::pow(10, decade + scale)))) + unit;
  }
  int first, last;
};

std::string percentilePanel(double left, const std::vector<Series> &all, const Decades &axis) {
  std::string out = axis.rules(left, true);
  for (int percent = 0; percent <= 100; percent += 25) {
    double x = left + panelWidth * percent / 100;
    out += line(x, panelTop, x, panelBottom, "#eee");
    out += text(x, panelBottom + 16, "middle", std::to_string(percent) + " %");
  }
  out += text(left + panelWidth / 2, panelBottom + 34, "middle", "share that is at most so slow");
  for (const Series &series : all) {
    std::string path;
    for (int step = 0; step <= 200 && !series.sorted.empty(); ++step)
      path += number(left + panelWidth * step / 200) + "," +
              number(axis.place(percentile(series.sorted, step / 200.0))) + " ";
    if (!path.empty())
      out += "<polyline fill=\"none\" stroke-width=\"1.5\" stroke=\"" + std::string(series.color) +
             "\" points=\"" + path + "\"/>\n";
  }
  return out;
}

std::string timePanel(double left, const std::vector<Series> &all, const Decades &axis) {
  double most = 0;
  for (const Series &series : all)
    for (auto [when, seconds] : series.points)
      most = std::max(most, when);
  most = most > 0 ? most : 1;
  std::string out = axis.rules(left, false);
  for (int quarter = 0; quarter <= 4; ++quarter) {
    double x = left + panelWidth * quarter / 4;
    out += line(x, panelTop, x, panelBottom, "#eee");
    out += text(x, panelBottom + 16, "middle", fixedPoint(most * quarter / 4, 1) + " s");
  }
  out += text(left + panelWidth / 2, panelBottom + 34, "middle", "when the request was due");
  for (const Series &series : all) {
    size_t each = series.points.size() / mostDots + 1; // of more dots, every second, third, ...
    for (size_t i = 0; i < series.points.size(); i += each)
      out += "<circle r=\"1.5\" fill-opacity=\"0.6\" fill=\"" + std::string(series.color) +
             "\" cx=\"" + number(left + panelWidth * series.points[i].first / most) + "\" cy=\"" +
             number(axis.place(series.points[i].second)) + "\"/>\n";
  }
  return out;
}

std::vector<Series> seriesOf(std::span<const LoadRecord> records) {
  std::vector<Series> all = {{"time to first token", "#1b6ac9", {}, {}},
                             {"inter-token latency", "#4d9a57", {}, {}},
                             {"end to end", "#e07b1f", {}, {}}};
  for (const LoadRecord &record : records) {
    if (!record.answered())
      continue;
    if (record.first >= 0)
      all[0].points.push_back({record.due, record.timeToFirstToken()});
    all[1].sorted.insert(all[1].sorted.end(), record.gaps.begin(), record.gaps.end());
    all[2].points.push_back({record.due, record.endToEnd()});
  }
  for (Series &series : all) {
    for (auto [when, seconds] : series.points)
      series.sorted.push_back(seconds);
    std::sort(series.sorted.begin(), series.sorted.end());
  }
  return all;
}

} // namespace

std::string plotOfLoad(std::span<const LoadRecord> records, const std::string &title) {
  std::vector<Series> all = seriesOf(records);
  Decades axis(all);
  double left = gap, right = gap + panelWidth + gap;
  std::string size =
      "\"" + number(right + panelWidth + 20) + "\" height=\"" + number(panelBottom + 50) + "\"";
  std::string out =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" font-family=\"sans-serif\" width=" + size +
      ">\n<rect fill=\"white\" width=" + size + "/>\n";
  out += text(left, 20, "start", title, " font-weight=\"bold\"");
  double x = left;
  for (const Series &series : all) {
    out += "<rect y=\"31\" width=\"10\" height=\"10\" x=\"" + number(x) + "\" fill=\"" +
           series.color + "\"/>\n" + text(x + 15, 40, "start", series.name);
    x += 150;
  }
  out += percentilePanel(left, all, axis) + timePanel(right, all, axis);
  return out + "</svg>\n";
}

} // namespace ingot::runtime
