// SPDX-License-Identifier: Apache-2.0
// What a client sends on a connection, read by the real one, whose router has no engine yet.
#include "runtime/server/Connection.h"
#include "tests/fuzz/targets/Target.h"

#include <array>
#include <boost/asio/buffer.hpp>
#include <sys/socket.h>

using namespace ingot;
using namespace ingot::fuzz;

std::vector<std::string> fuzz::seeds() {
  return {
      "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
      "HEAD /version HTTP/1.0\r\n\r\n",
      "GET /metrics HTTP/1.1\r\nHost: localhost\r\nx-request-id: 1\r\nOrigin: "
      "http://localhost\r\n\r\n"
      "GET /v1/models/a%20b?c HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\n\r\n",
      "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
      "application/json\r\nContent-Length: 2\r\n"
      "\r\n{}",
      "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: "
      "chunked\r\n\r\n2;x=y\r\n{}\r\n0\r\n"
      "A: b\r\n\r\n",
      "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: "
      "3\r\n\r\n{} ",
      "\r\nOPTIONS * HTTP/1.1\r\nHost: [::1]:80\r\n\r\n",
      "GET http://localhost/version?a HTTP/1.1\r\nHost: localhost\r\n\r\n",
      // What a client began before it ended.
      "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\nGET ",
      "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\nPOST /tokenize HTTP/1.1\r\nHost: "
      "a\r\nContent-Length: 3\r\n\r\n{",
  };
}

std::vector<std::string> fuzz::words() {
  return {"HTTP/1.1",
          "Content-Length: ",
          "Host: ",
          "http://",
          "Transfer-Encoding: ",
          "chunked",
          "Connection: ",
          "keep-alive",
          "close",
          "Expect: 100-continue",
          "Content-Encoding",
          "\r\n\r\n",
          "GET ",
          "POST /v1/completions "};
}

namespace {

/// Everything that connections need, made once.
struct Site {
  Site() {
    options.maxBody = 1000;
    options.maxHeader = 600;
    options.corsOrigins = {"*"};
    // Whatever the server waits for although the client has ended takes too long.
    options.headerSeconds = options.bodySeconds = options.idleSeconds = options.writeSeconds = 3600;
  }
  runtime::ServerOptions options;
  runtime::Metrics metrics;
  runtime::Router router{options, {}, metrics};
  boost::asio::thread_pool workers{1};
  runtime::ConnectionSite site{options, router, metrics, runtime::RequestLog(false), workers};
};

runtime::ClientSocket socketOf(boost::asio::io_context &context, int descriptor) {
  return {context, boost::asio::generic::stream_protocol(AF_UNIX, SOCK_STREAM), descriptor};
}

/// Sends all it will say at once and reads the responses.
struct Client {
  Client(boost::asio::io_context &context, int descriptor, std::string_view text)
      : socket(socketOf(context, descriptor)) {
    (void)!::write(descriptor, text.data(), text.size());
    ::shutdown(descriptor, SHUT_WR);
    read();
  }
  void read() {
    socket.async_read_some(boost::asio::buffer(part),
                           [this](boost::system::error_code error, size_t size) {
                             if (error)
                               return;
                             start.append(part.data(), std::min(size, 9 - start.size()));
                             read();
                           });
  }

  runtime::ClientSocket socket;
  std::array<char, 4096> part;
  std::string start; ///< of the first response
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static Site shared;
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return 0;
  boost::asio::io_context context(1);
  Client client(context, ends[0],
                {reinterpret_cast<const char *>(data), std::min<size_t>(size, 64 << 10)});
  ++shared.site.connections;
  runtime::serveConnection(socketOf(context, ends[1]), shared.site);
  context.run();
  EXPECT_EQ(shared.site.connections, 0);
  EXPECT_EQ(shared.site.exchanges, 0);
  EXPECT_EQ(shared.site.bodies.bytes(), 0u);
  EXPECT_TRUE(std::string_view("HTTP/1.1 ").starts_with(client.start)) << client.start;
  return 0;
}
