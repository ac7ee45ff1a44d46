// SPDX-License-Identifier: Apache-2.0
// Globals: what templates can name without having been given it.
#include "runtime/jinja/Globals.h"

#include "runtime/jinja/Interpreter.h"
#include "runtime/jinja/Representation.h"

namespace ingot::runtime::jinja {

namespace {

struct GlobalFunction : Object {
  explicit GlobalFunction(const Global &global) : global(global) {}
  std::string_view typeName() const override { return "function"; }
  bool isCallable() const override { return true; }
  Value call(Interpreter &interpreter, const Arguments &arguments) override {
    return global.run(interpreter, arguments);
  }
  std::string represent() const override { return "<function " + std::string(global.name) + ">"; }
  const Global &global;
};

struct Namespace : Object {
  explicit Namespace(Dict *names) : names(names) {}
  std::string_view typeName() const override { return "Namespace"; }
  std::optional<Value> attribute(Interpreter &, std::string_view name) override {
    if (const Value *value = names->find(name))
      return *value;
    return std::nullopt;
  }
  std::string represent() const override { return "<Namespace>"; }
  Dict *const names;
};

/// A method without arguments of an object that templates make.
struct PlainMethod : Object {
  using Run = Value (*)(Object &self);
  PlainMethod(Object &self, Run run) : self(self), run(run) {}
  std::string_view typeName() const override { return "method"; }
  bool isCallable() const override { return true; }
  Value call(Interpreter &interpreter, const Arguments &arguments) override {
    const Bound none("method", arguments, {});
    return run(self);
  }
  Object &self;
  const Run run;
};

struct Cycler : Object {
  explicit Cycler(std::vector<Value> items) : items(std::move(items)) {}
  std::string_view typeName() const override { return "Cycler"; }
  std::optional<Value> attribute(Interpreter &interpreter, std::string_view name) override {
    if (name == "current")
      return items[position];
    if (name == "next")
      return Value(interpreter.heap.make<PlainMethod>(*this, [](Object &self) {
        auto &cycler = static_cast<Cycler &>(self);
        const Value item = cycler.items[cycler.position];
        cycler.position = (cycler.position + 1) % cycler.items.size();
        return item;
      }));
    if (name == "reset")
      return Value(interpreter.heap.make<PlainMethod>(*this, [](Object &self) {
        static_cast<Cycler &>(self).position = 0;
        return Value();
      }));
    return std::nullopt;
  }
  const std::vector<Value> items;
  size_t position = 0;
};

struct Joiner : Object {
  explicit Joiner(const Value &separator) : separator(separator) {}
  std::string_view typeName() const override { return "Joiner"; }
  bool isCallable() const override { return true; }
  Value call(Interpreter &interpreter, const Arguments &arguments) override {
    const Bound none("joiner", arguments, {});
    const bool wasUsed = isUsed;
    isUsed = true;
    return wasUsed ? separator : makeString(interpreter.heap, "");
  }
  const Value separator;
  bool isUsed = false;
};

/// The sandbox of Jinja has no longer ranges.
constexpr uint64_t longestRange = 100000;

Value range(Interpreter &interpreter, const Arguments &arguments) {
  const size_t count = arguments.positional.size();
  if (count == 0 || count > 3 || !arguments.keywords.empty())
    fail("range() takes one to three integers");
  int64_t bounds[3] = {0, 0, 1};
  for (size_t i = 0; i < count; ++i) {
    const Value &value = arguments.positional[i];
    if (value.isUndefined())
      value.undefined().fail();
    if (!value.isInteger())
      fail("range() takes integers, not " + std::string(typeName(value)));
    bounds[count == 1 ? 1 : i] = value.integer();
  }
  const auto [start, stop, step] = bounds;
  if (step == 0)
    fail("the step of range() must not be zero");
  const bool isUp = step > 0;
  uint64_t length = 0;
  if (isUp ? start < stop : stop < start) {
    const uint64_t distance =
        isUp ? uint64_t(stop) - uint64_t(start) : uint64_t(start) - uint64_t(stop);
    const uint64_t stride = isUp ? uint64_t(step) : 0 - uint64_t(step);
    length = (distance - 1) / stride + 1;
  }
  if (length > longestRange)
    fail("range() has more than " + std::to_string(longestRange) + " items");
  interpreter.heap.charge(length * sizeof(Value));
  std::vector<Value> items;
  items.reserve(length);
  for (uint64_t i = 0; i < length; ++i)
    items.emplace_back(int64_t(uint64_t(start) + i * uint64_t(step)));
  auto *made = interpreter.heap.make<Sequence>(std::move(items));
  made->start = start;
  made->stop = stop;
  made->increment = step;
  return Value(Kind::Range, made);
}

Value makeNamespace(Interpreter &interpreter, const Arguments &arguments) {
  const Value names = makeDict(interpreter, arguments);
  return Value(interpreter.heap.make<Namespace>(const_cast<Dict *>(&names.dict())));
}

Value makeCycler(Interpreter &interpreter, const Arguments &arguments) {
  if (arguments.positional.empty() || !arguments.keywords.empty())
    fail("cycler() needs at least one item");
  return Value(interpreter.heap.make<Cycler>(arguments.positional));
}

Value makeJoiner(Interpreter &interpreter, const Arguments &arguments) {
  const Bound bound("joiner", arguments, {"sep"});
  return Value(
      interpreter.heap.make<Joiner>(bound.has(0) ? bound[0] : makeString(interpreter.heap, ", ")));
}

/// Jinja's is random text; a prompt is not, so it is the same words every time.
Value lipsum(Interpreter &interpreter, const Arguments &arguments) {
  const Bound bound("lipsum", arguments, {"n", "html", "min", "max"});
  constexpr std::string_view words = "Lorem ipsum dolor sit amet consectetuer adipiscing elit.";
  const bool isHtml = bound.truth(1, true);
  Text text;
  for (int64_t i = 0; i < bound.integer(0, 5); ++i) {
    interpreter.heap.charge(words.size() + 8);
    if (i > 0)
      text.append(isHtml ? "\n" : "\n\n");
    text.append(isHtml ? "<p>" : "");
    text.append(words);
    text.append(isHtml ? "</p>" : "");
  }
  return makeString(interpreter.heap, std::move(text), isHtml);
}

Value raiseException(Interpreter &interpreter, const Arguments &arguments) {
  const Bound bound("raise_exception", arguments, {"message"}, 1);
  throw Failure{raisedCode,
                "the template refuses the conversation: " +
                    textOf(interpreter.heap, bound[0]).takeBytes(),
                "change the conversation as it says"};
}

Value strftimeNow(Interpreter &interpreter, const Arguments &arguments) {
  const Bound bound("strftime_now", arguments, {"format"}, 1);
  const std::string format(bound.string(0).text.view());
  if (format.empty())
    return makeString(interpreter.heap, "");
  // A directive writes at most some hundred bytes; text without an end is refused.
  if (format.size() > 1024 || format.find('\0') != format.npos)
    fail("strftime_now() takes a format of at most 1,024 characters");
  std::string text(65536, '\0');
  text.resize(std::strftime(text.data(), text.size(), format.c_str(), &interpreter.now));
  return makeString(interpreter.heap, text);
}

} // namespace

std::span<const Global> globals() {
  static constexpr Global all[] = {
      {"range", range},
      {"dict", makeDict},
      {"namespace", makeNamespace},
      {"cycler", makeCycler},
      {"joiner", makeJoiner},
      {"lipsum", lipsum},
      {"raise_exception", raiseException},
      {"strftime_now", strftimeNow},
  };
  return all;
}

Value makeGlobal(Heap &heap, const Global &global) {
  return Value(heap.make<GlobalFunction>(global));
}

bool assignInNamespace(Heap &heap, Object &object, std::string_view name, const Value &value) {
  auto *names = dynamic_cast<Namespace *>(&object);
  if (!names)
    return false;
  names->names->set(heap, makeString(heap, name), value);
  return true;
}

Value makeDict(Interpreter &interpreter, const Arguments &arguments) {
  Heap &heap = interpreter.heap;
  auto *dict = heap.make<Dict>();
  if (arguments.positional.size() > 1)
    fail("dict() takes at most one argument beside keywords");
  for (const Value &from : arguments.positional) {
    if (from.isUndefined())
      from.undefined().fail();
    if (from.isDict()) {
      for (const auto &[key, value] : from.dict().entries)
        dict->set(heap, key, value);
      continue;
    }
    for (const Value &pair : iterate(heap, from)) {
      const std::vector<Value> parts = iterate(heap, pair);
      if (parts.size() != 2)
        fail("dict() takes pairs, and one has " + std::to_string(parts.size()) + " items");
      dict->set(heap, parts[0], parts[1]);
    }
  }
  for (const auto &[key, value] : arguments.keywords)
    dict->set(heap, makeString(heap, key), value);
  return Value(dict);
}

} // namespace ingot::runtime::jinja
