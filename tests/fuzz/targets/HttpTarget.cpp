// SPDX-License-Identifier: Apache-2.0
// What a client sends on a connection, read by the real one, whose router has no engine yet.
#include "runtime/server/Connection.h"
#include "tests/fuzz/targets/Target.h"

#include <sys/socket.h>

using namespace ingot;
using namespace ingot::fuzz;

std::vector<std::string> fuzz::seeds() {
  return {
      "GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
      "HEAD /version HTTP/1.0\r\n\r\n",
      "GET /metrics HTTP/1.1\r\nx-request-id: 1\r\nOrigin: http://localhost\r\n\r\n"
      "GET /v1/models/a%20b?c HTTP/1.1\r\nAuthorization: Bearer x\r\n\r\n",
      "POST /v1/completions HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
      "\r\n{}",
      "POST /tokenize HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\n{}\r\n0\r\nA: "
      "b\r\n\r\n",
      "POST /tokenize HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n{} ",
      "OPTIONS * HTTP/1.1\r\n\r\n",
  };
}

std::vector<std::string> fuzz::words() {
  return {"HTTP/1.1",
          "Content-Length: ",
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
  }
  runtime::ServerOptions options;
  runtime::Metrics metrics;
  runtime::Router router{options, {}, metrics};
  boost::asio::thread_pool workers{1};
  runtime::ConnectionSite site{options, router, metrics, runtime::RequestLog(false), workers};
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static Site shared;
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return 0;
  (void)!::write(ends[0], data, std::min<size_t>(size, 64 << 10));
  ::shutdown(ends[0], SHUT_WR);
  {
    boost::asio::io_context context(1);
    runtime::ClientSocket socket(
        context, boost::asio::generic::stream_protocol(AF_UNIX, SOCK_STREAM), ends[1]);
    ++shared.site.connections;
    runtime::serveConnection(std::move(socket), shared.site);
    context.run();
  }
  EXPECT_EQ(shared.site.connections, 0);
  EXPECT_EQ(shared.site.exchanges, 0);
  EXPECT_EQ(shared.site.bodyBytes, 0u);
  char answer[16] = {};
  if (ssize_t count = ::read(ends[0], answer, 9); count > 0) {
    EXPECT_EQ(std::string(answer, size_t(count)), std::string("HTTP/1.1 "));
  }
  ::close(ends[0]);
  return 0;
}
