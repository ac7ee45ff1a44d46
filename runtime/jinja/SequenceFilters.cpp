// SPDX-License-Identifier: Apache-2.0
// Filters of sequences as a whole: join, sort, batch, ...
#include "runtime/jinja/AttributePath.h"
#include "runtime/jinja/Comparison.h"
#include "runtime/jinja/Filters.h"
#include "runtime/jinja/Interpreter.h"
#include "runtime/jinja/MergeSort.h"
#include "runtime/jinja/Operators.h"
#include "runtime/jinja/Representation.h"
#include "runtime/jinja/SoftText.h"

#include <algorithm>

namespace ingot::runtime::jinja {

namespace {

Value join(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  Heap &heap = interpreter.heap;
  const Bound bound("join", arguments, {"d", "attribute"});
  std::vector<Value> items = iterate(heap, value);
  if (bound.has(1) && !bound[1].isNone()) {
    const AttributePath path(interpreter, bound[1]);
    for (Value &item : items)
      item = path.of(item);
  }
  const Value separator = bound.has(0) ? bound[0] : makeString(heap, "");
  bool isMarkup = interpreter.autoescape && separator.isString() && separator.string().isMarkup;
  if (interpreter.autoescape)
    for (const Value &item : items)
      isMarkup |= item.isString() && item.string().isMarkup;
  const Text between = isMarkup ? htmlOf(heap, separator) : textOf(heap, separator);
  Text out;
  for (size_t i = 0; i < items.size(); ++i) {
    heap.step();
    heap.charge(between.size());
    if (i > 0)
      out.append(between);
    if (isMarkup)
      out.append(htmlOf(heap, items[i]));
    else
      appendStr(heap, out, items[i]);
  }
  return makeString(heap, std::move(out), isMarkup);
}

Value first(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  const Bound none("first", arguments, {});
  if (value.is(Kind::Generator)) {
    if (const std::optional<Value> item = value.generator().next())
      return *item;
  } else if (const std::vector<Value> items = iterate(interpreter.heap, value); !items.empty()) {
    return items.front();
  }
  return makeUndefined(interpreter.heap, "No first item, sequence was empty.");
}

/// The items of what has an order that can be reversed.
std::vector<Value> reversible(Interpreter &interpreter, const Value &value) {
  if (value.isUndefined()) // has a length, and elements, which fail only where they are asked for
    return {};
  if (!value.isString() && !value.isSequence() && !value.isDict())
    fail("'" + std::string(typeName(value)) + "' object is not reversible");
  return iterate(interpreter.heap, value);
}

Value last(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  const Bound none("last", arguments, {});
  const std::vector<Value> items = reversible(interpreter, value);
  return items.empty() ? makeUndefined(interpreter.heap, "No last item, sequence was empty.")
                       : items.back();
}

/// Jinja draws one; a prompt is the same for equal input, so it is the middle one here.
Value random(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  const Bound none("random", arguments, {});
  if (!value.isString() && !value.isSequence() && !value.isUndefined())
    fail("'" + std::string(typeName(value)) + "' object has no elements by number");
  const std::vector<Value> items = iterate(interpreter.heap, value);
  return items.empty() ? makeUndefined(interpreter.heap, "No random item, sequence was empty.")
                       : items[items.size() / 2];
}

Value reverse(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  const Bound none("reverse", arguments, {});
  Heap &heap = interpreter.heap;
  std::vector<Value> items = iterate(heap, value);
  std::reverse(items.begin(), items.end());
  if (value.isString()) {
    Text text;
    for (const Value &character : items)
      text.append(character.string().text);
    return makeString(heap, std::move(text), value.string().isMarkup);
  }
  heap.charge(items.size() * sizeof(Value));
  return makeGenerator(heap, [items] { return items; });
}

Value list(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  const Bound none("list", arguments, {});
  return makeList(interpreter.heap, iterate(interpreter.heap, value));
}

Value items(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  const Bound none("items", arguments, {});
  return makeGenerator(interpreter.heap, [&interpreter, value] {
    std::vector<Value> pairs;
    if (value.isUndefined())
      return pairs;
    if (!value.isDict())
      fail("Can only get item pairs from a mapping.");
    for (const auto &[key, held] : value.dict().entries)
      pairs.push_back(makeTuple(interpreter.heap, {key, held}));
    return pairs;
  });
}

/// Items with what they are ordered by, sorted and stable.
void sortByKeys(Heap &heap, std::vector<std::pair<Value, Value>> &keyed, bool isReversed) {
  // A reversed sort keeps the order of equal items too.
  if (isReversed)
    std::reverse(keyed.begin(), keyed.end());
  mergeSort(keyed, [&](const auto &left, const auto &right) {
    return less(heap, left.first, right.first);
  });
  if (isReversed)
    std::reverse(keyed.begin(), keyed.end());
}

/// The items alone, as a list.
Value itemsOf(Heap &heap, const std::vector<std::pair<Value, Value>> &keyed) {
  std::vector<Value> items;
  for (const auto &entry : keyed)
    items.push_back(entry.second);
  return makeList(heap, std::move(items));
}

Value dictSort(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  Heap &heap = interpreter.heap;
  const Bound bound("dictsort", arguments, {"case_sensitive", "by", "reverse"});
  const std::string_view by = bound.has(1) ? bound.string(1).text.view() : "key";
  if (by != "key" && by != "value")
    fail("You can only sort by either \"key\" or \"value\"");
  if (value.isUndefined())
    value.undefined().fail();
  if (!value.isDict())
    fail("dictsort needs a dict, not " + std::string(typeName(value)));
  std::vector<std::pair<Value, Value>> keyed;
  for (const auto &[key, held] : value.dict().entries) {
    const Value &order = by == "key" ? key : held;
    keyed.emplace_back(bound.truth(0, false) ? order : ignoringCase(interpreter, order),
                       makeTuple(heap, {key, held}));
  }
  sortByKeys(heap, keyed, bound.truth(2, false));
  return itemsOf(heap, keyed);
}

Value sort(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  Heap &heap = interpreter.heap;
  const Bound bound("sort", arguments, {"reverse", "case_sensitive", "attribute"});
  const std::vector<AttributePath> paths = AttributePath::several(interpreter, bound[2]);
  const bool isSensitive = bound.truth(1, false);
  std::vector<std::pair<Value, Value>> keyed;
  for (const Value &item : iterate(heap, value)) {
    std::vector<Value> keys;
    for (const AttributePath &path : paths) {
      const Value key = path.of(item);
      keys.push_back(isSensitive ? key : ignoringCase(interpreter, key));
    }
    keyed.emplace_back(makeList(heap, std::move(keys)), item);
  }
  sortByKeys(heap, keyed, bound.truth(0, false));
  return itemsOf(heap, keyed);
}

Value groupBy(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  Heap &heap = interpreter.heap;
  const Bound bound("groupby", arguments, {"attribute", "default", "case_sensitive"}, 1);
  const AttributePath path(interpreter, bound[0], bound[1]);
  const bool isSensitive = bound.truth(2, false);
  std::vector<std::pair<Value, Value>> keyed;
  for (const Value &item : iterate(heap, value)) {
    const Value key = path.of(item);
    keyed.emplace_back(isSensitive ? key : ignoringCase(interpreter, key), item);
  }
  sortByKeys(heap, keyed, false);
  std::vector<Value> groups;
  for (size_t begin = 0, end = 0; begin < keyed.size(); begin = end) {
    std::vector<Value> members;
    for (end = begin; end < keyed.size() && equal(heap, keyed[begin].first, keyed[end].first);
         ++end)
      members.push_back(keyed[end].second);
    if (members.empty()) // a key that does not equal itself, as a NaN
      members.push_back(keyed[end++].second);
    const Value key = path.of(members[0]);
    auto *group = heap.make<Sequence>(
        std::vector<Value>{isSensitive ? keyed[begin].first : key, makeList(heap, members)});
    group->isGroup = true;
    groups.emplace_back(Kind::Tuple, group);
  }
  return makeList(heap, std::move(groups));
}

Value slice(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  const Bound bound("slice", arguments, {"slices", "fill_with"}, 1);
  const Value count = bound[0], fill = bound[1];
  return makeGenerator(interpreter.heap, [&interpreter, value, count, fill] {
    Heap &heap = interpreter.heap;
    const std::vector<Value> all = iterate(heap, value);
    if (!count.isInteger())
      fail("slice needs the number of slices, an integer");
    if (count.integer() == 0)
      fail("division by zero");
    std::vector<Value> slices;
    const int64_t parts = std::max<int64_t>(count.integer(), 0);
    const size_t least = parts ? all.size() / size_t(parts) : 0;
    const size_t longer = parts ? all.size() % size_t(parts) : 0;
    size_t begin = 0;
    for (size_t i = 0; i < size_t(parts); ++i) {
      const size_t end = begin + least + (i < longer);
      std::vector<Value> part(all.begin() + ptrdiff_t(begin), all.begin() + ptrdiff_t(end));
      if (!fill.isNone() && i >= longer)
        part.push_back(fill);
      heap.step();
      slices.push_back(makeList(heap, std::move(part)));
      begin = end;
    }
    return slices;
  });
}

Value batch(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  const Bound bound("batch", arguments, {"linecount", "fill_with"}, 1);
  const Value count = bound[0], fill = bound[1];
  return makeGenerator(interpreter.heap, [&interpreter, value, count, fill] {
    Heap &heap = interpreter.heap;
    std::vector<Value> batches, batch;
    // Any number is compared with the count, and nothing else can be filled up to it.
    const double size = count.isNumber() ? count.number() : -1;
    for (const Value &item : iterate(heap, value)) {
      if (double(batch.size()) == size) {
        batches.push_back(makeList(heap, std::move(batch)));
        batch.clear();
      }
      batch.push_back(item);
    }
    if (batch.empty())
      return batches;
    if (!fill.isNone()) {
      if (!count.isInteger())
        fail("batch needs an integer to fill up to");
      while (int64_t(batch.size()) < count.integer()) {
        heap.charge(sizeof(Value));
        batch.push_back(fill);
      }
    }
    batches.push_back(makeList(heap, std::move(batch)));
    return batches;
  });
}

Value sum(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  const Bound bound("sum", arguments, {"attribute", "start"});
  std::vector<Value> all = iterate(interpreter.heap, value);
  Value total = bound.has(1) ? bound[1] : Value(int64_t(0));
  if (total.isString())
    fail("sum() can't sum strings [use ''.join(seq) instead]");
  const AttributePath path(interpreter, bound[0]);
  for (const Value &item : all)
    total = applyBinary(interpreter, "+", total, path.of(item));
  return total;
}

template <bool isMax>
Value extreme(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  Heap &heap = interpreter.heap;
  const Bound bound(isMax ? "max" : "min", arguments, {"case_sensitive", "attribute"});
  const std::vector<Value> all = iterate(heap, value);
  if (all.empty())
    return makeUndefined(heap, "No aggregated item, sequence was empty.");
  const AttributePath path(interpreter, bound[1]);
  auto keyOf = [&](const Value &item) {
    const Value key = path.of(item);
    return bound.truth(0, false) ? key : ignoringCase(interpreter, key);
  };
  Value best = all[0], bestKey = keyOf(all[0]);
  for (size_t i = 1; i < all.size(); ++i) {
    const Value key = keyOf(all[i]);
    if (isMax ? ordered(heap, ">", key, bestKey) : ordered(heap, "<", key, bestKey)) {
      best = all[i];
      bestKey = key;
    }
  }
  return best;
}

} // namespace

std::span<const Filter> sequenceFilters() {
  static constexpr Filter all[] = {
      {"batch", batch},       {"dictsort", dictSort},  {"first", first},   {"groupby", groupBy},
      {"items", items},       {"join", join},          {"last", last},     {"list", list},
      {"max", extreme<true>}, {"min", extreme<false>}, {"random", random}, {"reverse", reverse},
      {"slice", slice},       {"sort", sort},          {"sum", sum},
  };
  return all;
}

} // namespace ingot::runtime::jinja
