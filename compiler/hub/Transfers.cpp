// SPDX-License-Identifier: Apache-2.0
// One state machine per file, all on one thread of libcurl's multi interface.
#include "compiler/hub/Transfers.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <memory>
#include <optional>

using namespace ingot::checkpoint;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace ingot::hub {
namespace {

constexpr size_t kAtOnce = 4;
constexpr unsigned kMostRedirects = 10;
constexpr uint64_t kProgress = uint64_t{1} << 20; // bytes after which tries are counted anew
constexpr size_t kMostOfText = size_t{32} << 20, kMostOfRefusal = size_t{64} << 10;
constexpr milliseconds kFirstPause(250), kLongestPause(8000), kLockPause(100);
constexpr unsigned kLongestRetryAfter = 60; // seconds
constexpr long kConnectSeconds = 20, kStallSeconds = 60;

std::optional<uint64_t> numberAt(std::string_view text) {
  uint64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end != text.data() ? std::optional(number) : std::nullopt;
}

/// What an answer says before its body.
struct ResponseHead {
  unsigned status = 0;
  std::string location, range, retryAfter, message;

  void read(std::string_view line) {
    while (!line.empty() && (line.back() == '\r' || line.back() == '\n'))
      line.remove_suffix(1);
    if (line.starts_with("HTTP/")) {
      *this = {};
      const size_t space = line.find(' ');
      status = unsigned(space == line.npos ? 0 : numberAt(line.substr(space + 1)).value_or(0));
      return;
    }
    const size_t colon = line.find(':');
    if (colon == line.npos)
      return;
    const std::string name = lowered(line.substr(0, colon));
    const size_t start = line.find_first_not_of(" \t", colon + 1);
    std::string value(start == line.npos ? "" : line.substr(start));
    if (name == "location")
      location = std::move(value);
    else if (name == "content-range")
      range = std::move(value);
    else if (name == "retry-after")
      retryAfter = std::move(value);
    else if (name == "x-error-message")
      message = std::move(value);
  }

  /// Whether the body begins at byte `first` of the file.
  bool beginsAt(uint64_t first) const {
    return lowered(range).starts_with("bytes ") &&
           numberAt(std::string_view(range).substr(6)) == std::optional(first);
  }
};

/// Of one file.
class Transfer {
public:
  enum class State : uint8_t { Waiting, Running, Done };

  Transfer(const Curl &curl, const HubSettings &settings, unsigned retries, const Fetch &fetch,
           const FetchReport &report)
      : curl(curl), settings(settings), retries(retries), fetch(fetch), report(report),
        url(fetch.url) {}
  ~Transfer() { drop(); }
  Transfer(const Transfer &) = delete;
  Transfer &operator=(const Transfer &) = delete;

  State state = State::Waiting;
  Clock::time_point due = Clock::now(); ///< of a waiting one

  Outcome start(void *multi);
  /// libcurl is done with what was started. Afterwards this waits or is done.
  Outcome ended(int result);

private:
  static size_t takeHead(char *data, size_t size, size_t count, void *self) {
    static_cast<Transfer *>(self)->head.read({data, size * count});
    return size * count;
  }
  static size_t takeBody(char *data, size_t size, size_t count, void *self) {
    return static_cast<Transfer *>(self)->take({reinterpret_cast<std::byte *>(data), size * count});
  }
  size_t take(std::span<const std::byte> bytes);
  Outcome beginBody();
  void drop();
  Outcome judgeStatus();
  Outcome judgeConnection(int result);
  Outcome redirect();
  Outcome retryLater(Error error, std::optional<milliseconds> pause = {});
  Error refused(const char *code, std::string what, std::string fix) const;

  const Curl &curl;
  const HubSettings &settings;
  const unsigned retries;
  const Fetch &fetch;
  const FetchReport &report;
  Url url; ///< where redirects have led
  ResponseHead head;
  std::optional<Error> failure; ///< of the sink
  bool isOpen = false, isTold = false, hasBody = false;
  unsigned tries = 0, redirects = 0;
  uint64_t asked = 0, dropped = 0; ///< first byte asked for; bytes of a refusal
  void *multi = nullptr, *easy = nullptr, *fields = nullptr;
  char why[Curl::kErrorBytes] = {};
};

void Transfer::drop() {
  if (easy) {
    curl.multiRemove(multi, easy);
    curl.easyCleanup(easy);
    curl.freeList(fields);
  }
  easy = fields = nullptr;
}

Outcome Transfer::start(void *inMulti) {
  if (!isOpen) {
    auto opened = fetch.sink->open();
    if (!opened)
      return opened.error();
    if (*opened == Sink::State::Busy) {
      if (!std::exchange(isTold, true))
        report.tell("another process fetches " + printable(fetch.title) + "; waiting for it");
      due = Clock::now() + kLockPause;
      return {};
    }
    isOpen = true;
    if (*opened == Sink::State::Complete) {
      state = State::Done;
      return {};
    }
  }
  multi = inMulti;
  head = {};
  hasBody = false;
  dropped = 0;
  why[0] = '\0';
  asked = fetch.sink->have();
  easy = curl.easyInit();
  if (!easy)
    return Error{"INGOT-E7310", "libcurl makes no transfer", printable(fetch.title), ""};
  const std::string address = url.text(), range = std::to_string(asked) + "-";
  curl.setOption(easy, Curl::kUrl, address.c_str());
  curl.setOption(easy, Curl::kFollowLocation, 0L);
  curl.setOption(easy, Curl::kNoSignal, 1L);
  curl.setOption(easy, Curl::kUserAgent, "ingot");
  // Of version 2, files would share one connection and its window.
  curl.setOption(easy, Curl::kHttpVersion, Curl::kHttp11);
  curl.setOption(easy, Curl::kSuppressConnectHeaders, 1L);
  curl.setOption(easy, Curl::kConnectTimeout, kConnectSeconds);
  curl.setOption(easy, Curl::kLowSpeedLimit, 1L);
  curl.setOption(easy, Curl::kLowSpeedTime, kStallSeconds);
  // An empty text keeps libcurl from reading the environment itself.
  curl.setOption(easy, Curl::kProxy, url.isLoopback() ? "" : settings.proxy.c_str());
  curl.setOption(easy, Curl::kNoProxy, settings.noProxy.c_str());
  if (!settings.certificates.empty())
    curl.setOption(easy, Curl::kCaInfo, settings.certificates.c_str());
  if (asked > 0)
    curl.setOption(easy, Curl::kRange, range.c_str());
  if (!settings.token.empty() && url.sameOrigin(settings.endpoint)) {
    fields = curl.append(fields, ("Authorization: Bearer " + settings.token).c_str());
    curl.setOption(easy, Curl::kHttpHeader, fields);
  }
  curl.setOption(easy, Curl::kErrorBuffer, why);
  curl.setOption(easy, Curl::kHeaderFunction, &Transfer::takeHead);
  curl.setOption(easy, Curl::kHeaderData, this);
  curl.setOption(easy, Curl::kWriteFunction, &Transfer::takeBody);
  curl.setOption(easy, Curl::kWriteData, this);
  curl.setOption(easy, Curl::kPrivate, this);
  curl.multiAdd(multi, easy);
  state = State::Running;
  return {};
}

/// Before the first byte of a file: an answer may be of all of it, or from the byte asked for.
Outcome Transfer::beginBody() {
  if (head.status == 200)
    return fetch.sink->restart();
  if (head.status == 206 && asked > 0 && head.beginsAt(asked))
    return {};
  return refused("INGOT-E7304", "the answer is of other bytes than were asked for",
                 "try again; the server does not serve ranges as it should");
}

size_t Transfer::take(std::span<const std::byte> bytes) {
  if (head.status / 100 != 2) {
    dropped += bytes.size();
    return dropped > kMostOfRefusal ? 0 : bytes.size();
  }
  Outcome taken;
  if (!std::exchange(hasBody, true))
    taken = beginBody();
  if (taken)
    taken = fetch.sink->take(bytes);
  if (!taken) {
    failure = taken.error();
    return 0;
  }
  report.tick();
  return bytes.size();
}

Error Transfer::refused(const char *code, std::string what, std::string fix) const {
  if (!head.message.empty())
    what += ": " + printable(head.message);
  return Error{code, std::move(what), printable(fetch.title) + " of " + url.host, std::move(fix)};
}

Outcome Transfer::ended(int result) {
  if (fetch.sink->have() >= asked + kProgress)
    tries = 0;
  state = State::Waiting;
  due = Clock::now();
  drop();
  if (failure)
    return *failure;
  if (head.status >= 300)
    return judgeStatus();
  if (result != Curl::kOk)
    return judgeConnection(result);
  // A file without bytes has no body.
  if (!hasBody)
    if (Outcome begun = beginBody(); !begun)
      return begun;
  auto finished = fetch.sink->finish();
  if (!finished)
    return finished.error();
  if (*finished) {
    state = State::Done;
    return {};
  }
  return retryLater(refused("INGOT-E7310", "the answer ended before the file did", "try again"));
}

Outcome Transfer::redirect() {
  if (++redirects > kMostRedirects)
    return refused("INGOT-E7304", "the address leads from one to another without end",
                   "try again later");
  auto next = url.redirectedTo(head.location);
  if (!next)
    return next.error();
  url = *std::move(next);
  return {};
}

Outcome Transfer::judgeStatus() {
  const unsigned status = head.status;
  const std::string said = "the server answers " + std::to_string(status);
  if (status == 301 || status == 302 || status == 303 || status == 307 || status == 308)
    return redirect();
  // An address that the endpoint led to may have expired.
  if ((status == 401 || status == 403) && url.sameOrigin(settings.endpoint))
    return refused("INGOT-E7306", said + ": there is no such repository, or it is not open to all",
                   "check its name; where it is gated, accept its conditions on its page and set "
                   "HF_TOKEN to a token of yours");
  if (status == 404 || status == 410)
    return refused("INGOT-E7307", said + ": there is no such repository, revision or file",
                   "check the name");
  if (status == 416 && asked > 0) {
    if (Outcome restarted = fetch.sink->restart(); !restarted)
      return restarted;
  } else if (status == 429) {
    const auto wait = numberAt(head.retryAfter);
    Error error = refused("INGOT-E7308", said + ": too many requests",
                          wait ? "try again in " + std::to_string(*wait) + " seconds"
                               : "try again later, or with a token");
    if (wait && *wait > kLongestRetryAfter)
      return error;
    return retryLater(std::move(error),
                      wait ? std::optional(milliseconds(*wait * 1000)) : std::nullopt);
  } else if (status < 500 && status != 408 && status != 401 && status != 403) {
    return refused("INGOT-E7309", said, "check the endpoint");
  }
  return retryLater(refused("INGOT-E7309", said, "try again later"));
}

Outcome Transfer::judgeConnection(int result) {
  std::string what = why[0] ? why : curl.textOf(result);
  if (result == Curl::kNotVerified || result == Curl::kBadCertificates)
    return refused("INGOT-E7318", "the server is not who it says: " + printable(what),
                   "install ca-certificates, or name a file of authorities by SSL_CERT_FILE");
  Error error = refused("INGOT-E7310", "no connection: " + printable(what),
                        "check the network and HTTPS_PROXY; the next pull goes on where this one "
                        "ended, and --offline takes what is there");
  constexpr int passing[] = {Curl::kNoProxyHost, Curl::kNoHost,   Curl::kNoConnection,
                             Curl::kCut,         Curl::kTimedOut, Curl::kTlsFailed,
                             Curl::kNothing,     Curl::kNotSent,  Curl::kNotReceived};
  if (std::find(std::begin(passing), std::end(passing), result) == std::end(passing))
    return error;
  return retryLater(std::move(error));
}

/// Begins again at the first address, or gives up.
Outcome Transfer::retryLater(Error error, std::optional<milliseconds> pause) {
  if (tries >= retries)
    return error;
  if (!pause)
    pause = std::min(kFirstPause * (1 << std::min(tries, 16u)), kLongestPause);
  ++tries;
  report.tell(error.what + " (" + error.where + "); try " + std::to_string(tries) + " of " +
              std::to_string(retries) + " in " + std::to_string(pause->count()) + " ms");
  url = fetch.url;
  redirects = 0;
  due = Clock::now() + *pause;
  return {};
}

/// All of them, until the first failure.
class TransferLoop {
public:
  TransferLoop(const Curl &curl, void *multi, std::vector<std::unique_ptr<Transfer>> transfers)
      : curl(curl), multi(multi), transfers(std::move(transfers)) {}

  Outcome run(const FetchReport &report) {
    for (;;) {
      if (Outcome started = startDue(); !started)
        return started;
      int running = 0;
      curl.multiPerform(multi, &running);
      if (Outcome read = readEnded(); !read)
        return read;
      report.tick();
      if (count(Transfer::State::Done) == transfers.size())
        return {};
      curl.multiPoll(multi, nullptr, 0, int(pause().count()), nullptr);
    }
  }

private:
  size_t count(Transfer::State state) const {
    return size_t(std::count_if(transfers.begin(), transfers.end(),
                                [&](const auto &one) { return one->state == state; }));
  }

  Outcome startDue() {
    const Clock::time_point now = Clock::now();
    for (const auto &one : transfers)
      if (one->state == Transfer::State::Waiting && one->due <= now &&
          count(Transfer::State::Running) < kAtOnce)
        if (Outcome started = one->start(multi); !started)
          return started;
    return {};
  }

  Outcome readEnded() {
    int left = 0;
    while (Curl::Message *message = curl.multiRead(multi, &left)) {
      if (message->kind != 1)
        continue;
      const int result = message->result;
      Transfer *transfer = nullptr;
      curl.getInfo(message->easy, Curl::kInfoPrivate, &transfer);
      if (Outcome ended = transfer->ended(result); !ended)
        return ended;
    }
    return {};
  }

  /// Until the next one is due.
  milliseconds pause() const {
    milliseconds least(200);
    if (count(Transfer::State::Running) >= kAtOnce)
      return least;
    const Clock::time_point now = Clock::now();
    for (const auto &one : transfers)
      if (one->state == Transfer::State::Waiting)
        least = std::min(least, std::chrono::duration_cast<milliseconds>(
                                    std::max(one->due - now, Clock::duration(0))) +
                                    milliseconds(1));
    return least;
  }

  const Curl &curl;
  void *multi;
  std::vector<std::unique_ptr<Transfer>> transfers;
};

} // namespace

Outcome TextSink::restart() {
  text.clear();
  return {};
}

Outcome TextSink::take(std::span<const std::byte> bytes) {
  if (text.size() + bytes.size() > kMostOfText)
    return Error{"INGOT-E7304", "the answer is longer than any of its kind", printable(what),
                 "check that the endpoint is one of a Hub"};
  text.append(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  return {};
}

Outcome fetchAll(const Curl &curl, const HubSettings &settings, unsigned retries,
                 std::span<const Fetch> fetches, const FetchReport &report) {
  void *multi = curl.multiInit();
  if (!multi)
    return Error{"INGOT-E7310", "libcurl makes no transfer", "", ""};
  std::vector<std::unique_ptr<Transfer>> transfers;
  for (const Fetch &fetch : fetches)
    transfers.push_back(std::make_unique<Transfer>(curl, settings, retries, fetch, report));
  Outcome outcome;
  {
    TransferLoop loop(curl, multi, std::move(transfers));
    outcome = loop.run(report);
  }
  curl.multiCleanup(multi);
  return outcome;
}

} // namespace ingot::hub
