// SPDX-License-Identifier: Apache-2.0
// One connection of a client: requests of HTTP/1.1 one after the other, each with its exchange.
#pragma once

#include "runtime/server/BodyRooms.h"
#include "runtime/server/Router.h"

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>

namespace ingot::runtime {

/// An I/O thread runs the whole of its context, so what belongs to one connection needs no locks.
using IoExecutor = boost::asio::io_context::executor_type;
using ClientSocket =
    boost::asio::basic_stream_socket<boost::asio::generic::stream_protocol, IoExecutor>;

/// What all connections share; outlives them.
struct ConnectionSite {
  const ServerOptions &options;
  Router &router;
  Metrics &metrics;
  RequestLog log;
  boost::asio::thread_pool &workers; ///< for bodies that take a while to read

  std::atomic<int64_t> connections = 0; ///< each counted before it is served
  std::atomic<int64_t> turnedAway = 0;  ///< likewise, of those that are one too many
  std::atomic<int64_t> exchanges = 0;   ///< whose response has not left yet
  std::atomic<bool> draining = false;   ///< connections end with their response
  BodyRooms bodies{options.maxBodies};
};

/// Serves a connection until it ends, when it takes itself off `site.connections`. On the thread of
/// the socket's context.
void serveConnection(ClientSocket socket, ConnectionSite &site);

/// Says that the server has all the connections it takes; one of `site.turnedAway`.
void turnAway(ClientSocket socket, ConnectionSite &site);

} // namespace ingot::runtime
