// SPDX-License-Identifier: Apache-2.0
// Figures first, then plots, then their numbers.
#include "compiler/quantize/GatePage.h"

#include "compiler/build/BuildReport.h"
#include "compiler/quantize/Plot.h"
#include "compiler/quantize/SafetensorsWriter.h"
#include "llvm/ADT/STLExtras.h"

using namespace ingot;
using namespace ingot::quantize;
using checkpoint::message;
using Kind = PlotSeries::Kind;

namespace {

constexpr char kStyle[] = R"css(
:root { color-scheme: light dark; --surface: #fcfcfb; --ink: #0b0b0b; --second: #52514e;
  --muted: #898781; --grid: #e1e0d9; --base: #c3c2b7; --s1: #2a78d6; --s2: #eb6834;
  --good: #006300; --bad: #d03b3b; }
@media (prefers-color-scheme: dark) { :root { --surface: #1a1a19; --ink: #ffffff;
  --second: #c3c2b7; --muted: #898781; --grid: #2c2c2a; --base: #383835; --s1: #3987e5;
  --s2: #d95926; --good: #0ca30c; --bad: #e66767; } }
body { background: var(--surface); color: var(--ink); font: 15px/1.5 system-ui, sans-serif;
  max-width: 860px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.1rem; margin: 2.2rem 0 0.3rem; }
p { margin: 0.3rem 0; } .second { color: var(--second); overflow-wrap: anywhere; }
.verdict { font-size: 1.15rem; font-weight: 600; margin: 0.8rem 0; }
.good { color: var(--good); } .bad { color: var(--bad); }
.tiles { display: flex; flex-wrap: wrap; gap: 0.8rem; margin: 1rem 0; }
.tile { border: 1px solid var(--grid); border-radius: 8px; padding: 0.6rem 0.9rem;
  flex: 1 1 9rem; }
.tile b { display: block; font-size: 1.5rem; font-weight: 600; }
.tile span { color: var(--second); font-size: 0.85rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.88rem; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: 0.2rem 0.8rem; border-bottom: 1px solid var(--grid); }
th { color: var(--second); font-weight: 500; } th:first-child, td:first-child { text-align: left; }
summary { color: var(--second); cursor: pointer; margin: 0.4rem 0; }
svg { width: 100%; height: auto; display: block; } .grid { stroke: var(--grid); }
.base { stroke: var(--base); } .tick { fill: var(--muted); font-size: 11px; }
.name { fill: var(--ink); font-size: 12px; paint-order: stroke;
  stroke: var(--surface); stroke-width: 4px; } .ring { fill: none; stroke: var(--ink); }
.line { fill: none; } .line.s1 { stroke: var(--s1); }
.line.s2 { stroke: var(--s2); } .dot { stroke: var(--surface); stroke-width: 1.5; }
.dot.s1, .fill.s1 { fill: var(--s1); } .dot.s2, .fill.s2 { fill: var(--s2); }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: 1.2rem; margin: 0.4rem 0;
  padding: 0; color: var(--second); font-size: 0.88rem; }
.swatch { display: inline-block; width: 12px; height: 12px; border-radius: 3px;
  margin-right: 6px; vertical-align: -1px; }
.swatch.s1 { background: var(--s1); } .swatch.s2 { background: var(--s2); }
)css";

std::string cell(double number) {
  return message("<td data-value=\"", compiler::exactly(number), "\">", shortNumber(number),
                 "</td>");
}

std::string cell(std::string_view text) { return message("<td>", escapeHtml(text), "</td>"); }

/// A table of `id`; `rows`: its body.
std::string table(std::string_view id, std::initializer_list<std::string_view> heads,
                  const std::string &rows) {
  std::string out = message("<div class=\"scroll\"><table id=\"", id, "\"><thead><tr>");
  for (std::string_view head : heads)
    out += message("<th>", head, "</th>");
  return out + "</tr></thead><tbody>" + rows + "</tbody></table></div>";
}

std::string section(std::string_view title, std::string_view explanation, const std::string &plots,
                    const std::string &numbers) {
  return message("<section><h2>", title, "</h2><p class=\"second\">", explanation, "</p>", plots,
                 "<details><summary>Numbers</summary>", numbers, "</details></section>");
}

/// What stands along x for a part.
std::string shortName(const std::string &part) {
  return part.starts_with("layers.") ? part.substr(7) : part;
}

std::string limitsOf(const GateReport &report) {
  std::string rows;
  for (const LimitResult &limit : report.limits)
    rows +=
        message("<tr>", cell(limit.limit), cell(limit.value), "<td class=\"",
                limit.isKept ? "good\">&#10003; kept" : "bad\">&#10007; exceeded", "</td></tr>");
  return table("limits", {"limit", "measured", ""}, rows);
}

std::string tile(std::string_view id, double value, const std::string &shown,
                 const std::string &explanation) {
  return message("<div class=\"tile\"><b id=\"", id, "\" data-value=\"", compiler::exactly(value),
                 "\">", shown, "</b><span>", explanation, "</span></div>");
}

std::string figuresOf(const PredictionDifference &p) {
  return "<div class=\"tiles\">" +
         tile("kl_mean", p.divergence, shortNumber(p.divergence),
              message("mean KL divergence, &#177; ", shortNumber(p.divergenceError), " nats")) +
         tile("kl_p99", p.divergenceP99, shortNumber(p.divergenceP99), "its 99th percentile") +
         tile("perplexity", p.perplexity, shortNumber(p.perplexity),
              message("perplexity; of the original ", shortNumber(p.basePerplexity))) +
         tile("same_top1", p.sameTop, shortNumber(100 * p.sameTop) + " %",
              message("same likeliest token, of ", p.tokens)) +
         "</div>";
}

std::string errorsOf(const GateReport &report) {
  Plot plot{"relative root mean square of differences", {}, {}, true};
  PlotSeries own{"by itself, given what the engine has before it", Kind::Line, 1, {}};
  PlotSeries sums{"with all parts before it", Kind::Line, 2, {}};
  std::string rows;
  for (const PartDifference &part : report.difference.parts) {
    const size_t at = plot.categories.size();
    if (part.part == report.worst().part)
      plot.marked = at;
    plot.categories.push_back(shortName(part.part));
    own.points.push_back(
        {at, 0, part.relativeRms, message(part.part, ": ", shortNumber(part.relativeRms))});
    sums.points.push_back(
        {at, 0, part.accumulated, message(part.part, ": ", shortNumber(part.accumulated))});
    rows +=
        message("<tr>", cell(part.part), cell(part.relativeRms), cell(part.accumulated), "</tr>");
  }
  plot.markedName = report.worst().part;
  plot.series = {std::move(own), std::move(sums)};
  return section("Error by layer",
                 message("Root mean square of the differences of a part's results over that of the "
                         "results. Worst by itself: <b id=\"worst\">",
                         escapeHtml(report.worst().part), "</b>."),
                 plot.html(), table("errors", {"part", "by itself", "accumulated"}, rows));
}

std::string weightsOf(const GateReport &report) {
  Plot plot{"weights"};
  PlotSeries ranges{"smallest to largest", Kind::Thin, 1, {}};
  PlotSeries deviations{"one standard deviation", Kind::Thick, 2, {}};
  std::string rows;
  for (const PartDifference &part : report.difference.parts) {
    if (part.matrices.empty())
      continue;
    const size_t at = plot.categories.size();
    plot.categories.push_back(shortName(part.part));
    for (const MatrixRange &matrix : part.matrices) {
      const std::string title =
          message(matrix.name, ": ", shortNumber(matrix.least), " to ", shortNumber(matrix.most),
                  ", standard deviation ", shortNumber(matrix.deviation));
      ranges.points.push_back({at, matrix.least, matrix.most, title});
      deviations.points.push_back({at, -matrix.deviation, matrix.deviation, title});
      rows += message("<tr>", cell(matrix.name), cell(matrix.least), cell(matrix.most),
                      cell(matrix.deviation), "</tr>");
    }
  }
  plot.series = {std::move(ranges), std::move(deviations)};
  return section("Weights of the original", "Each matrix of each layer.", plot.html(),
                 table("weights", {"matrix", "smallest", "largest", "deviation"}, rows));
}

std::string inputsOf(const GateReport &report) {
  Plot plot{"magnitude", {}, {}, true};
  PlotSeries most{"largest magnitude", Kind::Line, 1, {}};
  PlotSeries usual{"99.9th percentile", Kind::Line, 2, {}};
  PlotSeries outliers{"outliers", Kind::Bar, 1, {}};
  std::string rows;
  for (const PartDifference &part : report.difference.parts) {
    if (!part.input)
      continue;
    const InputRange &input = *part.input;
    const size_t at = plot.categories.size();
    const std::string title =
        message(part.part, ": largest ", shortNumber(input.largest), ", 99.9 % below ",
                shortNumber(input.p999), ", ", input.outliers, " of ", input.channels,
                " channels are outliers");
    plot.categories.push_back(shortName(part.part));
    most.points.push_back({at, 0, input.largest, title});
    usual.points.push_back({at, 0, input.p999, title});
    outliers.points.push_back({at, 0, double(input.outliers), title});
    rows += message("<tr>", cell(part.part), cell(input.largest), cell(input.p999),
                    cell(double(input.outliers)), cell(double(input.channels)), "</tr>");
  }
  Plot counts{"channels that are outliers", plot.categories};
  plot.series = {std::move(most), std::move(usual)};
  const bool hasOutliers =
      llvm::any_of(outliers.points, [](auto &point) { return point.high > 0; });
  counts.series = {std::move(outliers)};
  const std::string shown =
      hasOutliers ? "<p class=\"second\">Channels that are outliers:</p>" + counts.html()
                  : "<p class=\"second\">No channel is an outlier.</p>";
  return section("Inputs of layers",
                 "Magnitudes of what the engine gives each layer. Outliers are channels "
                 "whose largest magnitude is over 6 times that of the median channel.",
                 plot.html() + shown,
                 table("inputs", {"layer", "largest", "99.9 %", "outliers", "channels"}, rows));
}

std::string storedOf(const GateReport &report) {
  Plot plot{"bits a weight"};
  PlotSeries bars{"bits a weight", Kind::Bar, 1, {}};
  std::string rows;
  for (const StoredPart &part : report.stored) {
    std::string formats;
    for (const std::string &format : part.formats)
      formats += (formats.empty() ? "" : ", ") + format;
    rows += message("<tr>", cell(part.part), cell(part.bits()), cell(double(part.bytes)),
                    cell(formats), "</tr>");
    if (!part.part.starts_with("layers."))
      continue;
    const size_t at = plot.categories.size();
    plot.categories.push_back(shortName(part.part));
    bars.points.push_back(
        {at, 0, part.bits(), message(part.part, ": ", shortNumber(part.bits()), ", ", formats)});
  }
  plot.series.push_back(std::move(bars));
  return section("Bits a weight", "What the engine stores of each layer, scales included.",
                 plot.html(), table("stored", {"part", "bits", "bytes", "formats"}, rows));
}

std::string doubtOf(const GateReport &report) {
  const std::string doubt = report.doubt();
  return doubt.empty() ? doubt : "<p id=\"doubt\">" + escapeHtml(doubt) + ".</p>";
}

} // namespace

std::string quantize::gatePage(const GateReport &report) {
  const std::string exceeded = report.exceeded();
  return message(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\"><title>",
      escapeHtml(report.engine), ": accuracy</title><style>", kStyle, "</style></head><body><h1>",
      escapeHtml(report.engine), "</h1><p class=\"second\">compared with ",
      escapeHtml(report.original), ", which is run in f32</p><p class=\"verdict ",
      exceeded.empty() ? "good\">&#10003; All limits are kept."
                       : "bad\">&#10007; Refused: limits are exceeded.",
      "</p>", limitsOf(report), doubtOf(report), figuresOf(report.difference.prediction),
      errorsOf(report), weightsOf(report), inputsOf(report), storedOf(report),
      "<p class=\"second\">", "Measured on ", escapeHtml(describeText(report.difference.text)),
      ".</p></body></html>\n");
}

checkpoint::Outcome quantize::checkGateReport(const std::filesystem::path &path) {
  if (path.extension() != ".html" && path.extension() != ".json")
    return checkpoint::Error{"INGOT-E2146", "the report's name says no form", path.string(),
                             "choose a name that ends in .html or .json"};
  return {};
}

checkpoint::Outcome quantize::writeGateReport(const GateReport &report,
                                              const std::filesystem::path &path) {
  return writeWhole(path,
                    path.extension() == ".json" ? report.json().dump(2) + "\n" : gatePage(report));
}
