// SPDX-License-Identifier: Apache-2.0
// What a build tells while it runs: a bar on a terminal, plain lines elsewhere, JSON events for CI.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace ingot::compiler {

enum class ProgressStyle : uint8_t { Bar, Lines, Json, Silent };

/// Writes to stderr. One stage is open at a time.
class Progress {
public:
  explicit Progress(ProgressStyle style) : style(style) {}

  /// The style for stderr: a bar on a terminal, else lines.
  static ProgressStyle styleOfTerminal();

  void begin(std::string_view stage);
  /// Bytes or items finished of the open stage.
  void update(uint64_t done, uint64_t total);
  /// Ends the open stage; `detail` says in a few words what came of it.
  void end(std::string_view detail = "");
  /// Something people should know: widened, overridden, unused.
  void warn(std::string_view text);
  void finished(std::string_view file, uint64_t bytes);
  /// The last event of a failed build.
  void failed(std::string_view text);

private:
  void event(std::string_view kind, std::string_view fields);
  void drawBar(double share);
  double seconds() const;

  ProgressStyle style;
  std::string stage;
  std::chrono::steady_clock::time_point started;
  int lastPercent = -1;
};

/// 1536 as "1.5 KiB".
std::string readableBytes(uint64_t bytes);

} // namespace ingot::compiler
