// SPDX-License-Identifier: Apache-2.0
// Widths first, then rows; numbers and text made safe and readable.
#include "runtime/tools/Table.h"

#include <algorithm>

namespace ingot::runtime {
namespace {

bool isContinuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

/// Characters of UTF-8 text.
size_t width(const std::string &text) {
  return size_t(std::count_if(text.begin(), text.end(), [](char c) { return !isContinuation(c); }));
}

} // namespace

Table::Table(std::vector<std::string> given) : titles(std::move(given)) {
  for (std::string &title : titles) {
    right.push_back(!title.empty() && title[0] == '>');
    if (right.back())
      title.erase(0, 1);
  }
}

void Table::add(std::vector<std::string> row) {
  row.resize(titles.size());
  for (std::string &cell : row)
    cell = printable(cell);
  cells.push_back(std::move(row));
}

void Table::addTotal(std::vector<std::string> row) {
  firstTotal = std::min(firstTotal, cells.size());
  add(std::move(row));
}

void Table::printRow(FILE *stream, const std::vector<std::string> &row,
                     const std::vector<size_t> &widths) const {
  std::string line;
  for (size_t column = 0; column < row.size(); ++column) {
    std::string padding(widths[column] - width(row[column]), ' ');
    line += "  " + (right[column] ? padding + row[column] : row[column] + padding);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  std::fprintf(stream, "%s\n", line.c_str());
}

void Table::print(FILE *stream) const {
  std::vector<size_t> widths;
  std::vector<std::string> rule;
  for (size_t column = 0; column < titles.size(); ++column) {
    widths.push_back(width(titles[column]));
    for (const std::vector<std::string> &row : cells)
      widths.back() = std::max(widths.back(), width(row[column]));
    rule.push_back(std::string(widths.back(), '-'));
  }
  printRow(stream, titles, widths);
  printRow(stream, rule, widths);
  for (size_t row = 0; row < cells.size(); ++row) {
    if (row == firstTotal && row > 0)
      printRow(stream, rule, widths);
    printRow(stream, cells[row], widths);
  }
}

std::string grouped(uint64_t value) {
  std::string digits = std::to_string(value);
  for (size_t place = digits.size(); place > 3;)
    digits.insert(place -= 3, ",");
  return digits;
}

std::string counted(uint64_t number, const char *noun) {
  std::string text = grouped(number) + " " + noun;
  if (number == 1)
    return text;
  return text.back() == 'y' ? text.substr(0, text.size() - 1) + "ies" : text + "s";
}

std::string perPosition(uint64_t blockBytes, int64_t positions) {
  uint64_t divisor = uint64_t(positions);
  return blockBytes % divisor ? fixedPoint(double(blockBytes) / double(divisor), 1)
                              : grouped(blockBytes / divisor);
}

std::string inBytes(uint64_t bytes) {
  const std::string text = counted(bytes, "byte");
  return bytes < 1024 ? text : text + " (" + roundly(bytes) + ")";
}

std::string roundly(uint64_t bytes) {
  static constexpr const char *units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024)
    return counted(bytes, "byte");
  double value = double(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1024; value /= 1024)
    ++unit;
  return fixedPoint(value, 1) + " " + units[unit];
}

std::string fixedPoint(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string printable(std::string_view text) {
  std::string safe(text);
  for (char &c : safe)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
      c = '?';
  return safe;
}

std::string shortened(std::string text, size_t limit) {
  if (text.size() <= limit)
    return text;
  while (limit > 0 && isContinuation(text[limit]))
    --limit;
  return text.substr(0, limit) + "...";
}

} // namespace ingot::runtime
