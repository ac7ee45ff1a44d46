// SPDX-License-Identifier: Apache-2.0
// A digit belongs to one axis, so an element's place is a sum of what its row and what its column
// add: the packer copies runs of columns between two tables of such sums.
#include "compiler/weights/Packing.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

namespace ingot::compiler {

//===- PackedLayout -------------------------------------------------------------------------===//

PackedLayout::PackedLayout(llvm::ArrayRef<Digit> given, int64_t rows, int64_t columns, int64_t bits)
    : weightRows(rows), weightColumns(columns), bits(bits) {
  for (Digit digit : given) {
    allPlaces *= digit.radix;
    if (digit.radix == 1)
      continue;
    if (!digits.empty() && digits.back().axis == digit.axis &&
        digits.back().stride == digit.stride * digit.radix)
      digits.back() = {digit.axis, digit.stride, digits.back().radix * digit.radix};
    else
      digits.push_back(digit);
  }
  if (digits.empty())
    digits.push_back({0, 1, 1});
  findCuts();
}

int64_t PackedLayout::placeStride(size_t index) const {
  int64_t stride = 1;
  for (size_t i = index + 1; i < digits.size(); ++i)
    stride *= digits[i].radix;
  return stride;
}

int64_t PackedLayout::placeOf(int64_t axis, int64_t index) const {
  int64_t place = 0, stride = 1;
  for (size_t i = digits.size(); i-- > 0; stride *= digits[i].radix)
    if (digits[i].axis == axis)
      place += index / digits[i].stride % digits[i].radix * stride;
  return place;
}

/// A unit of depth d is a box where the digits inside it are the smallest of their axes; units
/// along digit d - 1 join into larger boxes where that digit is the next larger one.
void PackedLayout::findCuts() {
  for (size_t depth = 1; depth <= digits.size(); ++depth) {
    std::array<int64_t, 2> extent{1, 1}, reach{1, 1};
    for (size_t i = depth; i < digits.size(); ++i) {
      extent[digits[i].axis] *= digits[i].radix;
      reach[digits[i].axis] = std::max(reach[digits[i].axis], digits[i].stride * digits[i].radix);
    }
    const Digit &outer = digits[depth - 1];
    if (extent != reach || outer.stride != extent[outer.axis])
      continue;
    LayoutCut cut;
    cut.depth = static_cast<int64_t>(depth);
    cut.units = outer.radix;
    cut.unitPlaces = placeStride(depth - 1);
    cut.runs = allPlaces / (cut.units * cut.unitPlaces);
    cut.unitRows = extent[0];
    cut.unitColumns = extent[1];
    cut.alongRows = outer.axis == 0;
    // Tiles are whole bytes, or whole blocks of planes.
    int64_t whole = hasPlanes(bits) ? kPlanePlaces : bits < 8 ? 2 : 1;
    cut.granule = whole / std::gcd(cut.unitPlaces, whole);
    // Only the last of the whole weight may be filled in part.
    if (cut.runs == 1 || cut.units % cut.granule == 0)
      allCuts.push_back(cut);
  }
  if (!allCuts.empty() && allCuts.front().depth == 1)
    return;
  LayoutCut whole{0, 1, 1, allPlaces, 1, 1, 1, true};
  for (const Digit &digit : digits)
    (digit.axis == 0 ? whole.unitRows : whole.unitColumns) *= digit.radix;
  allCuts.insert(allCuts.begin(), whole);
}

PackedTile PackedLayout::tile(const LayoutCut &cut, int64_t run, int64_t unit,
                              int64_t unitEnd) const {
  std::array<int64_t, 2> base{0, 0};
  int64_t rest = run;
  for (int64_t i = cut.depth - 2; i >= 0; rest /= digits[i].radix, --i)
    base[digits[i].axis] += rest % digits[i].radix * digits[i].stride;
  int64_t count = unitEnd - unit;
  PackedTile tile;
  tile.box = {base[0], base[0] + cut.unitRows, base[1], base[1] + cut.unitColumns};
  if (cut.alongRows) {
    tile.box.row += unit * cut.unitRows;
    tile.box.rowEnd = tile.box.row + count * cut.unitRows;
  } else {
    tile.box.column += unit * cut.unitColumns;
    tile.box.columnEnd = tile.box.column + count * cut.unitColumns;
  }
  tile.firstPlace = (run * cut.units + unit) * cut.unitPlaces;
  tile.places = count * cut.unitPlaces;
  return tile;
}

//===- TilePacker ---------------------------------------------------------------------------===//

/// Panels of more rows are copied in pieces of this many.
static constexpr int64_t maxPanel = 64;

TilePacker::TilePacker(const PackedLayout &layout, const PackedTile &tile, int64_t elementBytes)
    : layout(layout), tile(tile), elementBytes(elementBytes) {
  const Window &box = tile.box;
  filled = {std::min(box.row, layout.rows()), std::min(box.rowEnd, layout.rows()),
            std::min(box.column, layout.columns()), std::min(box.columnEnd, layout.columns())};
  padded = filled.rows() * filled.columns() != tile.places;
  const auto &inner = layout.digits.back();
  if (inner.axis == 1 && inner.stride == 1)
    run = std::min(inner.radix, box.columns());
  for (const auto &digit : layout.digits)
    if (digit.axis == 0 && digit.stride == 1)
      panel = std::min({digit.radix, box.rows(), maxPanel});
  // Rows whose places lie far apart gain nothing from being copied together.
  if (panel > 1 && layout.placeOf(0, 1) != (inner.axis == 1 ? inner.radix : 1))
    panel = 1;
  if (filled.isEmpty())
    return;
  int64_t origin = layout.placeOf(1, box.column);
  for (int64_t column = filled.column; column < filled.columnEnd; column += run)
    runPlaces.push_back(static_cast<uint32_t>(layout.placeOf(1, column) - origin));
}

int64_t TilePacker::memory(const PackedLayout &layout) {
  // A growing vector holds its old and its new array for a moment.
  return 3 * static_cast<int64_t>(sizeof(uint32_t)) * layout.columns() + 64;
}

/// Copies `rows` rows of `runs` runs of `Bytes` bytes each.
template <int64_t Bytes>
static void copyRuns(const std::byte *source, int64_t pitchBytes, std::byte *const *rowPlaces,
                     int64_t rows, const uint32_t *runPlaces, int64_t runs, int64_t scale) {
  for (int64_t run = 0; run < runs; ++run) {
    const std::byte *from = source + run * Bytes;
    int64_t offset = static_cast<int64_t>(runPlaces[run]) * scale;
    for (int64_t row = 0; row < rows; ++row)
      std::memcpy(rowPlaces[row] + offset, from + row * pitchBytes, Bytes);
  }
}

static void copyLongRuns(const std::byte *source, int64_t pitchBytes, std::byte *const *rowPlaces,
                         int64_t rows, const uint32_t *runPlaces, int64_t runs, int64_t scale,
                         int64_t runBytes) {
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t run = 0; run < runs; ++run)
      std::memcpy(rowPlaces[row] + static_cast<int64_t>(runPlaces[run]) * scale,
                  source + row * pitchBytes + run * runBytes, static_cast<size_t>(runBytes));
}

void TilePacker::pack(int64_t row, int64_t rowEnd, const std::byte *source, int64_t pitch,
                      std::byte *places) const {
  int64_t wholeRuns = filled.columns() / run, tail = filled.columns() % run;
  int64_t runBytes = run * elementBytes, pitchBytes = pitch * elementBytes;
  int64_t origin = layout.placeOf(0, tile.box.row);
  std::array<std::byte *, maxPanel> rowPlaces;
  for (int64_t first = row; first < rowEnd;) {
    int64_t count = std::min(panel - first % panel, rowEnd - first);
    for (int64_t i = 0; i < count; ++i)
      rowPlaces[i] = places + (layout.placeOf(0, first + i) - origin) * elementBytes;
    auto copy = [&](auto copier) {
      copier(source, pitchBytes, rowPlaces.data(), count, runPlaces.data(), wholeRuns,
             elementBytes);
    };
    switch (runBytes) {
    case 1:
      copy(copyRuns<1>);
      break;
    case 2:
      copy(copyRuns<2>);
      break;
    case 4:
      copy(copyRuns<4>);
      break;
    case 8:
      copy(copyRuns<8>);
      break;
    case 16:
      copy(copyRuns<16>);
      break;
    default:
      copyLongRuns(source, pitchBytes, rowPlaces.data(), count, runPlaces.data(), wholeRuns,
                   elementBytes, runBytes);
    }
    if (tail)
      copyLongRuns(source + wholeRuns * runBytes, pitchBytes, rowPlaces.data(), count,
                   runPlaces.data() + wholeRuns, 1, elementBytes, tail * elementBytes);
    source += count * pitchBytes;
    first += count;
  }
}

} // namespace ingot::compiler
