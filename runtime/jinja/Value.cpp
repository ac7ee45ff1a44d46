// SPDX-License-Identifier: Apache-2.0
// Value: what a template computes with, as Python has it.
#include "runtime/jinja/Value.h"

#include "runtime/jinja/Arguments.h"
#include "runtime/jinja/Characters.h"
#include "runtime/jinja/Comparison.h"

namespace ingot::runtime::jinja {

/// A dict of at most this many entries is searched one after the other.
constexpr size_t fewEntries = 8;

const Undefined &Value::undefined() const { return static_cast<const Undefined &>(*object_); }
const String &Value::string() const { return static_cast<const String &>(*object_); }
std::string_view Value::view() const { return string().text.view(); }
const Sequence &Value::sequence() const { return static_cast<const Sequence &>(*object_); }
const std::vector<Value> &Value::items() const { return sequence().items; }
const Dict &Value::dict() const { return static_cast<const Dict &>(*object_); }

Generator &Value::generator() const {
  return const_cast<Generator &>(static_cast<const Generator &>(*object_));
}

Object &Value::object() const {
  return const_cast<Object &>(static_cast<const Object &>(*object_));
}

String::String(Text text, bool isMarkup)
    : text(std::move(text)), isMarkup(isMarkup), characters(countCharacters(this->text.view())) {}

const Value *Dict::find(Heap &heap, const Value &key) const {
  const size_t hash = hashOf(heap, key); // also where there are few: some values have none
  if (entries.size() <= fewEntries) {
    for (const auto &[name, value] : entries)
      if (equal(heap, name, key))
        return &value;
    return nullptr;
  }
  const auto [first, last] = index.equal_range(hash);
  for (auto place = first; place != last; ++place) {
    heap.step();
    if (equal(heap, entries[place->second].first, key))
      return &entries[place->second].second;
  }
  return nullptr;
}

const Value *Dict::find(std::string_view key) const {
  auto isKey = [&](const Value &name) { return name.isString() && name.view() == key; };
  if (entries.size() <= fewEntries) {
    for (const auto &[name, value] : entries)
      if (isKey(name))
        return &value;
    return nullptr;
  }
  const auto [first, last] = index.equal_range(hashOf(key));
  for (auto place = first; place != last; ++place)
    if (isKey(entries[place->second].first))
      return &entries[place->second].second;
  return nullptr;
}

void Dict::set(Heap &heap, const Value &key, const Value &value) {
  if (const Value *existing = find(heap, key)) {
    const_cast<Value &>(*existing) = value;
    return;
  }
  heap.charge(2 * sizeof(Value) + 4 * sizeof(void *));
  entries.emplace_back(key, value);
  if (entries.size() == fewEntries + 1)
    for (size_t i = 0; i < fewEntries; ++i)
      index.emplace(hashOf(heap, entries[i].first), i);
  if (entries.size() > fewEntries)
    index.emplace(hashOf(heap, key), entries.size() - 1);
}

void Generator::start() {
  if (!produce)
    return;
  const Produce make = std::move(produce);
  produce = nullptr;
  items = make();
}

std::vector<Value> Generator::take() {
  start();
  std::vector<Value> rest(items.begin() + ptrdiff_t(position), items.end());
  position = items.size();
  return rest;
}

std::optional<Value> Generator::next() {
  start();
  if (position == items.size())
    return std::nullopt;
  return items[position++];
}

Value Object::call(Interpreter &, const Arguments &) {
  fail("'" + std::string(typeName()) + "' object is not callable");
}

std::string Object::represent() const { return "<" + std::string(typeName()) + ">"; }

std::string_view typeName(const Value &value) {
  switch (value.kind()) {
  case Kind::Undefined:
    return "Undefined";
  case Kind::None:
    return "NoneType";
  case Kind::Bool:
    return "bool";
  case Kind::Int:
    return "int";
  case Kind::Float:
    return "float";
  case Kind::String:
    return value.string().isMarkup ? "Markup" : "str";
  case Kind::List:
    return "list";
  case Kind::Tuple:
    return "tuple";
  case Kind::View:
    return value.sequence().viewName;
  case Kind::Range:
    return "range";
  case Kind::Dict:
    return "dict";
  case Kind::Generator:
    return "generator";
  case Kind::Object:
    return value.object().typeName();
  }
  return "object";
}

Value makeString(Heap &heap, Text text, bool isMarkup) {
  heap.charge(text.footprint());
  return Value(heap.make<String>(std::move(text), isMarkup));
}

Value makeString(Heap &heap, std::string_view bytes) {
  return makeString(heap, Text(std::string(bytes)));
}

static Value makeSequence(Heap &heap, Kind kind, std::vector<Value> items) {
  heap.charge(items.size() * sizeof(Value));
  return Value(kind, heap.make<Sequence>(std::move(items)));
}

Value makeList(Heap &heap, std::vector<Value> items) {
  return makeSequence(heap, Kind::List, std::move(items));
}

Value makeTuple(Heap &heap, std::vector<Value> items) {
  return makeSequence(heap, Kind::Tuple, std::move(items));
}

Value makeGenerator(Heap &heap, Generator::Produce produce) {
  return Value(heap.make<Generator>(std::move(produce)));
}

Value makeUndefined(Heap &heap, std::string message, std::string_view code) {
  return Value(heap.make<Undefined>(std::move(message), code));
}

static std::vector<Value> charactersOf(Heap &heap, const String &string) {
  std::vector<Value> characters;
  heap.charge(string.characters * (sizeof(Value) + sizeof(String)));
  characters.reserve(string.characters);
  const std::string_view bytes = string.text.view();
  for (size_t begin = 0; begin < bytes.size();) {
    const size_t end = begin + characterLength(bytes, begin);
    characters.push_back(makeString(heap, string.text.slice(begin, end))); // never HTML
    begin = end;
  }
  return characters;
}

std::vector<Value> iterate(Heap &heap, const Value &value) {
  std::vector<Value> items;
  switch (value.kind()) {
  case Kind::Undefined:
    return items;
  case Kind::String:
    return charactersOf(heap, value.string());
  case Kind::List:
  case Kind::Tuple:
  case Kind::View:
  case Kind::Range:
    heap.step(value.items().size() / 8);
    return value.items();
  case Kind::Dict:
    heap.step(value.dict().entries.size() / 8);
    for (const auto &entry : value.dict().entries)
      items.push_back(entry.first);
    return items;
  case Kind::Generator:
    return value.generator().take();
  default:
    fail("'" + std::string(typeName(value)) + "' object is not iterable");
  }
}

bool isIterable(const Value &value) {
  return value.isUndefined() || value.isString() || value.isSequence() || value.isDict() ||
         value.is(Kind::Generator);
}

std::optional<size_t> lengthOf(const Value &value) {
  switch (value.kind()) {
  case Kind::Undefined:
    return 0;
  case Kind::String:
    return value.string().characters;
  case Kind::List:
  case Kind::Tuple:
  case Kind::View:
  case Kind::Range:
    return value.items().size();
  case Kind::Dict:
    return value.dict().entries.size();
  default:
    return std::nullopt;
  }
}

} // namespace ingot::runtime::jinja
