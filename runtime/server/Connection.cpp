// SPDX-License-Identifier: Apache-2.0
// HTTP/1.1 of a client that may be slow, silent, gone or hostile: every wait has an end.
#include "runtime/server/Connection.h"

#include "runtime/server/ConnectionExchange.h"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <ctime>

namespace ingot::runtime {
namespace {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using ErrorCode = boost::system::error_code;
using Clock = std::chrono::steady_clock;
using std::chrono::seconds;

/// Bodies above this are read by a worker: to make tokens of a long text takes a while.
constexpr size_t quickBody = 32 << 10;
/// Bytes that a client may send ahead of the response to its last request.
constexpr size_t mostAhead = 16 << 10;
/// Bytes and time for what a client still sends when its connection ends.
constexpr size_t mostLingering = 1 << 20;
constexpr seconds lingering(2);

/// Room for a body, out of what there is for all.
class BodyRoom {
public:
  BodyRoom() = default;
  BodyRoom(ConnectionSite &site, uint64_t bytes) : site(&site), bytes(bytes) {}
  BodyRoom(BodyRoom &&other) noexcept
      : site(std::exchange(other.site, nullptr)), bytes(other.bytes) {}
  BodyRoom &operator=(BodyRoom &&other) noexcept {
    std::swap(site, other.site);
    std::swap(bytes, other.bytes);
    return *this;
  }
  ~BodyRoom() {
    if (site)
      site->bodyBytes -= bytes;
  }
  /// Nothing when there is not so much left.
  static std::optional<BodyRoom> take(ConnectionSite &site, uint64_t bytes) {
    BodyRoom room(site, bytes);
    if ((site.bodyBytes += bytes) > site.options.maxBodies)
      return std::nullopt;
    return room;
  }

private:
  ConnectionSite *site = nullptr;
  uint64_t bytes = 0;
};

/// Handlers of its operations own it, and it itself while a request is answered. Everything runs on
/// the thread of its context.
class Connection : public std::enable_shared_from_this<Connection> {
public:
  Connection(ClientSocket socket, ConnectionSite &site)
      : site(site), stream(std::move(socket)), buffer(size_t(site.options.maxHeader) + mostAhead),
        comments(stream.get_executor()) {
    site.metrics.connections(1);
  }
  ~Connection() {
    --site.connections;
    site.metrics.connections(-1);
  }

  void waitForRequest();

private:
  using Parser = http::request_parser<http::string_body>;

  void expectWithin(int64_t seconds);
  void readHeader();
  void takeHeader(ErrorCode error);
  void refuseHeader(ErrorCode error);
  void inviteBody();
  void readBody();
  void dispatch();
  HttpRequest takeRequest();
  std::shared_ptr<ConnectionExchange> open(HttpRequest request, bool keepAlive, bool atLeast11);
  void reject(int status, const char *code, std::string message);
  void watch();
  void takeAhead(ErrorCode error, size_t bytes);
  void flush();
  void writeSome();
  void written(ErrorCode error, size_t bytes);
  void commentLater();
  void complete();
  void lose();
  void closeExchange(const RequestRecord &record);
  void linger(size_t left);

  ConnectionSite &site;
  beast::basic_stream<net::generic::stream_protocol, IoExecutor> stream;
  beast::flat_buffer buffer;
  std::optional<Parser> parser;
  BodyRoom room;
  std::shared_ptr<ConnectionExchange> exchange; ///< whose response has not left yet
  std::shared_ptr<Connection> answering; ///< itself while it has an exchange and may wait for it
  RequestRecord known;                   ///< of it, when it began
  std::string leaving;                   ///< bytes that are being written
  size_t left = 0;                       ///< how many of them are
  bool watching = false;                 ///< a read waits, so that the client's end is seen
  bool clientIsDone = false; ///< has closed its writing half: a second read would wait for ever
  bool commenting = false;
  net::basic_waitable_timer<Clock, net::wait_traits<Clock>, IoExecutor> comments;
};

void Connection::waitForRequest() {
  if (buffer.size() > 0)
    return readHeader();
  if (clientIsDone)
    return stream.close();
  // So small that a thousand idle clients take no room.
  buffer.shrink_to_fit();
  stream.expires_after(seconds(site.options.idleSeconds));
  stream.async_read_some(buffer.prepare(512),
                         [self = shared_from_this()](ErrorCode error, size_t bytes) {
                           if (error)
                             return;
                           self->buffer.commit(bytes);
                           self->readHeader();
                         });
}

/// Sets the time for the rest of a request. The end of what a client sends is read once: what has
/// not come by then never comes.
void Connection::expectWithin(int64_t limit) {
  stream.expires_after(seconds(clientIsDone ? 0 : limit));
}

void Connection::readHeader() {
  parser.emplace();
  parser->header_limit(uint32_t(site.options.maxHeader));
  parser->body_limit(site.options.maxBody);
  expectWithin(site.options.headerSeconds);
  http::async_read_header(
      stream, buffer, *parser,
      [self = shared_from_this()](ErrorCode error, size_t) { self->takeHeader(error); });
}

void Connection::refuseHeader(ErrorCode error) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow)
    return reject(431, "INGOT-E7210",
                  "the header has more than " + std::to_string(site.options.maxHeader) +
                      " bytes; send fewer or shorter fields");
  if (error == http::error::body_limit)
    return reject(413, "INGOT-E7209",
                  "the body has more than " + std::to_string(site.options.maxBody) +
                      " bytes; send a shorter prompt, or fewer");
  bool isHttp = error.category() == make_error_code(http::error::bad_method).category();
  if (isHttp && error != http::error::end_of_stream && error != http::error::partial_message)
    return reject(400, "INGOT-E7211",
                  "this is no request of HTTP/1.1: " + error.message() + "; see RFC 9112");
  // The client has gone or was too slow: the connection ends with this object.
}

void Connection::takeHeader(ErrorCode error) {
  if (error)
    return refuseHeader(error);
  const auto &message = parser->get();
  if (!message[http::field::content_encoding].empty())
    return reject(415, "INGOT-E7213", "the body is compressed; send it as it is");
  uint64_t expected = 0;
  if (auto length = parser->content_length())
    expected = *length;
  else if (parser->chunked())
    expected = site.options.maxBody;
  std::optional<BodyRoom> taken = BodyRoom::take(site, expected);
  if (!taken)
    return reject(503, "INGOT-E7219",
                  "the bodies that are on their way take all the room there is for them; try "
                  "again in a moment");
  room = std::move(*taken);
  if (parser->is_done())
    return dispatch();
  if (beast::iequals(message[http::field::expect], "100-continue"))
    return inviteBody();
  readBody();
}

void Connection::inviteBody() {
  static constexpr std::string_view text = "HTTP/1.1 100 Continue\r\n\r\n";
  stream.expires_after(seconds(site.options.bodySeconds));
  net::async_write(stream, net::buffer(text.data(), text.size()),
                   [self = shared_from_this()](ErrorCode error, size_t) {
                     if (!error)
                       self->readBody();
                   });
}

void Connection::readBody() {
  expectWithin(site.options.bodySeconds);
  http::async_read(stream, buffer, *parser, [self = shared_from_this()](ErrorCode error, size_t) {
    if (error)
      return self->refuseHeader(error);
    self->dispatch();
  });
}

HttpRequest Connection::takeRequest() {
  auto message = parser->release();
  parser.reset();
  HttpRequest request;
  request.method = std::string(message.method_string());
  request.path = pathOf(std::string_view(message.target().data(), message.target().size()));
  for (const auto &field : message) {
    HttpHeader &header = request.headers.emplace_back();
    header.name = std::string(field.name_string());
    for (char &c : header.name)
      if (c >= 'A' && c <= 'Z')
        c |= 0x20;
    header.value = std::string(field.value());
  }
  request.body = std::move(message.body());
  return request;
}

/// An exchange with its names for the log, which from here on is `exchange`.
std::shared_ptr<ConnectionExchange> Connection::open(HttpRequest request, bool keepAlive,
                                                     bool atLeast11) {
  RequestRecord record;
  record.id = requestIdOf(request.header("x-request-id"));
  record.traceParent = traceParentOf(request.header("traceparent"));
  record.method = request.method;
  record.path = request.path;
  ResponseFrame frame;
  frame.keepAlive = keepAlive && !site.draining;
  frame.headers = site.router.originHeaders(request.header("origin"));
  frame.headers.push_back({"Date", dateText(std::time(nullptr))});
  frame.headers.push_back({"x-request-id", record.id});
  // Whoever answers may drop the exchange on another thread, where no connection may end.
  auto wake = [executor = stream.get_executor(), weak = weak_from_this()] {
    net::post(executor, [weak] {
      if (std::shared_ptr<Connection> self = weak.lock())
        self->flush();
    });
  };
  exchange = std::make_shared<ConnectionExchange>(std::move(request), std::move(frame), atLeast11,
                                                  std::move(wake));
  exchange->record = known = std::move(record);
  answering = shared_from_this();
  ++site.exchanges;
  return exchange;
}

/// Answers a request that is not read to its end; the connection ends with it.
void Connection::reject(int status, const char *code, std::string message) {
  parser.reset();
  ApiError error = {status, code, std::move(message), {}};
  std::shared_ptr<ConnectionExchange> opened = open({}, false, true);
  opened->record.error = error.code;
  opened->respond(errorResponse(error));
}

void Connection::dispatch() {
  bool keepAlive = parser->keep_alive(), atLeast11 = parser->get().version() >= 11;
  std::shared_ptr<ConnectionExchange> opened = open(takeRequest(), keepAlive, atLeast11);
  watch();
  BodyRoom taken = std::exchange(room, {});
  if (opened->request.body.size() <= quickBody)
    return site.router.handle(opened);
  net::post(site.workers, [&site = site, opened, taken = std::move(taken)]() mutable {
    site.router.handle(opened);
  });
}

/// Reads ahead while a request is answered: the end of what there is to read is the client's.
void Connection::watch() {
  if (watching || clientIsDone || buffer.size() >= mostAhead)
    return;
  watching = true;
  stream.expires_never();
  stream.async_read_some(buffer.prepare(512),
                         [self = shared_from_this()](ErrorCode error, size_t bytes) {
                           self->takeAhead(error, bytes);
                         });
}

void Connection::takeAhead(ErrorCode error, size_t bytes) {
  watching = false;
  if (!error)
    buffer.commit(bytes);
  // One that has said all it will say may still want the response that waits for it.
  clientIsDone = error == net::error::eof;
  if (clientIsDone && exchange && exchange->isComplete())
    return;
  if (exchange && error)
    return lose();
  if (exchange)
    return watch();
  // The response has left, and the read was ended for the next request.
  bool goesOn = !error || clientIsDone || error == net::error::operation_aborted;
  if (goesOn && stream.socket().is_open())
    waitForRequest();
}

/// Writes what the exchange has. Never while something is being written.
void Connection::flush() {
  if (!exchange)
    return;
  switch (exchange->next(leaving)) {
  case ConnectionExchange::Next::Write:
    left = leaving.size();
    commentLater();
    return writeSome();
  case ConnectionExchange::Next::Drained:
    return exchange->tellDrained();
  case ConnectionExchange::Next::Ended:
    return complete();
  }
}

void Connection::writeSome() {
  stream.expires_after(seconds(site.options.writeSeconds));
  stream.async_write_some(
      net::buffer(leaving.data() + (leaving.size() - left), left),
      [self = shared_from_this()](ErrorCode error, size_t bytes) { self->written(error, bytes); });
}

void Connection::written(ErrorCode error, size_t bytes) {
  if (!exchange)
    return;
  if (error)
    return lose();
  left -= bytes;
  if (left > 0)
    return writeSome();
  flush();
}

/// Comments tell proxies and clients that a silent stream goes on.
void Connection::commentLater() {
  if (commenting || !exchange->streams())
    return;
  commenting = true;
  seconds silence(site.options.commentSeconds);
  comments.expires_after(silence);
  comments.async_wait([self = shared_from_this(), silence](ErrorCode error) {
    self->commenting = false;
    if (error || !self->exchange)
      return;
    self->exchange->comment(Clock::now() - silence);
    self->commentLater();
  });
}

void Connection::closeExchange(const RequestRecord &record) {
  site.metrics.response(record.status);
  site.log.write(record);
  exchange.reset();
  answering.reset();
  comments.cancel();
  --site.exchanges;
}

/// The response has left.
void Connection::complete() {
  bool keepAlive = exchange->keepsAlive();
  std::shared_ptr<ConnectionExchange> ended = exchange;
  closeExchange(ended->record);
  if (!keepAlive)
    return linger(mostLingering);
  if (watching)
    return stream.cancel(); // and takeAhead goes on
  waitForRequest();
}

/// The client is gone before its response was complete.
void Connection::lose() {
  exchange->close();
  // Whoever answers may still write into the exchange's own record.
  known.status = 499;
  closeExchange(known);
  stream.close();
}

/// Ends the connection without a reset, which would take the response from the client: reads and
/// drops what it still sends, up to a limit.
void Connection::linger(size_t limit) {
  ErrorCode ignored;
  stream.socket().shutdown(ClientSocket::shutdown_send, ignored);
  if (limit == 0 || watching || clientIsDone)
    return stream.close();
  buffer.clear();
  stream.expires_after(lingering);
  stream.async_read_some(buffer.prepare(4096),
                         [self = shared_from_this(), limit](ErrorCode error, size_t bytes) {
                           if (!error)
                             self->linger(limit - std::min(limit, bytes));
                         });
}

} // namespace

void serveConnection(ClientSocket socket, ConnectionSite &site) {
  std::make_shared<Connection>(std::move(socket), site)->waitForRequest();
}

} // namespace ingot::runtime
