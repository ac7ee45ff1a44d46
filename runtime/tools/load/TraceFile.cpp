// SPDX-License-Identifier: Apache-2.0
// One line is one request; every character of it is accounted for.
#include "runtime/tools/load/TraceFile.h"

#include "runtime/tools/SessionArguments.h"
#include "runtime/tools/Table.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>

namespace ingot::runtime {
namespace {

constexpr uint64_t largestFile = uint64_t(256) << 20;
constexpr int64_t mostTokens = int64_t(1) << 24;
constexpr std::string_view header = "TIMESTAMP,ContextTokens,GeneratedTokens";

/// Takes words off the front of a line.
class LineScanner {
public:
  explicit LineScanner(std::string_view line) : rest(line) {}

  bool literal(std::string_view word) {
    if (!rest.starts_with(word))
      return false;
    rest.remove_prefix(word.size());
    return true;
  }
  /// A number of `least` to `most` digits, at most 9 of them.
  std::optional<int64_t> digits(size_t least, size_t most) {
    size_t count = 0;
    int64_t value = 0;
    for (; count < std::min(most, rest.size()) && rest[count] >= '0' && rest[count] <= '9'; ++count)
      value = value * 10 + (rest[count] - '0');
    if (count < least)
      return std::nullopt;
    rest.remove_prefix(count);
    return value;
  }
  bool atEnd() const { return rest.empty(); }
  size_t left() const { return rest.size(); }

private:
  std::string_view rest;
};

/// A moment; the fraction of its second apart, so that differences lose none of it.
struct Moment {
  int64_t seconds; ///< since 1970
  double fraction;
};

/// Reads "2023-11-16 18:17:03.9799600", with or without "+00:00" or "Z".
std::optional<Moment> timestamp(LineScanner &line) {
  std::optional<int64_t> parts[6];
  const char *between[] = {"-", "-", " ", ":", ":", ""};
  for (size_t i = 0; i < std::size(parts); ++i) {
    parts[i] = line.digits(i == 0 ? 4 : 2, i == 0 ? 4 : 2);
    if (!parts[i] || !(line.literal(between[i]) || (i == 2 && line.literal("T"))))
      return std::nullopt;
  }
  std::chrono::year_month_day day{std::chrono::year(int(*parts[0])),
                                  std::chrono::month(unsigned(*parts[1])),
                                  std::chrono::day(unsigned(*parts[2]))};
  if (!day.ok() || *parts[3] > 23 || *parts[4] > 59 || *parts[5] > 60)
    return std::nullopt;
  double fraction = 0;
  if (line.literal(".")) {
    size_t before = line.left();
    std::optional<int64_t> digits = line.digits(1, 9);
    if (!digits)
      return std::nullopt;
    fraction = double(*digits);
    for (size_t place = line.left(); place < before; ++place)
      fraction /= 10;
  }
  if (!line.literal("+00:00"))
    line.literal("Z");
  int64_t days = std::chrono::sys_days(day).time_since_epoch().count();
  return Moment{days * 86400 + *parts[3] * 3600 + *parts[4] * 60 + *parts[5], fraction};
}

/// The row of a line; `first` is the moment of the first one, and becomes it.
std::optional<TraceRow> rowOf(std::string_view text, std::optional<Moment> &first) {
  LineScanner line(text);
  std::optional<Moment> moment = timestamp(line);
  if (!moment || !line.literal(","))
    return std::nullopt;
  std::optional<int64_t> prompt = line.digits(1, 9);
  if (!prompt || !line.literal(","))
    return std::nullopt;
  std::optional<int64_t> output = line.digits(1, 9);
  if (!output || !line.atEnd() || *prompt > mostTokens || *output > mostTokens)
    return std::nullopt;
  if (!first)
    first = moment;
  double seconds = double(moment->seconds - first->seconds) + (moment->fraction - first->fraction);
  return TraceRow{seconds, *prompt, *output};
}

} // namespace

Result<std::vector<TraceRow>> parseTrace(const std::string &text, const std::string &name) {
  auto refuse = [&](size_t number, const std::string &what) {
    return Status::error("INGOT-E7241", name + ":" + std::to_string(number) + ": " + what,
                         "a trace has the line '" + std::string(header) +
                             "' and lines like '2023-11-16 18:17:03.9799600,4808,10'");
  };
  std::vector<TraceRow> rows;
  std::string_view rest = text;
  std::optional<Moment> first;
  for (size_t number = 1; !rest.empty(); ++number) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    if (number == 1) {
      if (line.starts_with("\xEF\xBB\xBF"))
        line.remove_prefix(3);
      if (line != header)
        return refuse(number, "'" + shortened(printable(line), 80) + "' is another header");
      continue;
    }
    std::optional<TraceRow> row = rowOf(line, first);
    if (!row)
      return refuse(number, "'" + shortened(printable(line), 80) + "' is no request");
    if (row->seconds < (rows.empty() ? 0 : rows.back().seconds))
      return refuse(number, "it came before the request of the line above");
    rows.push_back(*row);
  }
  if (rows.empty())
    return refuse(1, "there are no requests");
  return rows;
}

Result<std::vector<TraceRow>> readTrace(const std::string &path) {
  Result<std::string> text = readTextFile(path, largestFile);
  if (!text.ok())
    return std::move(text).status();
  return parseTrace(*text, path);
}

} // namespace ingot::runtime
