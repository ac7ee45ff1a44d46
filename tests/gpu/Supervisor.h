// SPDX-License-Identifier: Apache-2.0
// Runs a list of items in child processes, so that one that hangs or kills its process costs itself
// alone.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

namespace ingot::record {

/// What a child tells its parent: one object a line. {"opened": text} once it is ready,
/// {"error": text} if it never will be, and {"item": index, ...} for each item that is done.
using Say = std::function<void(const nlohmann::json &line)>;

/// How a child ended.
enum class ChildEnd : int {
  Done = 0,       ///< the last item is done
  CannotOpen = 2, ///< {"error"} says why
  GoOn = 3,       ///< the item said last broke the device: another child goes on behind it
};

struct SupervisedItems {
  size_t count = 0;
  /// Seconds until a child must have opened its device, and between two of its lines.
  double openLimit = 120, itemLimit = 30;
  /// Runs items from `first` on, in the child.
  std::function<ChildEnd(size_t first, const Say &say)> work;
  /// Takes a child's lines about items, in their order, in the parent.
  std::function<void(const nlohmann::json &line)> take;
  /// Takes item `index`, which ended its child or its time: `reason` says how.
  std::function<void(size_t index, const std::string &reason)> lost;
};

/// Runs all items. The parent does nothing but read, and never calls `work`. Returns what the last
/// child that opened its device said of it; empty, with `error` set, if none ever did. Where the
/// device cannot be opened again, the items that are left are lost.
std::string supervise(const SupervisedItems &items, std::string &error);

} // namespace ingot::record
