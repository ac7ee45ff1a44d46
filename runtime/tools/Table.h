// SPDX-License-Identifier: Apache-2.0
// Aligned columns of text, and how the commands write numbers and strangers' strings.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime {

/// Rows under titles. Columns are as wide as their widest cell; numbers belong to the right.
class Table {
public:
  /// A title that begins with '>' makes a right-aligned column.
  explicit Table(std::vector<std::string> titles);

  /// One cell per column; control characters become '?'.
  void add(std::vector<std::string> cells);
  /// The same, set off by a rule above it.
  void addTotal(std::vector<std::string> cells);
  size_t rows() const { return cells.size(); }

  void print(FILE *stream) const;

private:
  void printRow(FILE *stream, const std::vector<std::string> &row,
                const std::vector<size_t> &widths) const;

  std::vector<std::string> titles;
  std::vector<bool> right;
  std::vector<std::vector<std::string>> cells;
  size_t firstTotal = SIZE_MAX;
};

/// "1,234,567"
std::string grouped(uint64_t value);
/// "1 weight", "2,000 weights"
std::string counted(uint64_t number, const char *noun);
/// Bytes per position of a block of `positions`: "5,120", or with one digit where it is no integer.
std::string perPosition(uint64_t blockBytes, int64_t positions);
/// "1,234,567 bytes (1.2 MiB)"; from 1024 bytes on with the rounded unit.
std::string inBytes(uint64_t bytes);
/// "1.2 MiB"
std::string roundly(uint64_t bytes);
/// `digits` digits after the point.
std::string fixedPoint(double value, int digits);
/// The text without control characters: what a file says cannot steer a terminal.
std::string printable(std::string_view text);
/// The first `limit` bytes, ended by "..." when there were more; never cuts a UTF-8 character.
std::string shortened(std::string text, size_t limit);

} // namespace ingot::runtime
