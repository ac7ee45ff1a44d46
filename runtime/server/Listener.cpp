// SPDX-License-Identifier: Apache-2.0
// A socket that listens, and contexts that take its connections in turn.
#include "runtime/server/Listener.h"

#include "runtime/server/Connection.h"

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdio>
#include <netinet/tcp.h>
#include <optional>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace ingot::runtime {

namespace net = boost::asio;
using ErrorCode = boost::system::error_code;
using Generic = net::generic::stream_protocol;
using Acceptor = net::basic_socket_acceptor<Generic, IoExecutor>;

/// Bytes that the system holds for a client, which by itself takes megabytes for one that is slow.
constexpr int kernelBuffer = 128 << 10;
/// Clients that are told at a time that there are too many; beyond them connections just end.
constexpr int64_t mostTurnedAway = 256;

static Status cannotListen(const std::string &where, const std::string &why) {
  return Status::error("INGOT-E7216", "no connections can be had at " + where + ": " + why,
                       "choose another --host, --port or --unix-socket");
}

/// A socket file that an ended process left; one that answers is somebody's.
static void removeStale(const std::string &path) {
  struct stat found;
  if (::stat(path.c_str(), &found) != 0 || !S_ISSOCK(found.st_mode))
    return;
  net::io_context context;
  net::local::stream_protocol::socket probe(context);
  ErrorCode error;
  probe.connect(net::local::stream_protocol::endpoint(path), error);
  if (error == net::error::connection_refused)
    ::unlink(path.c_str());
}

class Listener::Threads {
public:
  Threads(const ServerOptions &options, Router &router, Metrics &metrics);
  ~Threads();

  Status listen(std::string &where);
  void start();

  net::thread_pool workers{1};
  ConnectionSite site;

private:
  struct Context {
    net::io_context context{1};
    net::executor_work_guard<IoExecutor> work{context.get_executor()};
  };

  Status listenTcp(std::string &where);
  Status listenUnix(std::string &where);
  Status bind(const Generic::endpoint &endpoint, const std::string &where);
  void accept();
  void take(ErrorCode error, ClientSocket socket);

  std::vector<std::unique_ptr<Context>> contexts;
  std::optional<Acceptor> acceptor;
  std::optional<net::steady_timer> pause;
  size_t next = 0; ///< context of the next connection
  std::string socketFile;
  std::vector<std::thread> threads;
};

Listener::Threads::Threads(const ServerOptions &options, Router &router, Metrics &metrics)
    : site{options, router, metrics, RequestLog(!options.noLog), workers} {
  for (int64_t i = 0; i < options.ioThreads; ++i)
    contexts.push_back(std::make_unique<Context>());
}

Listener::Threads::~Threads() {
  workers.stop();
  workers.join();
  for (auto &context : contexts)
    context->context.stop();
  for (std::thread &thread : threads)
    thread.join();
  pause.reset();
  acceptor.reset();
  // Connections end with the operations that wait for them, and use `site`.
  contexts.clear();
  if (!socketFile.empty())
    ::unlink(socketFile.c_str());
}

Status Listener::Threads::bind(const Generic::endpoint &endpoint, const std::string &where) {
  ErrorCode error;
  acceptor.emplace(contexts[0]->context);
  pause.emplace(contexts[0]->context);
  acceptor->open(endpoint.protocol(), error);
  if (!error)
    acceptor->set_option(Acceptor::reuse_address(true), error);
  if (!error)
    acceptor->bind(endpoint, error);
  if (!error)
    acceptor->listen(Acceptor::max_listen_connections, error);
  return error ? cannotListen(where, error.message()) : Status();
}

Status Listener::Threads::listenTcp(std::string &where) {
  const ServerOptions &options = site.options;
  ErrorCode error;
  std::string host = options.host == "localhost" ? "127.0.0.1" : options.host;
  net::ip::address address = net::ip::make_address(host, error);
  std::string named = (address.is_v6() ? '[' + host + ']' : host) + ':';
  if (error)
    return cannotListen(named + std::to_string(options.port), "this is no IP address");
  Status bound = bind(net::ip::tcp::endpoint(address, uint16_t(options.port)),
                      named + std::to_string(options.port));
  if (!bound.ok())
    return bound;
  sockaddr_storage own = {};
  socklen_t size = sizeof own;
  if (getsockname(acceptor->native_handle(), reinterpret_cast<sockaddr *>(&own), &size) != 0)
    return cannotListen(named, "the system does not tell the port");
  uint16_t port =
      ntohs(own.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6 &>(own).sin6_port
                                      : reinterpret_cast<const sockaddr_in &>(own).sin_port);
  where = "http://" + named + std::to_string(port);
  return {};
}

Status Listener::Threads::listenUnix(std::string &where) {
  const std::string &path = site.options.unixSocket;
  where = "unix:" + path;
  if (path.size() >= sizeof(sockaddr_un::sun_path))
    return cannotListen(where, "the path is too long");
  removeStale(path);
  if (Status status = bind(net::local::stream_protocol::endpoint(path), where); !status.ok())
    return status;
  socketFile = path;
  return {};
}

Status Listener::Threads::listen(std::string &where) {
  return site.options.unixSocket.empty() ? listenTcp(where) : listenUnix(where);
}

void Listener::Threads::start() {
  accept();
  for (auto &context : contexts)
    threads.emplace_back([&context = context->context] {
      while (true) {
        try {
          context.run();
          return;
        } catch (const std::exception &error) {
          // It has ended one connection; the others go on.
          std::fprintf(stderr, "warning: a connection was ended: %s\n", error.what());
        }
      }
    });
}

void Listener::Threads::accept() {
  acceptor->async_accept(contexts[next]->context, [this](ErrorCode error, ClientSocket socket) {
    take(error, std::move(socket));
  });
}

void Listener::Threads::take(ErrorCode error, ClientSocket socket) {
  if (error) {
    // No descriptors, as a rule: some will be free in a while.
    pause->expires_after(std::chrono::milliseconds(100));
    pause->async_wait([this](ErrorCode stopped) {
      if (!stopped)
        accept();
    });
    return;
  }
  bool isServed = site.connections < site.options.maxConnections;
  if (!isServed && site.turnedAway >= mostTurnedAway)
    return accept();
  int yes = 1, bytes = kernelBuffer;
  (void)setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  (void)setsockopt(socket.native_handle(), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
  ++(isServed ? site.connections : site.turnedAway);
  auto executor = socket.get_executor();
  net::post(executor, [this, isServed, socket = std::move(socket)]() mutable {
    (isServed ? serveConnection : turnAway)(std::move(socket), site);
  });
  next = (next + 1) % contexts.size();
  accept();
}

Listener::Listener() = default;
Listener::~Listener() = default;

Result<std::unique_ptr<Listener>> Listener::open(const ServerOptions &options, Router &router,
                                                 Metrics &metrics) {
  std::unique_ptr<Listener> listener(new Listener());
  listener->threads = std::make_unique<Threads>(options, router, metrics);
  if (Status status = listener->threads->listen(listener->where); !status.ok())
    return status;
  listener->threads->start();
  return listener;
}

void Listener::drain() { threads->site.draining = true; }

int64_t Listener::exchanges() const { return threads->site.exchanges; }

} // namespace ingot::runtime
