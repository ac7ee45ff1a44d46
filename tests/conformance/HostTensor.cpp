// SPDX-License-Identifier: Apache-2.0
// Conversions through APFloat, cached for the types of up to 16 bits.
#include "tests/conformance/HostTensor.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/DenseMap.h"
#include <algorithm>
#include <cmath>

using namespace ingot;
using namespace ingot::conformance;

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

std::vector<uint8_t> HostTensor::bytes() const {
  int64_t width = engine::elementBits(element) / 8;
  std::vector<uint8_t> bytes;
  bytes.reserve(size_t(size() * width));
  for (uint32_t code : codes)
    for (int64_t byte = 0; byte < width; ++byte)
      bytes.push_back(uint8_t(code >> (8 * byte)));
  return bytes;
}

void HostTensor::unpack(llvm::ArrayRef<uint8_t> bytes) {
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
