// SPDX-License-Identifier: Apache-2.0
// Bounded JSON parsing over nlohmann-json's event interface.
#include "compiler/checkpoint/files/Json.h"

#include "compiler/checkpoint/files/File.h"
#include "compiler/checkpoint/files/JsonPlace.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

namespace ingot::checkpoint {

struct Json::Document {
  nlohmann::json root;
  std::string fileName;
  std::string text; ///< empty when another reader made the value
  uint64_t firstByte = 0;
};

namespace {

/// The numbers that Python's json has beside those of JSON.
constexpr std::pair<std::string_view, double> notFinite[] = {
    {"NaN", std::numeric_limits<double>::quiet_NaN()},
    {"Infinity", std::numeric_limits<double>::infinity()},
    {"-Infinity", -std::numeric_limits<double>::infinity()}};

/// Where the parser is in the text. It knows no number that is not finite: it is shown a null in
/// its place, and whoever takes that asks which number it was.
class Reading {
public:
  Reading(std::string_view text, bool takesNotFinite) : text(text), takes(takesNotFinite) {
    lookForNumber();
  }

  const char &current() const { return shown.empty() ? text[at] : shown.front(); }

  void next() {
    if (shown.empty()) {
      followString();
      ++at;
    } else {
      shown.remove_prefix(1);
    }
    furthest = at;
    if (shown.empty())
      lookForNumber();
  }

  bool atEnd() const { return shown.empty() && at == text.size(); }
  size_t position() const { return furthest; }

  /// The number behind the null that was read last, once.
  std::optional<double> takeNumber() { return std::exchange(number, std::nullopt); }

private:
  void followString() {
    const char c = text[at];
    if (!inString)
      inString = c == '"';
    else if (isEscaped)
      isEscaped = false;
    else if (c == '\\')
      isEscaped = true;
    else
      inString = c != '"';
  }

  void lookForNumber() {
    if (!takes || inString || number)
      return;
    for (const auto &[name, value] : notFinite)
      if (text.substr(at).starts_with(name)) {
        number = value;
        shown = "null";
        at += name.size();
        return;
      }
  }

  std::string_view text, shown;
  bool takes, inString = false, isEscaped = false;
  size_t at = 0, furthest = 0;
  std::optional<double> number;
};

/// Reads the text for the parser.
class PositionIterator {
public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char *;
  using reference = const char &;

  /// Null: the end.
  explicit PositionIterator(Reading *reading) : reading(reading) {}
  reference operator*() const { return reading->current(); }
  PositionIterator &operator++() {
    reading->next();
    return *this;
  }
  bool operator==(const PositionIterator &other) const { return isEnd() == other.isEnd(); }
  bool operator!=(const PositionIterator &other) const { return !(*this == other); }

private:
  bool isEnd() const { return !reading || reading->atEnd(); }

  Reading *reading;
};

/// Builds the document from parse events; stops at the first thing it does not accept.
class DocumentBuilder : public nlohmann::json_sax<nlohmann::json> {
public:
  DocumentBuilder(nlohmann::json &root, const JsonLimits &limits, Reading &reading)
      : root(root), limits(limits), reading(reading) {}

  std::string code, what; ///< why it stopped

  bool null() override {
    const auto number = reading.takeNumber();
    return number ? place(*number) : place(nullptr);
  }
  bool boolean(bool v) override { return place(v); }
  bool number_integer(number_integer_t v) override { return place(v); }
  bool number_unsigned(number_unsigned_t v) override { return place(v); }
  bool number_float(number_float_t v, const string_t &) override { return place(v); }
  bool string(string_t &v) override { return place(std::move(v)); }
  bool binary(binary_t &) override { return stop("INGOT-E1001", "binary value"); }
  bool start_object(std::size_t) override { return open(nlohmann::json::object()); }
  bool start_array(std::size_t) override { return open(nlohmann::json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t &name) override {
    auto &members = nesting.back()->get_ref<nlohmann::json::object_t &>();
    auto [member, isNew] = members.emplace(std::move(name), nullptr);
    if (!isNew)
      return stop("INGOT-E1003", message("key ", inQuotes(member->first), " appears twice"));
    slot = &member->second;
    return true;
  }

  bool parse_error(std::size_t, const std::string &,
                   const nlohmann::detail::exception &e) override {
    // The library's text is "[id] parse error at line l, column c: reason".
    std::string_view text = e.what();
    size_t column = text.find("column ");
    size_t reason = column == text.npos ? text.npos : text.find(": ", column);
    return stop("INGOT-E1001", "not valid JSON: " +
                                   printable(reason == text.npos ? text : text.substr(reason + 2)));
  }

private:
  bool stop(std::string_view newCode, std::string newWhat) {
    code = newCode;
    what = std::move(newWhat);
    return false;
  }

  /// Puts a value where the next one belongs and leaves `slot` pointing to it.
  template <class Value> bool place(Value &&v) {
    if (++values > limits.maxValues)
      return stop("INGOT-E1002", message("more than ", limits.maxValues, " values"));
    if (nesting.empty()) {
      slot = &root;
    } else if (nesting.back()->is_array()) {
      auto &elements = nesting.back()->get_ref<nlohmann::json::array_t &>();
      slot = &elements.emplace_back();
    }
    *slot = std::forward<Value>(v);
    return true;
  }

  bool open(nlohmann::json container) {
    if (nesting.size() >= limits.maxDepth)
      return stop("INGOT-E1002", message("nested deeper than ", limits.maxDepth, " levels"));
    if (!place(std::move(container)))
      return false;
    nesting.push_back(slot);
    return true;
  }

  bool close() {
    nesting.pop_back();
    return true;
  }

  nlohmann::json &root;
  const JsonLimits &limits;
  Reading &reading;
  std::vector<nlohmann::json *> nesting; ///< the open containers; none moves while it is open
  nlohmann::json *slot = nullptr;
  uint64_t values = 0;
};

std::string_view typeName(const nlohmann::json &value) {
  switch (value.type()) {
  case nlohmann::json::value_t::null:
    return "null";
  case nlohmann::json::value_t::object:
    return "an object";
  case nlohmann::json::value_t::array:
    return "an array";
  case nlohmann::json::value_t::string:
    return "a string";
  case nlohmann::json::value_t::boolean:
    return "a boolean";
  case nlohmann::json::value_t::number_integer:
    return "a negative integer";
  case nlohmann::json::value_t::number_unsigned:
    return "an integer";
  default:
    return "a fractional number";
  }
}

/// "file:line:column, byte n" of a position in a text.
std::string lineAndColumn(std::string_view text, size_t position, const std::string &fileName,
                          uint64_t firstByte) {
  std::string_view before = text.substr(0, std::min(position, text.size()));
  auto line = 1 + std::count(before.begin(), before.end(), '\n');
  size_t lineStart = before.rfind('\n') + 1; // npos + 1 is 0
  return message(printable(fileName), ":", line, ":", before.size() - lineStart, ", byte ",
                 firstByte + before.size());
}

} // namespace

Expected<Json> Json::parse(std::string_view text, std::string fileName, const JsonLimits &limits) {
  if (text.size() > limits.maxBytes)
    return Error{"INGOT-E1002", message("the JSON text has more than ", limits.maxBytes, " bytes"),
                 printable(fileName), "check that this is the file that was meant"};
  auto document = std::make_shared<Document>();
  document->fileName = std::move(fileName);
  Reading reading(text, limits.takesNotFinite);
  DocumentBuilder builder(document->root, limits, reading);
  bool good =
      nlohmann::json::sax_parse(PositionIterator(&reading), PositionIterator(nullptr), &builder);
  if (!good)
    return Error{builder.code, builder.what,
                 lineAndColumn(text, reading.position(), document->fileName, limits.firstByte),
                 builder.code == "INGOT-E1002" ? "no known file of this kind needs that"
                                               : "correct the file, or download it again"};
  document->text = text;
  document->firstByte = limits.firstByte;
  const nlohmann::json *root = &document->root;
  return Json(std::move(document), root, "");
}

Expected<Json> Json::readFile(const std::filesystem::path &path, const JsonLimits &limits) {
  auto text = readText(path, limits.maxBytes);
  if (!text)
    return text.error();
  return parse(*text, path.string(), limits);
}

Json Json::of(nlohmann::json value, std::string fileName) {
  auto document = std::make_shared<Document>();
  document->root = std::move(value);
  document->fileName = std::move(fileName);
  const nlohmann::json *root = &document->root;
  return Json(std::move(document), root, "");
}

Json::Json(std::shared_ptr<const Document> document, const nlohmann::json *value, std::string path)
    : document(std::move(document)), value(value), path(std::move(path)) {}

bool Json::isNull() const { return value->is_null(); }
bool Json::isObject() const { return value->is_object(); }
bool Json::isArray() const { return value->is_array(); }
bool Json::isString() const { return value->is_string(); }
bool Json::isNumber() const { return value->is_number(); }
bool Json::isBoolean() const { return value->is_boolean(); }

size_t Json::size() const { return value->is_structured() ? value->size() : 0; }

std::vector<std::string> Json::keys() const {
  std::vector<std::string> names;
  if (value->is_object())
    for (const auto &member : value->get_ref<const nlohmann::json::object_t &>())
      names.push_back(member.first);
  return names;
}

std::vector<std::string> Json::keysInOrder() const {
  if (!value->is_object() || document->text.empty())
    return keys();
  return keysInText(document->text, path);
}

std::optional<Json> Json::find(std::string_view key) const {
  if (!value->is_object())
    return std::nullopt;
  auto member = value->find(key);
  if (member == value->end())
    return std::nullopt;
  return Json(document, &*member, memberPath(path, key));
}

Expected<Json> Json::at(std::string_view key) const {
  if (!value->is_object())
    return wrongType("an object");
  if (auto member = find(key))
    return *std::move(member);
  return error("INGOT-E1005", message("key ", inQuotes(key), " is missing"), "add the key");
}

Json Json::element(size_t index) const {
  return Json(document, &value->get_ref<const nlohmann::json::array_t &>()[index],
              elementPath(path, index));
}

Expected<bool> Json::boolean() const {
  if (!value->is_boolean())
    return wrongType("a boolean");
  return value->get<bool>();
}

Expected<std::string> Json::string() const {
  if (!value->is_string())
    return wrongType("a string");
  return value->get_ref<const std::string &>();
}

Expected<uint64_t> Json::unsignedInteger(uint64_t least, uint64_t most) const {
  if (!value->is_number_integer())
    return wrongType("an integer");
  bool negative = !value->is_number_unsigned() && value->get<int64_t>() < 0;
  uint64_t found = negative ? 0 : value->get<uint64_t>();
  if (negative || found < least || found > most)
    return error("INGOT-E1006",
                 message("the value ", negative ? message(value->get<int64_t>()) : message(found),
                         " is not in the range ", least, " to ", most),
                 "correct the value");
  return found;
}

/// transformers 5 writes numbers that are not finite as {"__float__": "Infinity"}.
static std::optional<double> writtenOut(const nlohmann::json &value) {
  if (!value.is_object() || value.size() != 1 || !value.contains("__float__"))
    return std::nullopt;
  for (const auto &[name, number] : notFinite)
    if (value["__float__"] == name)
      return number;
  return std::nullopt;
}

Expected<double> Json::number(double least, double most) const {
  const std::optional<double> named = writtenOut(*value);
  if (!named && !value->is_number())
    return wrongType("a number");
  double found = named ? *named : value->get<double>();
  if (!(found >= least && found <= most))
    return error("INGOT-E1006",
                 message("the value ", found, " is not in the range ", least, " to ", most),
                 "correct the value");
  return found;
}

std::string Json::where() const {
  std::string file = printable(document->fileName);
  return path.empty() ? file : file + ": " + path;
}

Error Json::error(std::string code, std::string what, std::string fix) const {
  std::string place = where();
  if (!document->text.empty())
    if (const auto byte = byteOfValue(document->text, path))
      place += message(", byte ", document->firstByte + *byte);
  return Error{std::move(code), std::move(what), std::move(place), std::move(fix)};
}

Error Json::wrongType(std::string_view expected) const {
  return error("INGOT-E1004", message("expected ", expected, ", found ", typeName(*value)),
               "correct the value");
}

} // namespace ingot::checkpoint
