// SPDX-License-Identifier: Apache-2.0
// A row's bits never depend on its batch: equal requests have equal texts under any load.
#include "runtime/tools/load/EarlierTexts.h"

#include "runtime/tools/SessionArguments.h"
#include "runtime/tools/Table.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace ingot::runtime {
namespace {

constexpr uint64_t largestFile = uint64_t(1) << 30;

using nlohmann::json;

/// How many bytes at their beginnings are equal.
size_t sameBytes(const std::string &a, const std::string &b) {
  size_t most = std::min(a.size(), b.size());
  return size_t(std::mismatch(a.begin(), a.begin() + ptrdiff_t(most), b.begin()).first - a.begin());
}

/// A few characters from a place on, as a message shows them.
std::string excerpt(const std::string &text, size_t place) {
  return "'" + shortened(printable(text.substr(place, 80)), 40) + "'";
}

} // namespace

Result<EarlierTexts> EarlierTexts::parse(const std::string &text, const std::string &name) {
  auto refuse = [&] {
    return Status::error("INGOT-E7247", name + ": it is no result of a load",
                         "give a file that --json wrote");
  };
  json value = json::parse(text, nullptr, false);
  if (!value.is_object() || !value.contains("records") || !value["records"].is_array())
    return refuse();
  EarlierTexts earlier;
  earlier.name = name;
  for (const json &record : value["records"]) {
    if (!record.is_object() || !record.contains("number") ||
        !record["number"].is_number_unsigned() || !record.contains("text") ||
        !record["text"].is_string())
      return refuse();
    if (record.contains("failure"))
      continue;
    earlier.entries[record["number"].get<int64_t>()] = {record["text"].get<std::string>(),
                                                        record.contains("cancelled")};
  }
  return earlier;
}

Result<EarlierTexts> EarlierTexts::read(const std::string &path) {
  Result<std::string> text = readTextFile(path, largestFile);
  if (!text.ok())
    return std::move(text).status();
  return parse(*text, path);
}

Status EarlierTexts::compare(std::span<const LoadRecord> records) const {
  size_t compared = 0;
  for (const LoadRecord &record : records) {
    auto found = entries.find(record.number);
    if (found == entries.end() || !record.failure.kind.empty())
      continue;
    ++compared;
    const Entry &earlier = found->second;
    size_t same = sameBytes(record.text, earlier.text);
    bool isCut = record.cancelled || earlier.cancelled;
    size_t wanted = isCut ? std::min(record.text.size(), earlier.text.size())
                          : std::max(record.text.size(), earlier.text.size());
    if (same < wanted)
      return Status::error("INGOT-E7248",
                           "the answer to request " + std::to_string(record.number) +
                               " differs from byte " + std::to_string(same) +
                               " on: " + excerpt(record.text, same) + ", in " + name + " " +
                               excerpt(earlier.text, same),
                           "compare loads of equal options, seeds and engines");
  }
  if (compared == 0)
    return Status::error("INGOT-E7248", name + ": no request of it was answered here, too",
                         "compare loads of equal options");
  return {};
}

} // namespace ingot::runtime
