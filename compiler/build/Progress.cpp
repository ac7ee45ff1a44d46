// SPDX-License-Identifier: Apache-2.0
// Bars, lines and JSON events.
#include "compiler/build/Progress.h"

#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace ingot::compiler;

static constexpr int kBarWidth = 32;

ProgressStyle Progress::styleOfTerminal() {
  return isatty(STDERR_FILENO) ? ProgressStyle::Bar : ProgressStyle::Lines;
}

double Progress::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
}

/// `text` as a JSON string; bytes that are no UTF-8 are replaced.
static std::string quote(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void Progress::event(std::string_view kind, std::string_view fields) {
  if (style == ProgressStyle::Json)
    fprintf(stderr, "{\"event\":%s%s%.*s}\n", quote(kind).c_str(), fields.empty() ? "" : ",",
            static_cast<int>(fields.size()), fields.data());
}

void Progress::begin(std::string_view name) {
  stage = name;
  started = std::chrono::steady_clock::now();
  lastPercent = -1;
  event("stage-begin", "\"stage\":" + quote(stage));
  if (style == ProgressStyle::Bar)
    drawBar(0);
}

void Progress::update(uint64_t done, uint64_t total) {
  double share = total == 0 ? 1 : static_cast<double>(done) / static_cast<double>(total);
  int percent = static_cast<int>(share * 100);
  if (percent == lastPercent)
    return;
  lastPercent = percent;
  if (style == ProgressStyle::Bar)
    drawBar(share);
  if (style == ProgressStyle::Json)
    event("progress", "\"stage\":" + quote(stage) + ",\"done\":" + std::to_string(done) +
                          ",\"total\":" + std::to_string(total));
}

void Progress::drawBar(double share) {
  int filled = static_cast<int>(share * kBarWidth);
  std::string bar(static_cast<size_t>(filled), '#');
  fprintf(stderr, "\r%-28s [%-*s] %3d%%", stage.c_str(), kBarWidth, bar.c_str(),
          static_cast<int>(share * 100));
  fflush(stderr);
}

void Progress::end(std::string_view detail) {
  char time[32];
  snprintf(time, sizeof time, "%.2f", seconds());
  event("stage-end",
        "\"stage\":" + quote(stage) + ",\"seconds\":" + time + ",\"detail\":" + quote(detail));
  if (style == ProgressStyle::Bar)
    fprintf(stderr, "\r\033[K");
  if (style == ProgressStyle::Bar || style == ProgressStyle::Lines)
    fprintf(stderr, "%-28s %6s s  %.*s\n", stage.c_str(), time, static_cast<int>(detail.size()),
            detail.data());
}

void Progress::warn(std::string_view text) {
  event("warning", "\"text\":" + quote(text));
  if (style == ProgressStyle::Bar || style == ProgressStyle::Lines)
    fprintf(stderr, "%swarning: %.*s\n", style == ProgressStyle::Bar ? "\r\033[K" : "",
            static_cast<int>(text.size()), text.data());
}

void Progress::finished(std::string_view file, uint64_t bytes) {
  event("finished", "\"file\":" + quote(file) + ",\"bytes\":" + std::to_string(bytes));
  if (style == ProgressStyle::Bar || style == ProgressStyle::Lines)
    fprintf(stderr, "wrote %.*s, %s\n", static_cast<int>(file.size()), file.data(),
            readableBytes(bytes).c_str());
}

void Progress::failed(std::string_view text) {
  event("failed", "\"text\":" + quote(text));
  if (style == ProgressStyle::Bar && !stage.empty())
    fprintf(stderr, "\r\033[K");
  if (style != ProgressStyle::Json)
    fprintf(stderr, "error: %.*s\n", static_cast<int>(text.size()), text.data());
}

std::string ingot::compiler::readableBytes(uint64_t bytes) {
  static constexpr const char *units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit)
    value /= 1024;
  char text[32];
  snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
  return text;
}
