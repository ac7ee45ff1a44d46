// SPDX-License-Identifier: Apache-2.0
// A layout's outermost digit counts tiles of rows, which stand one after the other in memory; so
// rows that repeat every `period` rows are bytes that repeat.
#include "runtime/engine/WeightFill.h"

#include "runtime/engine/Verify.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <functional>
#include <optional>
#include <system_error>
#include <thread>

namespace ingot::runtime {
namespace {

using schema::DType;

/// As FillPart: a number has 16 bits, a hash four numbers.
constexpr uint64_t kNumbers = 1 << 16;
constexpr uint64_t kNumbersPerHash = 4;

/// A float type by its exponent of the smallest normal number, bits of the mantissa, total bits and
/// largest number.
struct FloatFormat {
  int smallest, mantissa, bits;
  double largest;
};

std::optional<FloatFormat> floatFormat(DType type) {
  switch (type) {
  case DType::F32:
    return FloatFormat{-126, 23, 32, 0x1.fffffep127};
  case DType::F16:
    return FloatFormat{-14, 10, 16, 65504};
  case DType::BF16:
    return FloatFormat{-126, 7, 16, 0x1.fep127};
  case DType::E4M3:
    return FloatFormat{-6, 3, 8, 448};
  case DType::E5M2:
    return FloatFormat{-14, 2, 8, 57344};
  default:
    return std::nullopt;
  }
}

/// Least and most of an integer type of at most 8 bits; nothing for other types. I4 codes may be
/// meant with or without a sign.
std::optional<std::pair<double, double>> integerRange(DType type) {
  switch (type) {
  case DType::I4:
    return std::pair(-8.0, 15.0);
  case DType::U4:
    return std::pair(0.0, 15.0);
  case DType::I8:
    return std::pair(-128.0, 127.0);
  case DType::U8:
    return std::pair(0.0, 255.0);
  default:
    return std::nullopt;
  }
}

/// The bits of `value`, which is within the type's range, to nearest even.
uint32_t encode(double value, const FloatFormat &format) {
  double magnitude = std::fabs(value);
  int exponent = magnitude > 0 ? std::max(std::ilogb(magnitude), format.smallest) : format.smallest;
  auto steps = uint32_t(std::nearbyint(std::ldexp(magnitude, format.mantissa - exponent)));
  uint32_t bits = (uint32_t(exponent - format.smallest) << format.mantissa) + steps;
  return bits | (uint32_t(std::signbit(value)) << (format.bits - 1));
}

/// The element that stands for each of the numbers.
std::vector<uint32_t> elementTable(DType type, double low, double high) {
  std::vector<uint32_t> table(kNumbers);
  std::optional<FloatFormat> format = floatFormat(type);
  for (uint64_t number = 0; number < kNumbers; ++number) {
    double share = double(number) / double(kNumbers), middle = share + 0.5 / double(kNumbers);
    table[number] = format ? encode(low + (high - low) * middle, *format)
                           : uint32_t(int32_t(low + std::floor(share * (high - low + 1))));
  }
  return table;
}

uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/// Tiles of a layout: how many, and the rows and places of each.
struct Tiles {
  uint64_t count, rows, places, bits;

  explicit Tiles(const schema::Weight &weight) : bits(uint64_t(bitsOf(weight.dtype()))) {
    const auto &digits = *weight.fill()->digits();
    count = digits.Get(0)->radix();
    rows = digits.Get(0)->stride();
    places = 1;
    for (uint32_t i = 1; i < digits.size(); ++i)
      places *= digits.Get(i)->radix();
  }
  /// Whole bytes unless there is but one tile.
  uint64_t bytes() const { return (places * bits + 7) / 8; }
};

/// Stored rows [first, end) repeat every `period` rows.
struct Band {
  uint64_t first, end, period;
};

/// Stored rows of two parts of `rows` in turn.
uint64_t pairRows(uint64_t rows, uint64_t block) { return (rows + block - 1) / block * block * 2; }

std::vector<Band> bandsOf(const schema::Fill &fill) {
  uint64_t block = fill.block(), first = 0;
  std::vector<Band> bands;
  if (block) {
    for (uint32_t i = 0; i < fill.parts()->size();
         i += 2) { // the last blocks may be filled in part
      uint64_t rows = fill.parts()->Get(i)->rows();
      bands.push_back({first, first + rows / block * block * 2, 2 * fill.period()});
      first += pairRows(rows, block);
    }
    return bands;
  }
  for (const schema::FillPart *part : *fill.parts()) {
    bands.push_back({first, first + part->rows(), fill.period()});
    first += part->rows();
  }
  return bands;
}

/// Tiles that a thread makes before it asks for more; fewer elements are not worth a thread.
constexpr uint64_t kElementsAtOnce = 1 << 16;

/// Calls `work` for each of [0, count) on up to `threads` threads, of which the caller is one, in
/// runs of `atOnce`.
void onThreads(int threads, uint64_t count, uint64_t atOnce,
               const std::function<void(uint64_t index)> &work) {
  std::atomic<uint64_t> next{0};
  auto takeRuns = [&] {
    for (uint64_t first; (first = next.fetch_add(atOnce)) < count;)
      for (uint64_t index = first; index < std::min(first + atOnce, count); ++index)
        work(index);
  };
  std::vector<std::thread> helpers;
  uint64_t runs = (count + atOnce - 1) / atOnce;
  try {
    while (int(helpers.size()) + 1 < threads && helpers.size() + 1 < runs)
      helpers.emplace_back(takeRuns);
  } catch (const std::system_error &) {
    // The system has no more threads: those that there are do all of it.
  }
  takeRuns();
  for (std::thread &helper : helpers)
    helper.join();
}

class TileMaker {
public:
  TileMaker(const schema::Weight &weight, const std::vector<uint32_t> &elements, int threads)
      : fill(*weight.fill()), tiles(weight), threads(threads), elements(elements),
        rowPlaces(placesAlong(0, tiles.rows)), columnPlaces(placesAlong(1, fill.columns())) {}

  /// The bytes of `count` tiles from tile `first` on.
  std::vector<uint8_t> make(uint64_t first, uint64_t count) const {
    std::vector<uint8_t> bytes(count * tiles.bytes());
    uint64_t atOnce = std::max<uint64_t>(kElementsAtOnce / tiles.places, 1);
    auto makeTile = tiles.bits == 4    ? &TileMaker::makeTile<4>
                    : tiles.bits == 8  ? &TileMaker::makeTile<8>
                    : tiles.bits == 16 ? &TileMaker::makeTile<16>
                                       : &TileMaker::makeTile<32>;
    onThreads(threads, count, atOnce, [&](uint64_t index) {
      (this->*makeTile)(first + index, bytes.data() + index * tiles.bytes());
    });
    return bytes;
  }

private:
  template <int Bits> void makeTile(uint64_t index, uint8_t *tile) const {
    if (fill.padding())
      for (uint64_t place = 0; place < tiles.places; ++place)
        put<Bits>(tile, place, fill.padding());
    for (uint64_t row = 0; row < tiles.rows; ++row)
      makeRow<Bits>(index * tiles.rows + row, rowPlaces[row], tile);
  }

  /// What each index below `extent` along `axis` adds to an element's place in a tile.
  std::vector<uint32_t> placesAlong(uint32_t axis, uint64_t extent) const {
    std::vector<uint32_t> places(extent);
    const auto &digits = *fill.digits();
    uint64_t step = 1;
    for (uint32_t i = digits.size(); i-- > 1; step *= digits.Get(i)->radix())
      if (digits.Get(i)->axis() == axis)
        for (uint64_t index = 0; index < extent; ++index)
          places[index] +=
              uint32_t(index / digits.Get(i)->stride() % digits.Get(i)->radix() * step);
    return places;
  }

  template <int Bits> static void put(uint8_t *tile, uint64_t place, uint32_t element) {
    if constexpr (Bits == 4) {
      uint8_t &pair = tile[place / 2];
      int shift = place % 2 ? 4 : 0;
      pair = uint8_t((pair & (0xf0 >> shift)) | ((element & 0xf) << shift));
    } else {
      std::memcpy(tile + place * (Bits / 8), &element, Bits / 8); // little-endian, as files are
    }
  }

  uint64_t firstOf(uint32_t part) const { return fill.firsts() ? fill.firsts()->Get(part) : 0; }

  /// Of a stored row its part, and its row of numbers; null for padding.
  std::pair<const schema::FillPart *, uint64_t> find(uint64_t row) const {
    const auto &parts = *fill.parts();
    if (uint64_t block = fill.block()) {
      uint32_t pair = 0;
      for (; pair + 2 < parts.size() && row >= pairRows(parts.Get(pair)->rows(), block); pair += 2)
        row -= pairRows(parts.Get(pair)->rows(), block);
      uint32_t which = pair + uint32_t(row / block % 2);
      const schema::FillPart *part = parts.Get(which);
      uint64_t own = row / (2 * block) * block + row % block;
      return {own < part->rows() ? part : nullptr, firstOf(which) + own};
    }
    for (uint32_t i = 0; i < parts.size(); ++i) {
      if (row < parts.Get(i)->rows())
        return {parts.Get(i), firstOf(i) + row};
      row -= parts.Get(i)->rows();
    }
    return {nullptr, 0};
  }

  template <int Bits> void makeRow(uint64_t row, uint64_t rowPlace, uint8_t *tile) const {
    auto [part, own] = find(row);
    if (!part)
      return;
    uint64_t columns = fill.columns();
    uint64_t hashes = (columns + kNumbersPerHash - 1) / kNumbersPerHash;
    uint64_t first = own % fill.period() * hashes;
    const uint32_t *places = columnPlaces.data(), *table = elements.data();
    uint64_t key = part->key();
    for (uint64_t i = 0; i < hashes; ++i) {
      uint64_t hash = mix(key + (first + i) * 0x9E3779B97F4A7C15u);
      uint64_t end = std::min(columns, (i + 1) * kNumbersPerHash);
      for (uint64_t k = i * kNumbersPerHash; k < end; ++k, hash >>= 16)
        put<Bits>(tile, rowPlace + places[k], table[hash % kNumbers]);
    }
  }

  const schema::Fill &fill;
  Tiles tiles;
  int threads;
  const std::vector<uint32_t> &elements;
  std::vector<uint32_t> rowPlaces, columnPlaces;
};

//===- Verification -------------------------------------------------------------------------===//

constexpr uint64_t kLargest = uint64_t{1} << 40;
constexpr uint32_t kMostDigits = 16, kMostParts = 1 << 12;

/// The FlatBuffers verifier looks at the alignment of a vector's length only.
template <class T> bool isAligned(const flatbuffers::Vector<T> *vector) {
  using Element = std::remove_cv_t<std::remove_pointer_t<T>>;
  return reinterpret_cast<uintptr_t>(vector->Data()) % alignof(Element) == 0;
}

/// What is wrong with the range of values; empty: nothing.
std::string rangeFault(DType type, double low, double high) {
  if (!std::isfinite(low) || !std::isfinite(high) || low > high)
    return "its range is empty or not finite";
  if (std::optional<FloatFormat> format = floatFormat(type))
    return std::max(-low, high) > format->largest ? "its range exceeds its type" : "";
  std::optional<std::pair<double, double>> range = integerRange(type);
  if (!range)
    return "no random weights are of its type";
  bool whole = low == std::floor(low) && high == std::floor(high);
  return whole && low >= range->first && high <= range->second ? "" : "its range exceeds its type";
}

std::string partsFault(const schema::Fill &fill) {
  uint32_t parts = count(fill.parts());
  if (parts == 0 || parts > kMostParts || !isAligned(fill.parts()))
    return "it has an impossible number of parts";
  for (const schema::FillPart *part : *fill.parts())
    if (part->rows() == 0 || part->rows() > kLargest)
      return "a part has an impossible number of rows";
  if (fill.period() == 0 || fill.period() > kLargest)
    return "its period is impossible";
  if (fill.firsts()) {
    if (fill.firsts()->size() != parts || !isAligned(fill.firsts()))
      return "its parts do not each begin somewhere";
    for (uint64_t first : *fill.firsts())
      if (first > kLargest)
        return "a part begins at an impossible row";
  }
  uint64_t block = fill.block();
  if (block == 0)
    return "";
  bool pairs = parts % 2 == 0 && block <= kLargest && fill.period() % block == 0;
  for (uint32_t i = 0; pairs && i < parts; i += 2) {
    uint64_t rows = fill.parts()->Get(i)->rows();
    pairs = fill.parts()->Get(i + 1)->rows() == rows && (parts == 2 || rows % block == 0);
  }
  return pairs ? "" : "its blocks are impossible";
}

std::string layoutFault(const schema::Weight &weight) {
  const schema::Fill &fill = *weight.fill();
  if (count(fill.digits()) == 0 || fill.digits()->size() > kMostDigits ||
      !isAligned(fill.digits()) || fill.digits()->Get(0)->axis() != 0)
    return "its layout does not begin with rows";
  uint64_t places = 1;
  for (const schema::LayoutDigit *digit : *fill.digits())
    if (digit->axis() > 1 || digit->stride() == 0 || digit->stride() > kLargest ||
        digit->radix() == 0 || digit->radix() > kLargest ||
        __builtin_mul_overflow(places, digit->radix(), &places) || places > 8 * kLargest)
      return "its layout is impossible";
  Tiles tiles(weight);
  if (weight.bytes() != (places * tiles.bits + 7) / 8)
    return "its layout is of another size";
  if (tiles.count > 1 && tiles.places * tiles.bits % 8)
    return "its rows do not end at whole bytes";
  if (fill.columns() == 0 || fill.columns() > tiles.places || tiles.rows > tiles.places)
    return "its rows or columns do not lie in a tile of its layout";
  for (const Band &band : bandsOf(fill)) {
    uint64_t repeated = band.period / tiles.rows;
    if (band.period % tiles.rows)
      return "its period is no multiple of the rows of a tile";
    if (tiles.bytes() > kLongestPattern ||
        std::min(repeated, tiles.count) > kLongestPattern / tiles.bytes())
      return "its pattern is too long";
  }
  return "";
}

} // namespace

Status verifyFill(const schema::Weight &weight) {
  const schema::Fill &fill = *weight.fill();
  std::string fault = rangeFault(weight.dtype(), fill.low(), fill.high());
  if (fault.empty())
    fault = partsFault(fill);
  if (fault.empty())
    fault = layoutFault(weight);
  if (fault.empty())
    return {};
  return Status::error("INGOT-E5006",
                       "weight '" + weight.name()->str() + "' cannot be made at load: " + fault,
                       "rebuild the engine");
}

const std::vector<uint32_t> &WeightFiller::tableFor(DType type, double low, double high) {
  if (tables.size() >= kMostTables)
    tables.clear();
  std::vector<uint32_t> &table = tables[{type, low, high}];
  if (table.empty())
    table = elementTable(type, low, high);
  return table;
}

void WeightFiller::fill(void *memory, const schema::Weight &weight) {
  Tiles tiles(weight);
  TileMaker maker(weight, tableFor(weight.dtype(), weight.fill()->low(), weight.fill()->high()),
                  threads);
  auto *bytes = static_cast<uint8_t *>(memory);
  uint64_t done = 0;
  auto makeUntil = [&](uint64_t end) { // tiles that belong to no band as a whole
    for (; done < end; ++done)
      device.write(bytes + done * tiles.bytes(), maker.make(done, 1).data(), tiles.bytes());
  };
  for (const Band &band : bandsOf(*weight.fill())) {
    uint64_t first = std::min((band.first + tiles.rows - 1) / tiles.rows, tiles.count);
    uint64_t end = std::min(band.end / tiles.rows, tiles.count);
    if (first >= end)
      continue;
    makeUntil(first);
    uint64_t pattern = std::min(band.period / tiles.rows, end - first);
    std::vector<uint8_t> made = maker.make(first, pattern);
    uint8_t *start = bytes + first * tiles.bytes();
    device.write(start, made.data(), made.size());
    uint64_t all = (end - first) * tiles.bytes();
    for (uint64_t written = made.size(); written < all; written += std::min(written, all - written))
      device.copy(start + written, start, std::min(written, all - written));
    done = end;
  }
  makeUntil(tiles.count);
}

Status WeightFiller::fillRows(void *memory, DType type, uint64_t columns, uint64_t bytes,
                              std::pair<double, double> range, uint64_t key) {
  uint64_t rowBytes = std::max<uint64_t>(columns * uint64_t(bitsOf(type)) / 8, 1);
  uint64_t rows = bytes / rowBytes;
  // An odd period: rows that repeat would hide a tile taken for another.
  uint64_t period = (std::clamp<uint64_t>(kLongestPattern / rowBytes, 2, rows + 2) - 1) | 1;
  std::vector<schema::FillPart> parts = {{key, rows}};
  std::vector<schema::LayoutDigit> digits = {{1, rows, 0}, {1, columns, 1}};
  flatbuffers::FlatBufferBuilder builder;
  auto fill = schema::CreateFillDirect(builder, range.first, range.second, &parts, 0, period,
                                       columns, &digits);
  builder.Finish(schema::CreateWeightDirect(builder, "made values", type, "", nullptr, "", 0, 0,
                                            bytes, nullptr, fill));
  const auto &weight = *flatbuffers::GetRoot<schema::Weight>(builder.GetBufferPointer());
  if (Status status = verifyFill(weight); !status.ok())
    return status;
  this->fill(memory, weight);
  return {};
}

} // namespace ingot::runtime
