// SPDX-License-Identifier: Apache-2.0
// Files fetched side by side, each tried again where that may help.
#pragma once

#include "compiler/hub/Curl.h"
#include "compiler/hub/HubSettings.h"

#include <functional>
#include <span>
#include <vector>

namespace ingot::hub {

/// Where the bytes of one transfer go, in order.
class Sink {
public:
  enum class State : uint8_t { Ready, Busy, Complete };
  virtual ~Sink() = default;

  /// Before anything is asked. Busy: another process fetches the same; call it again later.
  virtual checkpoint::Expected<State> open() = 0;
  /// The bytes that are there already: the next one that is needed.
  virtual uint64_t have() const = 0;
  /// Drops what is there.
  virtual checkpoint::Outcome restart() = 0;
  virtual checkpoint::Outcome take(std::span<const std::byte> bytes) = 0;
  /// After the last byte of an answer. False: more is needed, from have() on.
  virtual checkpoint::Expected<bool> finish() = 0;
};

/// A text of at most 32 MiB.
class TextSink : public Sink {
public:
  explicit TextSink(std::string what) : what(std::move(what)) {}
  checkpoint::Expected<State> open() override { return State::Ready; }
  uint64_t have() const override { return 0; } // is asked for whole each time
  checkpoint::Outcome restart() override;
  checkpoint::Outcome take(std::span<const std::byte> bytes) override;
  checkpoint::Expected<bool> finish() override { return true; }
  std::string text;

private:
  std::string what;
};

struct Fetch {
  std::string title; ///< what messages call it
  Url url;
  Sink *sink;
};

struct FetchReport {
  std::function<void(const std::string &)> tell; ///< a line about what is waited for
  std::function<void()> tick;                    ///< some bytes more are there
};

/// Fetches all, a few at a time. The token is said to the endpoint's origin alone; redirects are
/// followed by Url::redirectedTo(). Lost connections, answers of 408, 429 and 5xx are tried again
/// `retries` times without progress, after pauses that grow or that the server asks for (a minute
/// at most). The first failure ends the others.
/// Errors: those of sinks and of redirectedTo(); INGOT-E7304 (an answer that makes no sense), E7306
/// (401, 403), E7307 (404), E7308 (429), E7309 (other status), E7310 (no connection), E7318
/// (certificates).
checkpoint::Outcome fetchAll(const Curl &curl, const HubSettings &settings, unsigned retries,
                             std::span<const Fetch> fetches, const FetchReport &report);

} // namespace ingot::hub
