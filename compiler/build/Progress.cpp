// SPDX-License-Identifier: Apache-2.0
// Bars, lines and JSON events.
#include "compiler/build/Progress.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace ingot::compiler;

static constexpr int kBarWidth = 32;

ProgressStyle Progress::styleOfTerminal() {
  return isatty(STDERR_FILENO) ? ProgressStyle::Bar : ProgressStyle::Lines;
}

std::chrono::milliseconds Progress::intervalOf(ProgressStyle style) {
  return std::chrono::seconds(style == ProgressStyle::Bar ? 1 : 20);
}

double Progress::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
}

/// `text` as a JSON string; bytes that are no UTF-8 are replaced.
static std::string quote(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

static std::string readableSeconds(double seconds) {
  char text[32];
  snprintf(text, sizeof text, "%.2f", seconds);
  return text;
}

void Progress::event(std::string_view kind, std::string_view fields) const {
  if (style != ProgressStyle::Json)
    return;
  printf("{\"event\":%s%s%.*s}\n", quote(kind).c_str(), fields.empty() ? "" : ",",
         static_cast<int>(fields.size()), fields.data());
  fflush(stdout);
}

std::string Progress::progressFields() const {
  return "\"stage\":" + quote(stage) + ",\"done\":" + std::to_string(done) +
         ",\"total\":" + std::to_string(total) + ",\"seconds\":" + readableSeconds(seconds());
}

void Progress::begin(std::string_view name) {
  stopTicking();
  std::lock_guard lock(mutex);
  stage = name;
  started = std::chrono::steady_clock::now();
  done = total = 0;
  isOpen = true;
  event("stage-begin", "\"stage\":" + quote(stage));
  if (style == ProgressStyle::Bar)
    drawBar();
  if (style == ProgressStyle::Silent)
    return;
  ticker = std::thread([this] {
    std::unique_lock waiting(mutex);
    while (!ends.wait_for(waiting, interval, [this] { return !isOpen; }))
      tick();
  });
}

void Progress::stopTicking() {
  {
    std::lock_guard lock(mutex);
    isOpen = false;
  }
  ends.notify_all();
  if (ticker.joinable())
    ticker.join();
}

void Progress::tick() const {
  if (style == ProgressStyle::Bar)
    drawBar();
  event("progress", progressFields());
  if (style != ProgressStyle::Lines)
    return;
  std::string part = total == 0 ? "" : std::to_string(static_cast<int>(share() * 100)) + " % ";
  fprintf(stderr, "%-28s %safter %.0f s\n", stage.c_str(), part.c_str(), seconds());
}

void Progress::update(uint64_t nowDone, uint64_t nowTotal) {
  std::lock_guard lock(mutex);
  const int before = static_cast<int>(share() * 100);
  if (!isOpen || (nowTotal == total && nowDone < done))
    return;
  const bool isFirst = total == 0;
  done = nowDone;
  total = nowTotal;
  if (!isFirst && static_cast<int>(share() * 100) == before)
    return;
  if (style == ProgressStyle::Bar)
    drawBar();
  event("progress", progressFields());
}

void Progress::drawBar() const {
  int filled = static_cast<int>(share() * kBarWidth);
  std::string bar(static_cast<size_t>(filled), '#');
  fprintf(stderr, "\r%-28s [%-*s] %3d%% %4.0f s", stage.c_str(), kBarWidth, bar.c_str(),
          static_cast<int>(share() * 100), seconds());
  fflush(stderr);
}

void Progress::clearBar() const {
  if (style == ProgressStyle::Bar && !stage.empty())
    fprintf(stderr, "\r\033[K");
}

void Progress::end(std::string_view detail) {
  stopTicking();
  std::lock_guard lock(mutex);
  const std::string time = readableSeconds(seconds());
  event("stage-end",
        "\"stage\":" + quote(stage) + ",\"seconds\":" + time + ",\"detail\":" + quote(detail));
  clearBar();
  if (style == ProgressStyle::Bar || style == ProgressStyle::Lines)
    fprintf(stderr, "%-28s %6s s  %.*s\n", stage.c_str(), time.c_str(),
            static_cast<int>(detail.size()), detail.data());
}

void Progress::warn(std::string_view text) {
  std::lock_guard lock(mutex);
  event("warning", "\"text\":" + quote(text));
  clearBar();
  if (style == ProgressStyle::Bar || style == ProgressStyle::Lines)
    fprintf(stderr, "warning: %.*s\n", static_cast<int>(text.size()), text.data());
}

void Progress::tell(std::string_view text) {
  std::lock_guard lock(mutex);
  event("note", "\"text\":" + quote(text));
  clearBar();
  if (style == ProgressStyle::Bar || style == ProgressStyle::Lines)
    fprintf(stderr, "%.*s", static_cast<int>(text.size()), text.data());
}

void Progress::finished(std::string_view file, uint64_t bytes) {
  std::lock_guard lock(mutex);
  event("finished", "\"file\":" + quote(file) + ",\"bytes\":" + std::to_string(bytes));
  if (style == ProgressStyle::Bar || style == ProgressStyle::Lines)
    fprintf(stderr, "wrote %.*s, %s\n", static_cast<int>(file.size()), file.data(),
            readableBytes(bytes).c_str());
}

void Progress::failed(std::string_view text) {
  stopTicking();
  std::lock_guard lock(mutex);
  const size_t colon = text.find(": ");
  event("failed", "\"code\":" + quote(text.substr(0, colon)) +
                      ",\"text\":" + quote(colon == text.npos ? "" : text.substr(colon + 2)));
  clearBar();
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
