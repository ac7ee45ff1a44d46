// SPDX-License-Identifier: Apache-2.0
// Attributes, elements and slices of values, as the sandbox of Jinja gives them.
#include "runtime/jinja/Access.h"

#include "runtime/jinja/Characters.h"
#include "runtime/jinja/Comparison.h"
#include "runtime/jinja/Interpreter.h"
#include "runtime/jinja/Methods.h"
#include "runtime/jinja/Representation.h"

#include <algorithm>

namespace ingot::runtime::jinja {

/// "str object", "None": how messages name what lacks an attribute.
static std::string describe(const Value &value) {
  return value.isNone() ? "None" : std::string(typeName(value)) + " object";
}

static Value missing(Heap &heap, const Value &value, std::string_view name) {
  return makeUndefined(heap, quoted(describe(value)) + " has no attribute " + quoted(name));
}

static std::optional<Value> partOfNumber(const Value &value, std::string_view name) {
  const bool isFloat = value.is(Kind::Float);
  if (name == "real")
    return isFloat ? value : Value(value.integer());
  if (name == "imag")
    return isFloat ? Value(0.0) : Value(int64_t(0));
  if (isFloat)
    return std::nullopt;
  if (name == "numerator")
    return Value(value.integer());
  return name == "denominator" ? std::optional(Value(int64_t(1))) : std::nullopt;
}

std::optional<Value> ownAttribute(Interpreter &interpreter, const Value &value,
                                  std::string_view name) {
  if (value.is(Kind::Object))
    return value.object().attribute(interpreter, name);
  if (value.isNumber())
    if (const std::optional<Value> part = partOfNumber(value, name))
      return part;
  if (value.is(Kind::Tuple) && value.sequence().isGroup) {
    if (name == "grouper")
      return value.items()[0];
    if (name == "list")
      return value.items()[1];
  }
  if (isMutating(value, name))
    return makeUndefined(interpreter.heap,
                         "access to attribute " + quoted(name) + " of " + quoted(typeName(value)) +
                             " object is unsafe: templates change nothing",
                         securityCode);
  if (const Method *method = findMethod(value, name))
    return bindMethod(interpreter.heap, value, *method);
  return std::nullopt;
}

Value attributeOf(Interpreter &interpreter, const Value &value, std::string_view name) {
  if (value.isUndefined())
    value.undefined().fail();
  if (const std::optional<Value> own = ownAttribute(interpreter, value, name))
    return *own;
  if (value.isDict())
    if (const Value *element = value.dict().find(name))
      return *element;
  return missing(interpreter.heap, value, name);
}

/// The element at an index that may count from the end.
static std::optional<Value> elementAt(Heap &heap, const Value &value, int64_t index) {
  const auto length = int64_t(*lengthOf(value));
  if (index < 0)
    index += length;
  if (index < 0 || index >= length)
    return std::nullopt;
  if (!value.isString())
    return value.items()[size_t(index)];
  const String &string = value.string();
  heap.step(string.isAscii() ? 1 : uint64_t(index) / 16);
  const size_t begin =
      string.isAscii() ? size_t(index) : byteOffset(string.text.view(), size_t(index));
  const size_t end = begin + characterLength(string.text.view(), begin);
  return makeString(heap, string.text.slice(begin, end), string.isMarkup);
}

Value elementOf(Interpreter &interpreter, const Value &value, const Value &key) {
  Heap &heap = interpreter.heap;
  if (value.isUndefined())
    value.undefined().fail();
  if (value.isDict() && isHashable(key)) {
    if (const Value *element = value.dict().find(heap, key))
      return *element;
  } else if ((value.isString() || value.isSequence()) && !value.is(Kind::View) && key.isInteger()) {
    if (const std::optional<Value> element = elementAt(heap, value, key.integer()))
      return *element;
  }
  if (!key.isString())
    return makeUndefined(
        heap, describe(value) + " has no element " + [&] {
          Text text;
          appendRepr(heap, text, key);
          return text.takeBytes();
        }());
  if (const std::optional<Value> own = ownAttribute(interpreter, value, key.view()))
    return *own;
  return missing(heap, value, key.view());
}

namespace {

/// The indices of a slice, as slice.indices() of Python gives them.
struct SliceRange {
  int64_t start, stop, step;

  size_t count() const {
    if (step > 0)
      return start < stop ? size_t((stop - start - 1) / step + 1) : 0;
    return stop < start ? size_t((start - stop - 1) / -step + 1) : 0;
  }
};

int64_t sliceIndex(const Value &value) {
  if (value.isUndefined() || !value.isInteger())
    fail("slice indices must be integers or None, not " + std::string(typeName(value)));
  return value.integer();
}

SliceRange sliceRange(int64_t length, const Value &start, const Value &stop, const Value &step) {
  // Beyond this no step reaches a second element.
  constexpr int64_t farthest = int64_t(1) << 40;
  SliceRange range{0, 0, step.isNone() ? 1 : std::clamp(sliceIndex(step), -farthest, farthest)};
  if (range.step == 0)
    fail("slice step cannot be zero");
  const int64_t lowest = range.step < 0 ? -1 : 0;
  const int64_t highest = range.step < 0 ? length - 1 : length;
  auto bound = [&](const Value &index, int64_t otherwise) {
    if (index.isNone())
      return otherwise;
    int64_t place = sliceIndex(index);
    if (place < 0)
      place = std::max(place + length, lowest);
    return std::min(place, highest);
  };
  range.start = bound(start, range.step < 0 ? highest : lowest);
  range.stop = bound(stop, range.step < 0 ? lowest : highest);
  return range;
}

Value sliceOfString(Heap &heap, const String &string, const SliceRange &range) {
  const std::string_view bytes = string.text.view();
  heap.step(range.count() / 16);
  if (range.step == 1) {
    const size_t first = size_t(range.start), count = range.count();
    const size_t begin =
        string.isAscii() ? std::min(first, bytes.size()) : byteOffset(bytes, first);
    const size_t end = begin + byteOffset(bytes.substr(begin), count);
    return makeString(heap, string.text.slice(begin, end), string.isMarkup);
  }
  heap.charge(string.characters * sizeof(uint32_t));
  std::vector<uint32_t> begins;
  begins.reserve(string.characters);
  for (size_t at = 0; at < bytes.size(); at += characterLength(bytes, at))
    begins.push_back(uint32_t(at));
  Text text;
  int64_t index = range.start;
  for (size_t left = range.count(); left > 0; --left, index += range.step) {
    const size_t begin = begins[size_t(index)];
    text.append(string.text, begin, begin + characterLength(bytes, begin));
  }
  return makeString(heap, std::move(text), string.isMarkup);
}

} // namespace

Value sliceOf(Heap &heap, const Value &value, const Value &start, const Value &stop,
              const Value &step) {
  if (value.isUndefined())
    value.undefined().fail();
  if (!value.isString() && (!value.isSequence() || value.is(Kind::View)))
    fail("'" + std::string(typeName(value)) + "' object cannot be sliced");
  const SliceRange range = sliceRange(int64_t(*lengthOf(value)), start, stop, step);
  if (value.isString())
    return sliceOfString(heap, value.string(), range);
  std::vector<Value> items;
  int64_t index = range.start;
  for (size_t left = range.count(); left > 0; --left, index += range.step)
    items.push_back(value.items()[size_t(index)]);
  if (!value.is(Kind::Range))
    return value.is(Kind::List) ? makeList(heap, std::move(items))
                                : makeTuple(heap, std::move(items));
  heap.charge(items.size() * sizeof(Value));
  auto *part = heap.make<Sequence>(std::move(items));
  const Sequence &whole = value.sequence();
  // Bounds beyond the last item may leave 64 bits; they only show in what is printed.
  auto place = [&](int64_t index) {
    return int64_t(uint64_t(whole.start) + uint64_t(index) * uint64_t(whole.increment));
  };
  part->start = place(range.start);
  part->stop = place(range.stop);
  part->increment = int64_t(uint64_t(whole.increment) * uint64_t(range.step));
  return Value(Kind::Range, part);
}

} // namespace ingot::runtime::jinja
