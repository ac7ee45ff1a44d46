// SPDX-License-Identifier: Apache-2.0
// Two supervised lists: launches, and chunks of them. A chunk that is lost is tried in halves.
#include "tests/gpu/ReplayRun.h"

#include "tests/gpu/Supervisor.h"

namespace ingot::record {

using nlohmann::json;
using runtime::Result;
using runtime::Status;

namespace {

/// Chunks that are looked into for the launch at fault; each may take its time limit.
constexpr size_t kMostLost = 12;

/// Times that may break a device before no more are taken: the graphs behind them do not work.
constexpr size_t kMostLostTimes = 3;

class ReplayRun {
public:
  ReplayRun(const RecordT &record, const OpenDevice &open, const ReplayOptions &options,
            const TakeLine &take)
      : record(record), open(open), options(options), takeLine(take) {}

  Result<std::string> run() {
    std::string error;
    std::string device = runLaunches(error);
    if (!error.empty())
      return Status::error(code(error), error.substr(std::min(error.size(), codeEnd(error))));
    runGraphs();
    return device;
  }

private:
  /// Errors come from children as text, "CODE: message".
  static size_t codeEnd(const std::string &error) {
    size_t colon = error.find(": ");
    return error.starts_with("INGOT-E") && colon != std::string::npos ? colon + 2 : 0;
  }
  static std::string code(const std::string &error) {
    return codeEnd(error) ? error.substr(0, codeEnd(error) - 2) : "INGOT-E6502";
  }

  SupervisedItems items(size_t count) const {
    SupervisedItems items;
    items.count = count;
    items.openLimit = options.openLimit;
    items.itemLimit = options.launchLimit;
    return items;
  }

  /// In a child: opens the device, then `each` of the items from `first` on.
  template <class Each>
  ChildEnd work(size_t first, size_t count, const Say &say, const Each &each) const {
    Replayer replayer(record);
    if (Status status = replayer.open(open); !status.ok()) {
      say({{"error", status.toString()}});
      return ChildEnd::CannotOpen;
    }
    const runtime::Device &device = replayer.openedDevice();
    say({{"opened", device.description() + ", driver " + std::to_string(device.driverVersion())}});
    for (size_t i = first; i < count; ++i)
      if (!each(replayer, i))
        return ChildEnd::GoOn;
    return ChildEnd::Done;
  }

  std::string runLaunches(std::string &error) {
    SupervisedItems supervised = items(record.launches.size());
    supervised.work = [&](size_t first, const Say &say) {
      return work(first, record.launches.size(), say, [&](Replayer &replayer, size_t i) {
        Outcome outcome = replayer.run(i);
        std::string untimed;
        if (!outcome.failed() && options.timed && lostTimes < kMostLostTimes) {
          Result<double> seconds = replayer.time(i, options.warmUp);
          outcome.deviceFailed = !seconds.ok();
          if (seconds.ok())
            outcome.seconds = *seconds;
          else
            untimed = seconds.status().toString();
        }
        json line = launchLine(record, i, outcome);
        if (!untimed.empty())
          line["untimed"] = untimed;
        line["item"] = i;
        say(line);
        return !outcome.deviceFailed;
      });
    };
    supervised.take = [&](json line) {
      if (!isFailure(line))
        passed.push_back(line["item"]);
      lostTimes += line.contains("untimed");
      line.erase("item");
      takeLine(line);
    };
    supervised.lost = [&](size_t index, const std::string &reason) {
      Outcome outcome;
      outcome.error = reason;
      takeLine(launchLine(record, index, outcome));
    };
    return supervise(supervised, error);
  }

  std::span<const size_t> launchesOf(const Chunk &chunk) const {
    return std::span(passed).subspan(chunk.first, chunk.last - chunk.first);
  }

  void runGraphs() {
    size_t lost = 0;
    for (std::vector<Chunk> chunks = Replayer::chunksOf(record, passed); !chunks.empty();) {
      std::vector<Chunk> halves;
      auto halve = [&](const Chunk &chunk) {
        if (chunk.last - chunk.first < 2 || ++lost > kMostLost)
          return;
        size_t middle = chunk.first + (chunk.last - chunk.first) / 2;
        halves.push_back({chunk.first, middle});
        halves.push_back({middle, chunk.last});
      };
      SupervisedItems supervised = items(chunks.size());
      supervised.work = [&](size_t first, const Say &say) {
        return work(first, chunks.size(), say, [&](Replayer &replayer, size_t i) {
          GraphOutcome outcome = replayer.runGraph(launchesOf(chunks[i]));
          json line = graphLine(record, launchesOf(chunks[i]), outcome);
          line["item"] = i;
          line["broke"] = outcome.deviceFailed;
          say(line);
          return !outcome.deviceFailed;
        });
      };
      supervised.take = [&](json line) {
        if (line["broke"])
          halve(chunks[line["item"].get<size_t>()]);
        line.erase("item");
        line.erase("broke");
        takeLine(line);
      };
      supervised.lost = [&](size_t index, const std::string &reason) {
        GraphOutcome outcome;
        outcome.error = reason;
        outcome.deviceFailed = true;
        halve(chunks[index]);
        takeLine(graphLine(record, launchesOf(chunks[index]), outcome));
      };
      std::string error;
      supervise(supervised, error);
      if (!error.empty()) { // the device is gone since the launches
        for (size_t i = 0; i < chunks.size(); ++i)
          supervised.lost(i, "not run: " + error);
        return;
      }
      chunks = std::move(halves);
    }
  }

  const RecordT &record;
  const OpenDevice &open;
  const ReplayOptions &options;
  const TakeLine &takeLine;
  std::vector<size_t> passed;
  size_t lostTimes = 0; ///< launches that are right and could not be timed
};

} // namespace

Result<std::string> replayAll(const RecordT &record, const OpenDevice &open,
                              const ReplayOptions &options, const TakeLine &take) {
  return ReplayRun(record, open, options, take).run();
}

} // namespace ingot::record
