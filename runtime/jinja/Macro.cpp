// SPDX-License-Identifier: Apache-2.0
// Macro: a macro or the body of a call block; and blocks by name.
#include "runtime/jinja/Macro.h"

#include "runtime/jinja/Representation.h"

#include <algorithm>

namespace ingot::runtime::jinja {

Value Macro::call(Interpreter &interpreter, const Arguments &arguments) {
  const Heap::Level level(interpreter.heap);
  auto *inner = interpreter.heap.make<Frame>(frame);
  bind(interpreter, arguments, *inner);
  return interpreter.rendered(interpreter.renderBody(statement.bodies[0], inner, escapes));
}

void Macro::bind(Interpreter &interpreter, const Arguments &arguments, Frame &inner) const {
  const Signature &signature = statement.signature;
  const std::vector<std::string> &names = interpreter.tree.names;
  const size_t count = signature.parameters.size();
  std::vector<std::optional<Value>> values(count);
  std::vector<bool> usedKeywords(arguments.keywords.size());
  bool callerIsParameter = false;
  for (size_t i = 0; i < count; ++i) {
    const std::string &parameter = names[signature.parameters[i]];
    callerIsParameter |= parameter == "caller";
    if (i < arguments.positional.size()) {
      values[i] = arguments.positional[i];
      continue;
    }
    for (size_t k = 0; k < arguments.keywords.size(); ++k)
      if (arguments.keywords[k].first == parameter) {
        values[i] = arguments.keywords[k].second;
        usedKeywords[k] = true;
      }
  }
  bindRest(interpreter, arguments, usedKeywords, callerIsParameter, inner);
  // A default may name the parameters before it.
  const size_t firstDefault = count - signature.defaults.size();
  for (size_t i = 0; i < count; ++i) {
    const Symbol parameter = signature.parameters[i];
    Value value;
    if (values[i])
      value = *values[i];
    else if (i >= firstDefault)
      value = interpreter.evaluateIn(&inner, *signature.defaults[i - firstDefault]);
    else
      value = makeUndefined(interpreter.heap,
                            "parameter " + quoted(names[parameter]) + " was not provided");
    inner.names.emplace_back(parameter, value);
  }
}

void Macro::bindRest(Interpreter &interpreter, const Arguments &arguments,
                     std::vector<bool> &usedKeywords, bool callerIsParameter, Frame &inner) const {
  const Signature &signature = statement.signature;
  Heap &heap = interpreter.heap;
  auto define = [&](const char *special, const Value &value) {
    inner.names.emplace_back(interpreter.tree.symbols.at(special), value);
  };
  if (signature.usesCaller && !callerIsParameter) {
    Value caller = makeUndefined(heap, "No caller defined");
    for (size_t k = 0; k < arguments.keywords.size(); ++k)
      if (arguments.keywords[k].first == "caller" && !usedKeywords[k]) {
        usedKeywords[k] = true;
        if (!arguments.keywords[k].second.isNone())
          caller = arguments.keywords[k].second;
      }
    define("caller", caller);
  }
  auto *rest = heap.make<Dict>();
  for (size_t k = 0; k < arguments.keywords.size(); ++k)
    if (!usedKeywords[k])
      rest->set(heap, makeString(heap, arguments.keywords[k].first), arguments.keywords[k].second);
  if (signature.usesKwargs)
    define("kwargs", Value(rest));
  else if (!rest->entries.empty())
    fail("macro " + quoted(name) + " takes no keyword argument " +
         quoted(rest->entries[0].first.view()));
  const size_t count = std::min(signature.parameters.size(), arguments.positional.size());
  if (signature.usesVarargs)
    define("varargs", makeTuple(heap, {arguments.positional.begin() + ptrdiff_t(count),
                                       arguments.positional.end()}));
  else if (arguments.positional.size() > count)
    fail("macro " + quoted(name) + " takes not more than " +
         std::to_string(signature.parameters.size()) + " argument(s)");
}

std::optional<Value> Macro::attribute(Interpreter &interpreter, std::string_view attribute) {
  const Signature &signature = statement.signature;
  if (attribute == "name")
    return makeString(interpreter.heap, name);
  if (attribute == "catch_kwargs")
    return Value(signature.usesKwargs);
  if (attribute == "catch_varargs")
    return Value(signature.usesVarargs);
  if (attribute == "caller")
    return Value(signature.usesCaller);
  if (attribute != "arguments")
    return std::nullopt;
  std::vector<Value> names;
  for (const Symbol parameter : signature.parameters)
    names.push_back(makeString(interpreter.heap, interpreter.tree.names[parameter]));
  return makeTuple(interpreter.heap, std::move(names));
}

std::string Macro::represent() const {
  return "<Macro " + (statement.kind == Statement::Kind::Macro ? quoted(name) : "anonymous") + ">";
}

namespace {

/// self.name: renders the block.
struct BlockReference : Object {
  explicit BlockReference(const Statement &block) : block(block) {}

  std::string_view typeName() const override { return "BlockReference"; }
  bool isCallable() const override { return true; }
  Value call(Interpreter &interpreter, const Arguments &arguments) override {
    const Bound none(block.name, arguments, {});
    auto *inner = interpreter.heap.make<Frame>(nullptr);
    return interpreter.rendered(interpreter.renderBody(block.bodies[0], inner, false));
  }

  const Statement &block;
};

} // namespace

std::optional<Value> BlockIndex::attribute(Interpreter &interpreter, std::string_view name) {
  const auto found = interpreter.tree.blocks.find(std::string(name));
  if (found == interpreter.tree.blocks.end())
    return std::nullopt;
  return Value(interpreter.heap.make<BlockReference>(*found->second));
}

} // namespace ingot::runtime::jinja
