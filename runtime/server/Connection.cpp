// SPDX-License-Identifier: Apache-2.0
// HTTP/1.1 of a client that may be slow, silent, gone or hostile: every wait has an end.
#include "runtime/server/Connection.h"

#include "runtime/server/ArrivingBody.h"
#include "runtime/server/ConnectionExchange.h"
#include "runtime/server/HeaderValues.h"
#include "runtime/server/RequestHead.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
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
/// Bytes and time for what a client still sends when its connection ends, and its silence then.
constexpr size_t mostLingering = 64 << 20;
constexpr seconds lingering(30), lingeringSilence(2);

/// Extensions of chunks, of which there are none in use: each has a size, and together they have a
/// bound of their own.
struct ChunkExtensions {
  size_t left;
  void operator()(uint64_t, beast::string_view extensions, ErrorCode &error) {
    bool isText = std::all_of(extensions.begin(), extensions.end(),
                              [](char c) { return c == '\t' || (uint8_t(c) >= ' ' && c != 127); });
    if (!isText)
      error = http::error::bad_chunk_extension;
    else if (extensions.size() > left)
      error = http::error::header_limit;
    else
      left -= extensions.size();
  }
};

/// Handlers of its operations own it, and it itself while a request is answered. Everything runs on
/// the thread of its context.
class Connection : public std::enable_shared_from_this<Connection> {
public:
  /// `counter` has counted it.
  Connection(ClientSocket socket, ConnectionSite &site, std::atomic<int64_t> &counter)
      : site(site), counter(counter), stream(std::move(socket)),
        buffer(size_t(site.options.maxHeader) + mostAhead), comments(stream.get_executor()) {
    site.metrics.connections(1);
  }
  ~Connection() {
    --counter;
    site.metrics.connections(-1);
  }

  void waitForRequest();
  void turnAway();

private:
  using Parser = http::request_parser<ArrivingBody>;

  void expectWithin(int64_t seconds);
  void readHeader();
  void takeHeader(ErrorCode error);
  ApiError headerError(ErrorCode error) const;
  void refuseHeader(ErrorCode error);
  void takeHead();
  void inviteBody();
  void readBody();
  void giveWay(size_t request);
  void dispatch();
  std::shared_ptr<ConnectionExchange> open(HttpRequest request, bool keepAlive);
  void reject(const ApiError &error);
  void watch();
  void takeAhead(ErrorCode error, size_t bytes);
  void flush();
  void writeSome();
  void written(ErrorCode error, size_t bytes);
  void commentLater();
  void complete();
  void lose();
  void closeExchange(const RequestRecord &record);
  void linger();

  ConnectionSite &site;
  std::atomic<int64_t> &counter;
  beast::basic_stream<net::generic::stream_protocol, IoExecutor> stream;
  beast::flat_buffer buffer;
  std::optional<Parser> parser;
  ChunkExtensions extensions;
  RequestHead head;                             ///< of the request that arrives
  std::shared_ptr<ConnectionExchange> exchange; ///< whose response has not left yet
  std::shared_ptr<Connection> answering; ///< itself while it has an exchange and may wait for it
  RequestRecord known;                   ///< of it, when it began
  std::string leaving;                   ///< bytes that are being written
  size_t left = 0;                       ///< how many of them are
  bool watching = false;                 ///< a read waits, so that the client's end is seen
  bool clientIsDone = false; ///< has closed its writing half: a second read would wait for ever
  size_t requests = 0;       ///< that have begun
  bool gaveWay = false;      ///< its body did
  bool commenting = false;
  bool ending = false;         ///< the last response has left
  Clock::time_point lingerEnd; ///< then
  size_t lingered = 0;         ///< bytes that came then
  net::basic_waitable_timer<Clock, net::wait_traits<Clock>, IoExecutor> comments;
};

void Connection::waitForRequest() {
  // Some clients send an empty line behind a body (RFC 9112 2.2).
  auto has = [this](std::string_view text) {
    return std::string_view(static_cast<const char *>(buffer.data().data()), buffer.size())
        .starts_with(text);
  };
  while (has("\r\n"))
    buffer.consume(2);
  if (buffer.size() > 1 || (buffer.size() == 1 && !has("\r")))
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
                           self->waitForRequest();
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
  parser->body_limit(site.router.mostBody());
  extensions.left = size_t(site.options.maxHeader);
  parser->on_chunk_header(extensions);
  head = {};
  ++requests;
  gaveWay = false;
  expectWithin(site.options.headerSeconds);
  http::async_read_header(
      stream, buffer, *parser,
      [self = shared_from_this()](ErrorCode error, size_t) { self->takeHeader(error); });
}

/// What the parser, or the room for bodies, has refused.
ApiError Connection::headerError(ErrorCode error) const {
  std::string_view line(static_cast<const char *>(buffer.data().data()), buffer.size());
  line = line.substr(0, line.find("\r\n"));
  std::string most = std::to_string(site.options.maxHeader);
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    bool inLine = head.target.empty() && line.size() == buffer.size();
    return {inLine ? 414 : 431,
            "INGOT-E7210",
            inLine
                ? "the target of the request has more than " + most + " bytes; send a shorter one"
                : "the header, or what chunks add to it, has more than " + most +
                      " bytes; send fewer or shorter fields",
            {}};
  }
  if (error == http::error::body_limit)
    return {413,
            "INGOT-E7209",
            "the body has more than " + std::to_string(site.router.mostBody()) +
                " bytes; send a shorter prompt, or fewer",
            {}};
  if (error == boost::system::errc::not_enough_memory)
    return {503,
            "INGOT-E7219",
            "the bodies that are on their way take all the room there is for them; try again in a "
            "moment",
            {}};
  return unreadableLine(line, error == http::error::bad_version, error.message());
}

void Connection::refuseHeader(ErrorCode error) {
  bool isOfParser = error.category() == make_error_code(http::error::bad_method).category();
  bool isEnd = error == http::error::end_of_stream || error == http::error::partial_message;
  if ((isOfParser && !isEnd) || error == boost::system::errc::not_enough_memory)
    return reject(headerError(error));
  // The client has gone or was too slow: the connection ends with this object.
}

/// What the parser has read of the head; trailers, which may come later, are no part of it.
void Connection::takeHead() {
  const auto &message = parser->get();
  head.target = std::string(message.target());
  head.atLeast11 = message.version() >= 11;
  head.request.method = std::string(message.method_string());
  for (const auto &field : message)
    head.request.headers.push_back(
        {lowerCase(std::string_view(field.name_string())), std::string(field.value())});
}

void Connection::takeHeader(ErrorCode error) {
  if (parser->got_some())
    takeHead();
  std::optional<ApiError> refused = readHead(head);
  if (error)
    return refuseHeader(error);
  if (!refused && head.chunked != parser->chunked())
    refused = headerError(http::error::bad_transfer_encoding);
  if (refused)
    return reject(*refused);
  if (parser->is_done())
    return dispatch();
  parser->get().body().room = site.bodies.open(
      [executor = stream.get_executor(), weak = weak_from_this(), request = requests] {
        net::post(executor, [weak, request] {
          if (std::shared_ptr<Connection> self = weak.lock())
            self->giveWay(request);
        });
      });
  if (head.expectsContinue)
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
      return self->refuseHeader(std::exchange(self->gaveWay, false)
                                    ? make_error_code(boost::system::errc::not_enough_memory)
                                    : error);
    self->dispatch();
  });
}

/// The room of the body was given to another one.
void Connection::giveWay(size_t request) {
  if (request != requests || !parser)
    return;
  gaveWay = true;
  stream.cancel();
}

/// An exchange with its names for the log, which from here on is `exchange`.
std::shared_ptr<ConnectionExchange> Connection::open(HttpRequest request, bool keepAlive) {
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
  exchange = std::make_shared<ConnectionExchange>(std::move(request), std::move(frame),
                                                  head.atLeast11, std::move(wake));
  exchange->record = known = std::move(record);
  answering = shared_from_this();
  ++site.exchanges;
  head = {}; // which an idle client need not keep
  return exchange;
}

/// Answers a request that is not read to its end; the connection ends with it.
void Connection::reject(const ApiError &error) {
  parser.reset();
  open(std::move(head.request), false)->refuse(error);
}

void Connection::turnAway() {
  reject({503, "INGOT-E7219", "this server has all the connections that it takes; try again", {}});
}

/// Pictures wait for each other, and each may take long. A word may be written in escapes.
static bool isQuick(std::string_view body, bool takesPictures) {
  return body.size() <= quickBody &&
         !(takesPictures && (body.find("image") != body.npos || body.find("\\u") != body.npos));
}

void Connection::dispatch() {
  ArrivingBody::value_type body = parser->release().body();
  parser.reset();
  head.request.body = std::move(body.text);
  std::shared_ptr<ConnectionExchange> opened = open(std::move(head.request), head.keepAlive);
  watch();
  if (isQuick(opened->request.body, site.router.takesPictures()))
    return site.router.handle(opened);
  body.room.keep();
  net::post(site.workers, [&site = site, opened, room = std::move(body.room)]() mutable {
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
    ending ? linger() : waitForRequest();
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
  if (!keepAlive) {
    ErrorCode ignored;
    stream.socket().shutdown(ClientSocket::shutdown_send, ignored);
    ending = true;
    lingerEnd = Clock::now() + lingering;
  }
  if (watching)
    return stream.cancel(); // and takeAhead goes on
  ending ? linger() : waitForRequest();
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
/// drops what it still sends, within limits.
void Connection::linger() {
  Clock::time_point now = Clock::now();
  if (clientIsDone || lingered > mostLingering || now >= lingerEnd)
    return stream.close();
  buffer.clear();
  stream.expires_at(std::min(lingerEnd, now + lingeringSilence));
  stream.async_read_some(buffer.prepare(mostAhead),
                         [self = shared_from_this()](ErrorCode error, size_t bytes) {
                           self->lingered += bytes;
                           if (!error)
                             self->linger();
                         });
}

} // namespace

void serveConnection(ClientSocket socket, ConnectionSite &site) {
  std::make_shared<Connection>(std::move(socket), site, site.connections)->waitForRequest();
}

void turnAway(ClientSocket socket, ConnectionSite &site) {
  std::make_shared<Connection>(std::move(socket), site, site.turnedAway)->turnAway();
}

} // namespace ingot::runtime
