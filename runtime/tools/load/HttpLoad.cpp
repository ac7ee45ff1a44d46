// SPDX-License-Identifier: Apache-2.0
// One coroutine a request, all on one thread: thousands of streams need no thread each.
#include "runtime/tools/load/HttpLoad.h"

#include "runtime/tools/Table.h"
#include "runtime/tools/load/StreamedAnswer.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <functional>
#include <nlohmann/json.hpp>
#include <sys/resource.h>

namespace ingot::runtime {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;
using boost::system::error_code;

constexpr auto asTuple = asio::as_tuple(asio::use_awaitable);
constexpr uint64_t longestAnswer = uint64_t(64) << 20;
constexpr size_t longestErrorBody = size_t(64) << 10;
constexpr size_t longestModelList = size_t(4) << 20;

LoadFailure failure(std::string kind, std::string_view code, const std::string &what,
                    std::string_view fix) {
  return {std::move(kind), Status::error(code, what, fix)};
}

/// For what ends a coroutine and is no answer: no memory.
void passOn(std::exception_ptr thrown) {
  if (thrown)
    std::rethrow_exception(thrown);
}

/// What became of an exchange that the reader of its body did not end.
struct Reply {
  LoadFailure failure;
  unsigned status = 0;
  std::string errorBody = {}; ///< of another status than 200
};

/// Takes bytes of a body of status 200; false: it wants no more.
using BodyReader = std::function<bool(std::string_view)>;

/// The HTTP half: connections to one address.
class HttpClient {
public:
  explicit HttpClient(const HttpOptions &options) : options(options) {}

  Status resolve();
  /// Sends a request and gives the body of its answer to `take` as it comes. `sent`: called when
  /// the request has been written; false: the client goes away at once.
  asio::awaitable<Reply> converse(http::verb verb, const char *target, std::string body,
                                  const std::function<bool()> &sent, const BodyReader &take);

  asio::io_context context{1};

private:
  asio::awaitable<Reply> readAnswer(boost::beast::tcp_stream &stream, const BodyReader &take);
  LoadFailure broken(error_code error, const char *when) const;
  void keepWaiting(boost::beast::tcp_stream &stream) const {
    stream.expires_after(std::chrono::milliseconds(int64_t(std::min(options.timeout, 1e9) * 1000)));
  }

  const HttpOptions &options;
  tcp::resolver::results_type endpoints;
};

Status HttpClient::resolve() {
  error_code error;
  tcp::resolver resolver(context);
  endpoints = resolver.resolve(options.address.host, options.address.port, error);
  if (error)
    return Status::error("INGOT-E7243",
                         "there is no address of '" + printable(options.address.host) +
                             "': " + error.message(),
                         "check --url");
  return {};
}

LoadFailure HttpClient::broken(error_code error, const char *when) const {
  if (error.category() == http::make_error_code(http::error::bad_method).category() &&
      error != http::error::end_of_stream && error != http::error::partial_message)
    return failure("malformed answer", "INGOT-E7254",
                   "the answer is no HTTP or too large: " + error.message(),
                   "check that the address is one of completions");
  if (error == boost::beast::error::timeout)
    return failure("timeout", "INGOT-E7252",
                   std::string("no byte came for ") + fixedPoint(options.timeout, 1) + " s " + when,
                   "see what the server does, or give a longer --timeout");
  return failure("connection cut", "INGOT-E7253",
                 std::string("the connection ended ") + when + ": " + error.message(),
                 "see the server's log");
}

asio::awaitable<Reply> HttpClient::converse(http::verb verb, const char *target, std::string body,
                                            const std::function<bool()> &sent,
                                            const BodyReader &take) {
  boost::beast::tcp_stream stream(context);
  keepWaiting(stream);
  auto [refused, endpoint] = co_await stream.async_connect(endpoints, asTuple);
  if (refused)
    co_return Reply{
        failure("no connection", "INGOT-E7250",
                "no connection to " + options.address.authority + ": " + refused.message(),
                "check that the server runs and listens there")};
  error_code ignored;
  stream.socket().set_option(tcp::no_delay(true), ignored);
  http::request<http::string_body> request(verb, options.address.path + target, 11,
                                           std::move(body));
  request.set(http::field::host, options.address.authority);
  request.set(http::field::user_agent, "ingot-bench");
  request.set(http::field::connection, "close");
  if (verb == http::verb::post)
    request.set(http::field::content_type, "application/json");
  if (!options.apiKey.empty())
    request.set(http::field::authorization, "Bearer " + options.apiKey);
  request.prepare_payload();
  keepWaiting(stream);
  auto [unsent, written] = co_await http::async_write(stream, request, asTuple);
  if (!unsent && !sent())
    co_return Reply{{}, 200};
  // A server may answer and hang up before it has read all: its answer says why.
  Reply reply = co_await readAnswer(stream, take);
  if (unsent && reply.status == 0)
    reply.failure = broken(unsent, "before the request was sent");
  co_return reply;
}

asio::awaitable<Reply> HttpClient::readAnswer(boost::beast::tcp_stream &stream,
                                              const BodyReader &take) {
  Reply reply;
  boost::beast::flat_buffer buffer(size_t(64) << 10);
  http::response_parser<http::buffer_body> parser;
  parser.body_limit(longestAnswer);
  keepWaiting(stream);
  auto [noHeader, headerBytes] = co_await http::async_read_header(stream, buffer, parser, asTuple);
  if (noHeader) {
    reply.failure = broken(noHeader, "before an answer");
    co_return reply;
  }
  reply.status = parser.get().result_int();
  std::array<char, 8192> block;
  while (!parser.is_done()) {
    parser.get().body().data = block.data();
    parser.get().body().size = block.size();
    keepWaiting(stream);
    auto [error, count] = co_await http::async_read_some(stream, buffer, parser, asTuple);
    std::string_view bytes(block.data(), block.size() - parser.get().body().size);
    if (reply.status != 200)
      reply.errorBody += bytes.substr(0, longestErrorBody - reply.errorBody.size());
    else if (!take(bytes))
      co_return reply;
    if (error && error != http::error::need_buffer) {
      if (reply.status == 200)
        reply.failure = broken(error, "within an answer");
      break;
    }
  }
  if (reply.status != 200)
    reply.failure = failure("HTTP " + std::to_string(reply.status), "INGOT-E7251",
                            "the server answered with status " + std::to_string(reply.status) +
                                ": " + errorMessage(reply.errorBody),
                            "see the server's message");
  co_return reply;
}

/// One load: coroutines that make requests, and their records.
class HttpLoad {
public:
  HttpLoad(const HttpOptions &options, Workload &workload, const Pacing &pacing,
           LoadProgress &progress)
      : options(options), client(options), workload(workload), pacing(pacing), progress(progress) {}

  Status run();

  LoadClock clock;
  std::vector<LoadRecord> records;

private:
  asio::awaitable<void> makeWhenDue();
  asio::awaitable<void> makeInTurn();
  asio::awaitable<void> make(LoadRequest request, double due);
  std::string bodyOf(const LoadRequest &request) const;

  const HttpOptions &options;
  HttpClient client;
  Workload &workload;
  const Pacing &pacing;
  LoadProgress &progress;
};

std::string HttpLoad::bodyOf(const LoadRequest &request) const {
  nlohmann::json body = {{"model", options.model},
                         {"max_tokens", request.outputTokens},
                         {"temperature", 0},
                         {"stream", true},
                         {"stream_options", {{"include_usage", true}}}};
  if (request.tokens.empty())
    body["prompt"] = request.text;
  else
    body["prompt"] = request.tokens;
  if (options.ignoreEos)
    body["ignore_eos"] = true;
  return body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

asio::awaitable<void> HttpLoad::make(LoadRequest request, double due) {
  std::string body = bodyOf(request);
  LoadRecord record;
  record.number = request.number;
  record.due = due;
  record.sent = clock.now();
  record.promptTokens = int64_t(request.tokens.size()); // until the server knows better
  progress.sent();
  StreamedAnswer answer(clock, request, record, progress);
  std::function<bool()> sent = [&] { return answer.wantsAnswer(); };
  BodyReader take = [&](std::string_view bytes) { return answer.take(bytes); };
  Reply reply =
      co_await client.converse(http::verb::post, "/v1/completions", std::move(body), sent, take);
  answer.finish(std::move(reply.failure));
  if (record.end == 0)
    record.end = clock.now();
  progress.ended(record);
  records.push_back(std::move(record));
}

asio::awaitable<void> HttpLoad::makeWhenDue() {
  asio::steady_timer timer(client.context);
  while (std::optional<LoadRequest> request = workload.next()) {
    double due = request->due;
    if (due > pacing.duration)
      co_return;
    if (double wait = due - clock.now(); wait > 0) {
      timer.expires_after(std::chrono::nanoseconds(int64_t(wait * 1e9)));
      co_await timer.async_wait(asTuple);
    }
    asio::co_spawn(client.context, make(std::move(*request), due), passOn);
  }
}

asio::awaitable<void> HttpLoad::makeInTurn() {
  while (clock.now() < pacing.duration) {
    std::optional<LoadRequest> request = workload.next();
    if (!request)
      co_return;
    co_await make(std::move(*request), clock.now());
  }
}

Status HttpLoad::run() {
  if (Status status = client.resolve(); !status.ok())
    return status;
  clock = LoadClock();
  for (int64_t i = 0; i < pacing.concurrency; ++i)
    asio::co_spawn(client.context, makeInTurn(), passOn);
  if (pacing.concurrency == 0)
    asio::co_spawn(client.context, makeWhenDue(), passOn);
  client.context.run();
  return {};
}

/// A stream is a descriptor, and the usual limit of 1,024 is below what servers are asked to bear.
void allowManyDescriptors() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return;
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit); // what then cannot connect is a failed request
}

} // namespace

Result<ListedModel> askForModel(const HttpOptions &options) {
  HttpClient client(options);
  if (Status status = client.resolve(); !status.ok())
    return status;
  std::string body;
  Reply reply;
  std::function<bool()> sent = [] { return true; };
  BodyReader take = [&](std::string_view bytes) {
    body += bytes;
    return body.size() <= longestModelList;
  };
  asio::co_spawn(client.context, client.converse(http::verb::get, "/v1/models", "", sent, take),
                 [&](std::exception_ptr thrown, Reply came) {
                   passOn(thrown);
                   reply = std::move(came);
                 });
  client.context.run();
  if (!reply.failure.kind.empty())
    return Status::error("INGOT-E7243",
                         "/v1/models: " + std::string(reply.failure.error.message()));
  return ListedModel::read(body, options.model);
}

Result<std::vector<LoadRecord>> runHttpLoad(const HttpOptions &options, Workload &workload,
                                            const Pacing &pacing, LoadProgress &progress,
                                            double &seconds) {
  allowManyDescriptors();
  HttpLoad load(options, workload, pacing, progress);
  if (Status status = load.run(); !status.ok())
    return status;
  seconds = load.clock.now();
  return std::move(load.records);
}

} // namespace ingot::runtime
