// SPDX-License-Identifier: Apache-2.0
// Loop: the variable `loop` of a for loop.
#include "runtime/jinja/Loop.h"

#include "runtime/jinja/Comparison.h"

namespace ingot::runtime::jinja {

namespace {

/// loop.cycle or loop.changed.
struct LoopFunction : Object {
  using Run = Value (*)(Interpreter &, Loop &, const Arguments &);
  LoopFunction(Loop &loop, Run run) : loop(loop), run(run) {}

  std::string_view typeName() const override { return "method"; }
  bool isCallable() const override { return true; }
  Value call(Interpreter &interpreter, const Arguments &arguments) override {
    if (!arguments.keywords.empty())
      fail("a method of a loop takes no keyword arguments");
    return run(interpreter, loop, arguments);
  }

  Loop &loop;
  const Run run;
};

Value cycle(Interpreter &, Loop &loop, const Arguments &arguments) {
  const auto &choices = arguments.positional;
  if (choices.empty())
    fail("no items for cycling given");
  return choices[size_t(loop.index) % choices.size()];
}

Value changed(Interpreter &interpreter, Loop &loop, const Arguments &arguments) {
  const auto &now = arguments.positional;
  bool isSame = loop.lastChanged && loop.lastChanged->size() == now.size();
  for (size_t i = 0; isSame && i < now.size(); ++i)
    isSame = equal(interpreter.heap, (*loop.lastChanged)[i], now[i]);
  if (!isSame)
    loop.lastChanged = now;
  return Value(!isSame);
}

} // namespace

Value Loop::call(Interpreter &interpreter, const Arguments &arguments) {
  if (!statement.isRecursive)
    fail("the loop must have the 'recursive' marker to be called");
  const Bound bound("loop", arguments, {"iterable"}, 1);
  return interpreter.rendered(interpreter.renderLoop(statement, frame, bound[0], depth + 1));
}

std::optional<Value> Loop::attribute(Interpreter &interpreter, std::string_view name) {
  const auto length = int64_t(items.size());
  const std::pair<std::string_view, int64_t> numbers[] = {
      {"index", index + 1},
      {"index0", index},
      {"revindex", length - index},
      {"revindex0", length - index - 1},
      {"length", length},
      {"depth", depth + 1},
      {"depth0", depth},
  };
  for (const auto &[known, value] : numbers)
    if (name == known)
      return Value(value);
  if (name == "first")
    return Value(index == 0);
  if (name == "last")
    return Value(index + 1 >= length);
  if (name == "previtem")
    return index > 0 ? items[size_t(index - 1)]
                     : makeUndefined(interpreter.heap, "there is no previous item");
  if (name == "nextitem")
    return index + 1 < length ? items[size_t(index + 1)]
                              : makeUndefined(interpreter.heap, "there is no next item");
  if (name == "cycle" || name == "changed")
    return Value(interpreter.heap.make<LoopFunction>(*this, name == "cycle" ? cycle : changed));
  return std::nullopt;
}

std::string Loop::represent() const {
  return "<LoopContext " + std::to_string(index + 1) + "/" + std::to_string(items.size()) + ">";
}

} // namespace ingot::runtime::jinja
