// SPDX-License-Identifier: Apache-2.0
// JSON of strangers: bounded in depth, and never converted from one kind to another.
#include "runtime/server/JsonBody.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace ingot::runtime {

/// What is nested is freed by recursion.
constexpr int deepest = 64;
/// Names are looked up one after the other in their object; tools have thousands in small ones, and
/// a schema may have one that is large.
constexpr int mostNames = 5000, mostInAll = 65536;
constexpr int64_t mostLookups = 1 << 25;

OrError<Json> parseBody(std::string_view body) {
  auto refuse = [](std::string what) {
    return ApiError{400, "INGOT-E7201", std::move(what) + "; send one JSON object", {}};
  };
  bool isDeep = false;
  std::array<int, deepest + 2> names = {}; // of the objects that are open, by level
  int most = 0, all = 0;
  int64_t lookups = 0; // what is refused is counted to its end
  auto isLarge = [&] { return most > mostNames || all > mostInAll || lookups > mostLookups; };
  auto bounded = [&](int depth, Json::parse_event_t event, Json &) {
    isDeep |= depth > deepest;
    if (isDeep)
      return false;
    if (event == Json::parse_event_t::object_start)
      names[size_t(depth) + 1] = 0;
    if (event == Json::parse_event_t::key) {
      most = std::max(most, ++names[size_t(depth)]);
      lookups += names[size_t(depth)];
      ++all;
    }
    return !isLarge();
  };
  Json object = Json::parse(body.begin(), body.end(), bounded, false);
  if (isDeep)
    return refuse("the body has more than " + std::to_string(deepest) + " levels");
  if (isLarge())
    return refuse("an object of the body has more than " + std::to_string(mostNames) +
                  " names, all have more than " + std::to_string(mostInAll) +
                  ", or several have thousands");
  if (object.is_discarded())
    return refuse("the body is not JSON");
  if (!object.is_object())
    return refuse("the body is not a JSON object");
  return object;
}

ApiError fieldError(std::string_view field, std::string_view must) {
  return {400, "INGOT-E7203", std::string(field) + " must be " + std::string(must),
          std::string(field)};
}

bool take(const Json &value, bool &out) {
  if (!value.is_boolean())
    return false;
  out = value.get<bool>();
  return true;
}

bool take(const Json &value, std::string &out) {
  if (!value.is_string())
    return false;
  out = value.get_ref<const std::string &>();
  return true;
}

bool take(const Json &value, double &out) {
  if (!value.is_number())
    return false;
  out = value.get<double>();
  return std::isfinite(out);
}

bool take(const Json &value, float &out) {
  double wide = 0;
  if (!take(value, wide) || std::fabs(wide) > double(std::numeric_limits<float>::max()))
    return false;
  out = float(wide);
  return true;
}

bool take(const Json &value, int64_t &out, int64_t least, int64_t most) {
  if (!value.is_number_integer())
    return false;
  if (value.is_number_unsigned() && value.get<uint64_t>() > uint64_t(INT64_MAX))
    return false;
  out = value.get<int64_t>();
  return out >= least && out <= most;
}

bool take(const Json &value, int32_t &out, int64_t least, int64_t most) {
  int64_t wide = 0;
  if (!take(value, wide, std::max<int64_t>(least, INT32_MIN), std::min<int64_t>(most, INT32_MAX)))
    return false;
  out = int32_t(wide);
  return true;
}

template <class T> static bool takeList(const Json &value, std::vector<T> &out) {
  out.clear();
  if (!value.is_array())
    return false;
  for (const Json &entry : value)
    if (!take(entry, out.emplace_back()))
      return false;
  return true;
}

bool take(const Json &value, std::vector<int32_t> &out) { return takeList(value, out); }
bool take(const Json &value, std::vector<std::string> &out) { return takeList(value, out); }

std::string wordOf(const Json &value, const char *name) {
  Json member = value.is_object() ? value.value(name, Json()) : Json();
  return member.is_string() ? member.get<std::string>() : std::string();
}

std::string textOf(const Json &value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

} // namespace ingot::runtime
