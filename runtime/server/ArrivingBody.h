// SPDX-License-Identifier: Apache-2.0
// The body of a request while it arrives, as Beast's parser fills it.
#pragma once

#include "runtime/server/BodyRooms.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/buffer_traits.hpp>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/http/message.hpp>
#include <string>

namespace ingot::runtime {

/// A text in a room. It grows by what has come, whatever was announced; what no room is left for
/// is the error not_enough_memory.
struct ArrivingBody {
  struct value_type {
    std::string text;
    BodyRooms::Room room;
  };

  class reader {
  public:
    template <bool isRequest, class Fields>
    reader(boost::beast::http::header<isRequest, Fields> &, value_type &body) : body(body) {}

    void init(const boost::optional<uint64_t> &length, boost::system::error_code &error) {
      announced = length.value_or(UINT64_MAX);
      error = {};
    }
    template <class Buffers> size_t put(const Buffers &buffers, boost::system::error_code &error) {
      size_t size = body.text.size() + boost::beast::buffer_bytes(buffers);
      if (!makeRoom(size)) {
        error = make_error_code(boost::system::errc::not_enough_memory);
        return 0;
      }
      for (boost::asio::const_buffer part : boost::beast::buffers_range_ref(buffers))
        body.text.append(static_cast<const char *>(part.data()), part.size());
      error = {};
      return boost::beast::buffer_bytes(buffers);
    }
    void finish(boost::system::error_code &error) { error = {}; }

  private:
    bool makeRoom(size_t size) {
      size_t capacity = body.text.capacity();
      if (size <= capacity)
        return true;
      size_t wanted = std::max<size_t>(size, std::min<uint64_t>(2 * uint64_t(size), announced));
      if (!body.room.grow(wanted - capacity))
        return false;
      body.text.reserve(wanted);
      return true;
    }

    value_type &body;
    uint64_t announced = 0;
  };
};

} // namespace ingot::runtime
