// SPDX-License-Identifier: Apache-2.0
// Lines of a file or pipe as they come, for a loop that has other work meanwhile.
#pragma once

#include "runtime/core/Status.h"

#include <string>

namespace ingot::runtime {

/// Move-only owner of what is left to read.
class LineReader {
public:
  enum class Next {
    Line,
    NotYet, ///< more may come
    End,
  };

  /// Opens a file, or standard input for "-". INGOT-E7101: there is none, or it is a folder.
  static Result<LineReader> open(const std::string &path);

  LineReader(LineReader &&other) noexcept;
  LineReader &operator=(LineReader &&) = delete;
  ~LineReader();

  /// Takes the next line, without its end. `wait`: until there is one. INGOT-E7101: it cannot be
  /// read, or a line has more than 64 MiB.
  Result<Next> next(std::string &line, bool wait);

private:
  LineReader(std::string name, int descriptor) : name(std::move(name)), descriptor(descriptor) {}
  bool takeLine(std::string &line);
  Status failed(const std::string &what) const;
  Result<bool> readMore(bool wait);

  std::string name;
  int descriptor;      ///< -1 when moved from
  std::string held;    ///< read and not taken
  size_t begin = 0;    ///< of the next line in `held`
  size_t searched = 0; ///< there is no end of a line before it
  bool ended = false;
};

} // namespace ingot::runtime
