// SPDX-License-Identifier: Apache-2.0
// What a build tells while it runs: a bar on a terminal, plain lines elsewhere, JSON events for CI.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace ingot::compiler {

enum class ProgressStyle : uint8_t { Bar, Lines, Json, Silent };

/// Text goes to stderr. Events are docs/build-events.schema.json, one a line, and are all that goes
/// to stdout; with them stderr has what failed, and no other text. One stage is open at a time; a
/// bar moves once a second, and where there is none a stage that takes long has a line, or event,
/// every 20 seconds. Any thread may call.
class Progress {
public:
  explicit Progress(ProgressStyle style) : Progress(style, intervalOf(style)) {}
  /// `interval`: between two lines, bars or events of a stage that takes long.
  Progress(ProgressStyle style, std::chrono::milliseconds interval)
      : style(style), interval(interval) {}
  ~Progress() { stopTicking(); }

  /// The style for stderr: a bar on a terminal, else lines.
  static ProgressStyle styleOfTerminal();

  void begin(std::string_view stage);
  /// Bytes or items finished of the open stage; fewer than were told are ignored.
  void update(uint64_t done, uint64_t total);
  /// Ends the open stage; `detail` says in a few words what came of it.
  void end(std::string_view detail = "");
  /// Something people should know: widened, overridden, unused.
  void warn(std::string_view text);
  /// What was found or measured: whole lines.
  void tell(std::string_view text);
  void finished(std::string_view file, uint64_t bytes);
  /// The last event of a failed build. `text`: "INGOT-Ennnn: message".
  void failed(std::string_view text);

private:
  static std::chrono::milliseconds intervalOf(ProgressStyle style);
  void event(std::string_view kind, std::string_view fields) const;
  void drawBar() const;
  void clearBar() const;
  /// What a long stage says between its begin and its end.
  void tick() const;
  void stopTicking();
  double seconds() const;
  double share() const { return total == 0 ? 0 : double(done) / double(total); }
  std::string progressFields() const;

  ProgressStyle style;
  std::chrono::milliseconds interval;
  std::mutex mutex; ///< of all below
  std::string stage;
  std::chrono::steady_clock::time_point started;
  uint64_t done = 0, total = 0; ///< of the open stage; total 0: not known
  bool isOpen = false;
  std::condition_variable ends;
  std::thread ticker; ///< while a stage is open
};

/// 1536 as "1.5 KiB".
std::string readableBytes(uint64_t bytes);

} // namespace ingot::compiler
