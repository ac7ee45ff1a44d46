// SPDX-License-Identifier: Apache-2.0
// Loop: the variable `loop` of a for loop.
#pragma once

#include "runtime/jinja/Interpreter.h"

namespace ingot::runtime::jinja {

struct Loop : Object {
  Loop(std::vector<Value> items, const Statement &statement, Frame *frame, int64_t depth)
      : items(std::move(items)), statement(statement), frame(frame), depth(depth) {}

  /// Goes to the next item; false behind the last.
  bool advance() { return ++index < int64_t(items.size()); }
  const Value &current() const { return items[size_t(index)]; }

  std::string_view typeName() const override { return "LoopContext"; }
  bool isCallable() const override { return true; }
  /// Renders the body for other items, one level deeper.
  Value call(Interpreter &interpreter, const Arguments &arguments) override;
  std::optional<Value> attribute(Interpreter &interpreter, std::string_view name) override;
  std::string represent() const override;

  const std::vector<Value> items;
  const Statement &statement;
  Frame *const frame; ///< around the loop
  const int64_t depth;
  int64_t index = -1;
  std::optional<std::vector<Value>> lastChanged;
};

} // namespace ingot::runtime::jinja
