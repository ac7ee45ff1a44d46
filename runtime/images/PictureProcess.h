// SPDX-License-Identifier: Apache-2.0
// The process that decodes pictures, as its parent sees it: started, asked, ended.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/images/Protocol.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <sys/types.h>

namespace ingot::runtime::images {

/// At most one process; it ends with this object.
class PictureProcess {
public:
  PictureProcess() = default;
  PictureProcess(const PictureProcess &) = delete;
  PictureProcess &operator=(const PictureProcess &) = delete;
  ~PictureProcess() { end(); }

  /// Starts `program` unless a process is alive. INGOT-E6807 when it cannot be started or locked up
  /// within `time`.
  Status start(const std::string &program, uint64_t memory, std::chrono::milliseconds time);

  /// Sends a request with a descriptor; the answer, of its kind. INGOT-E6808: the process ended or
  /// did not answer within `time`; INGOT-E6809: its answer makes no sense. Both end it.
  Result<Reply> ask(const Request &request, int descriptor, std::chrono::milliseconds time);

  /// Kills the process, if there is one, and waits for its end.
  void end();

  /// 0: there is none.
  pid_t id() const { return process; }

private:
  Result<Reply> receive(MessageKind kind, std::chrono::milliseconds time);
  Status endedEarly();
  bool alive() const;

  pid_t process = 0;
  int socket = -1;
};

} // namespace ingot::runtime::images
