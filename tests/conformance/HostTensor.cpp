// SPDX-License-Identifier: Apache-2.0
// Conversions through APFloat, cached for the types of up to 16 bits.
#include "tests/conformance/HostTensor.h"

#include "runtime/schema/KernelAbi.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/DenseMap.h"
#include <algorithm>
#include <cmath>

using namespace ingot;
using namespace ingot::conformance;

namespace {
constexpr uint8_t kCanary = 0xcb;
constexpr size_t kMargin = 256;
} // namespace

KernelBuffer::KernelBuffer(size_t size, uint8_t fill) : bytes(size) {
  memory.assign(size + 2 * kMargin + INGOT_BUFFER_ALIGNMENT, kCanary);
  auto address = reinterpret_cast<uintptr_t>(memory.data()) + kMargin;
  address =
      (address + INGOT_BUFFER_ALIGNMENT - 1) / INGOT_BUFFER_ALIGNMENT * INGOT_BUFFER_ALIGNMENT;
  begin = reinterpret_cast<uint8_t *>(address);
  std::fill(begin, begin + size, fill);
}

bool KernelBuffer::intact() const {
  auto isCanary = [](uint8_t byte) { return byte == kCanary; };
  const uint8_t *first = memory.data(), *last = memory.data() + memory.size();
  return std::all_of(first, static_cast<const uint8_t *>(begin), isCanary) &&
         std::all_of(static_cast<const uint8_t *>(begin) + bytes, last, isCanary);
}

static double decodeFloat(mlir::FloatType type, uint32_t code) {
  llvm::APFloat value(type.getFloatSemantics(), llvm::APInt(type.getWidth(), code));
  bool lost = false;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lost);
  return value.convertToDouble();
}

double conformance::decode(mlir::Type element, uint32_t code) {
  if (element.isInteger() && element.getIntOrFloatBitWidth() < 8)
    return code;
  if (element.isInteger(8))
    return static_cast<int8_t>(code);
  if (element.isInteger(32))
    return static_cast<int32_t>(code);
  auto type = llvm::cast<mlir::FloatType>(element);
  if (type.getWidth() == 32)
    return llvm::bit_cast<float>(code);
  thread_local llvm::DenseMap<mlir::Type, std::vector<double>> tables;
  std::vector<double> &table = tables[type];
  if (table.empty())
    for (uint32_t i = 0; i < (1u << type.getWidth()); ++i)
      table.push_back(decodeFloat(type, i));
  return table[code];
}

uint32_t conformance::encode(mlir::Type element, double value) {
  if (element.isInteger())
    return static_cast<uint32_t>(static_cast<int32_t>(value)) &
           static_cast<uint32_t>(~uint64_t(0) >> (64 - element.getIntOrFloatBitWidth()));
  if (element.isF32())
    return llvm::bit_cast<uint32_t>(static_cast<float>(value));
  const llvm::fltSemantics &semantics = llvm::cast<mlir::FloatType>(element).getFloatSemantics();
  if (element.getIntOrFloatBitWidth() == 8) {
    // The 8-bit formats saturate.
    double largest = llvm::APFloat::getLargest(semantics).convertToDouble();
    value = std::clamp(value, -largest, largest);
  }
  llvm::APFloat rounded(value);
  bool lost = false;
  rounded.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &lost);
  return static_cast<uint32_t>(rounded.bitcastToAPInt().getZExtValue());
}

double conformance::spacing(mlir::Type element, double value) {
  if (element.isInteger())
    return 1;
  const llvm::fltSemantics &semantics = llvm::cast<mlir::FloatType>(element).getFloatSemantics();
  int precision = static_cast<int>(llvm::APFloat::semanticsPrecision(semantics));
  int exponent = value == 0 ? -1000 : std::ilogb(value);
  int smallest = llvm::APFloat::semanticsMinExponent(semantics);
  return std::ldexp(1.0, std::max(exponent, smallest) - precision + 1);
}

double HostTensor::at(int64_t index) const { return decode(element, codes[index]); }

void HostTensor::set(int64_t index, double value) { codes[index] = encode(element, value); }

/// Adds an element at `place` to zeroed bytes.
static void putElement(std::vector<uint8_t> &bytes, int64_t place, int64_t bits, uint32_t code) {
  auto put = [&](int64_t bit, int64_t width, uint32_t part) {
    for (int64_t i = 0; i < width; ++i)
      bytes[(bit + i) / 8] |= (part >> i & 1) << ((bit + i) % 8);
  };
  if (!engine::hasPlanes(bits))
    return put(place * bits, bits, code);
  int64_t places = engine::kPlanePlaces, low = bits < 4 ? 2 : 4;
  int64_t block = place / places * places * bits, at = place % places;
  put(block + at * low, low, code);
  put(block + places * low + at * (bits - low), bits - low, code >> low);
}

std::vector<uint8_t> HostTensor::pack(engine::LayoutAttr layout) const {
  int64_t bits = engine::elementBits(element);
  int64_t places = layout ? layout.places() : rows * columns;
  std::vector<uint8_t> bytes(engine::bytesOfPlaces(places, bits));
  auto digits = layout ? layout.digitList() : llvm::SmallVector<engine::LayoutAttr::Digit>();
  for (int64_t place = 0; place < places; ++place) {
    int64_t index[2] = {place / columns, place % columns};
    if (layout) {
      index[0] = index[1] = 0;
      int64_t rest = place;
      for (auto digit : llvm::reverse(digits)) {
        index[digit.axis] += rest % digit.radix * digit.stride;
        rest /= digit.radix;
      }
    }
    if (index[0] < rows && index[1] < columns)
      putElement(bytes, place, bits, codes[index[0] * columns + index[1]]);
  }
  return bytes;
}

void HostTensor::unpack(const uint8_t *bytes) {
  int64_t width = engine::elementBits(element) / 8;
  for (int64_t i = 0; i < size(); ++i) {
    codes[i] = 0;
    for (int64_t byte = 0; byte < width; ++byte)
      codes[i] |= uint32_t(bytes[i * width + byte]) << (8 * byte);
  }
}

void conformance::fillRandom(HostTensor &tensor, std::mt19937_64 &random, double scale) {
  std::normal_distribution<double> normal;
  unsigned bits = tensor.element.getIntOrFloatBitWidth();
  std::uniform_int_distribution<int64_t> integers(bits < 8 ? 0 : -127,
                                                  bits < 8 ? (1 << bits) - 1 : 127);
  for (int64_t i = 0; i < tensor.size(); ++i)
    tensor.set(i, tensor.element.isInteger() ? double(integers(random)) : normal(random) * scale);
}
