// SPDX-License-Identifier: Apache-2.0
// Value: what a template computes with, as Python has it.
#pragma once

#include "runtime/jinja/Heap.h"
#include "runtime/jinja/Text.h"

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ingot::runtime::jinja {

enum class Kind : uint8_t {
  Undefined,
  None,
  Bool,
  Int, // 64 bits: an operation whose result has more is an error
  Float,
  String,
  List,
  Tuple,
  View, // keys(), values() and items() of a dict
  Range,
  Dict,
  Generator,
  Object, // namespaces, macros, functions, loops, ...
};

struct Undefined;
struct String;
struct Sequence;
struct Dict;
struct Generator;
struct Object;

/// Sixteen bytes; what they point to belongs to a Heap. Copies share it. Nothing but namespaces,
/// generators and the state of loops and cyclers ever changes.
class Value {
public:
  Value() : kind_(Kind::None), integer_(0) {}
  /// Of a bool alone: pointers would become one.
  template <std::same_as<bool> T> explicit Value(T value) : kind_(Kind::Bool), integer_(value) {}
  explicit Value(int64_t value) : kind_(Kind::Int), integer_(value) {}
  explicit Value(double value) : kind_(Kind::Float), number_(value) {}
  explicit Value(const Undefined *value);
  explicit Value(const String *value);
  Value(Kind kind, const Sequence *value);
  explicit Value(const Dict *value);
  explicit Value(Generator *value);
  explicit Value(Object *value);

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool isUndefined() const { return kind_ == Kind::Undefined; }
  bool isNone() const { return kind_ == Kind::None; }
  bool isString() const { return kind_ == Kind::String; }
  bool isDict() const { return kind_ == Kind::Dict; }
  /// Bool counts: it is an int in Python.
  bool isInteger() const { return kind_ == Kind::Bool || kind_ == Kind::Int; }
  bool isNumber() const { return isInteger() || kind_ == Kind::Float; }
  bool isSequence() const { return kind_ >= Kind::List && kind_ <= Kind::Range; }
  bool isBool(bool value) const { return kind_ == Kind::Bool && integer_ == int64_t(value); }

  // Each only where the kind fits.
  int64_t integer() const { return integer_; }
  double number() const { return kind_ == Kind::Float ? number_ : double(integer_); }
  const Undefined &undefined() const;
  const String &string() const;
  std::string_view view() const;
  const Sequence &sequence() const;
  const std::vector<Value> &items() const;
  const Dict &dict() const;
  Generator &generator() const;
  Object &object() const;

  /// Whether both are the same object, as Python's `is` tells.
  bool same(const Value &other) const { return kind_ == other.kind_ && integer_ == other.integer_; }

private:
  Kind kind_;
  union {
    int64_t integer_;
    double number_;
    const HeapObject *object_;
  };
};

/// What stands for a name, an attribute or an element that does not exist; any use of it but
/// printing, iterating and asking whether it is there fails with `message`.
struct Undefined : HeapObject {
  explicit Undefined(std::string message, std::string_view code = undefinedCode)
      : message(std::move(message)), code(code) {}
  std::string message;
  std::string_view code;

  [[noreturn]] void fail() const {
    throw Failure{code, message, "give it a value, or ask whether it `is defined`"};
  }
};

struct String : HeapObject {
  explicit String(Text text, bool isMarkup = false);
  Text text;
  bool isMarkup;     ///< HTML that is not escaped again
  size_t characters; ///< code points

  bool isAscii() const { return characters == text.size(); }
};

/// List, Tuple, View and Range.
struct Sequence : HeapObject {
  explicit Sequence(std::vector<Value> items, bool isInput = false)
      : items(std::move(items)), isInput(isInput) {}
  std::vector<Value> items;
  bool isInput;                ///< all of it is a stranger's: also what is printed around items
  std::string_view viewName{}; ///< View: "dict_keys", ...
  bool isGroup = false;        ///< Tuple: has the attributes `grouper` and `list`
  int64_t start = 0, stop = 0, increment = 1; ///< Range
};

/// In the order of insertion. Keys are hashable values.
struct Dict : HeapObject {
  std::vector<std::pair<Value, Value>> entries;
  bool isInput = false;

  const Value *find(Heap &heap, const Value &key) const;
  const Value *find(std::string_view key) const;
  /// Adds the key or replaces its value. Charges the heap.
  void set(Heap &heap, const Value &key, const Value &value);

private:
  std::unordered_multimap<size_t, size_t> index; // hash to entry, once there are many
};

/// A sequence whose items are made when they are first asked for, and given out once.
struct Generator : HeapObject {
  using Produce = std::function<std::vector<Value>()>;
  explicit Generator(Produce produce) : produce(std::move(produce)) {}

  /// What nobody has taken yet; it counts as taken.
  std::vector<Value> take();
  /// The next item, if there is one.
  std::optional<Value> next();

private:
  void start();
  Produce produce;
  std::vector<Value> items;
  size_t position = 0;
};

struct Arguments;
class Interpreter;

/// A value with a behaviour of its own.
struct Object : HeapObject {
  virtual std::string_view typeName() const = 0;
  virtual bool isCallable() const { return false; }
  virtual Value call(Interpreter &, const Arguments &);
  /// The attribute, if it exists.
  virtual std::optional<Value> attribute(Interpreter &, std::string_view) { return std::nullopt; }
  /// What str() and repr() give.
  virtual std::string represent() const;
};

inline Value::Value(const Undefined *value) : kind_(Kind::Undefined), object_(value) {}
inline Value::Value(const String *value) : kind_(Kind::String), object_(value) {}
inline Value::Value(Kind kind, const Sequence *value) : kind_(kind), object_(value) {}
inline Value::Value(const Dict *value) : kind_(Kind::Dict), object_(value) {}
inline Value::Value(Generator *value) : kind_(Kind::Generator), object_(value) {}
inline Value::Value(Object *value) : kind_(Kind::Object), object_(value) {}

/// "str", "NoneType", ...: type(value).__name__ of Python.
std::string_view typeName(const Value &value);

Value makeString(Heap &heap, Text text, bool isMarkup = false);
Value makeString(Heap &heap, std::string_view bytes);
Value makeList(Heap &heap, std::vector<Value> items);
Value makeTuple(Heap &heap, std::vector<Value> items);
Value makeGenerator(Heap &heap, Generator::Produce produce);
Value makeUndefined(Heap &heap, std::string message, std::string_view code = undefinedCode);

/// The items of anything that can be iterated; a failure otherwise. Takes those of a generator.
std::vector<Value> iterate(Heap &heap, const Value &value);
bool isIterable(const Value &value);

/// len() of Python, if the value has one.
std::optional<size_t> lengthOf(const Value &value);

} // namespace ingot::runtime::jinja
