// SPDX-License-Identifier: Apache-2.0
// Weights evaluated whole, in plain loops: what the streamer is compared with.
#include "tests/unit/weights/PlainEvaluation.h"

#include "compiler/checkpoint/gguf/GgmlBlocks.h"
#include "dialects/llm/LlmDialect.h"
#include "dialects/llm/LlmWeightOps.h"

#include "llvm/ADT/APFloat.h"

#include <algorithm>
#include <cmath>

using namespace mlir;

namespace ingot::compiler::test {

static llvm::APFloat converted(Type type, double value) {
  llvm::APFloat number(value);
  bool inexact = false;
  auto &semantics = cast<FloatType>(type).getFloatSemantics();
  if (isa<Float8E4M3FNType>(type))
    number = llvm::APFloat(std::isnan(value) ? value : std::clamp(value, -448.0, 448.0));
  number.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &inexact);
  return number;
}

double roundTo(Type type, double value) {
  llvm::APFloat number = converted(type, value);
  bool inexact = false;
  number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  return number.convertToDouble();
}

uint64_t bitsOf(Type type, double value) {
  if (isa<FloatType>(type))
    return converted(type, value).bitcastToAPInt().getZExtValue();
  return static_cast<uint64_t>(static_cast<int64_t>(value)) &
         ((uint64_t{1} << type.getIntOrFloatBitWidth()) - 1);
}

static Type elementOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

namespace {

class Evaluator {
public:
  explicit Evaluator(const std::map<std::string, Matrix> &tensors) : tensors(tensors) {}

  Matrix evaluate(Value value);

private:
  Matrix quantized(llm::QuantizeOp op, unsigned result);
  Matrix dequantized(llm::DequantizeOp op);
  Matrix interleaved(llm::InterleaveRowsOp op);
  Matrix unpacked(llm::UnpackOp op);
  Matrix blockPart(llm::BlockPartOp op);
  Matrix transposed(llm::TransposeOp op);
  Matrix repeated(llm::RepeatRowsOp op);
  Matrix sliced(llm::SliceRowsOp op);
  Matrix permuted(llm::PermuteRowsOp op);

  const std::map<std::string, Matrix> &tensors;
};

/// f32 arithmetic on doubles that hold f32 values: one operation, then one rounding. A double has
/// more than twice the digits, so rounding twice is rounding once.
double asF32(double value) { return static_cast<double>(static_cast<float>(value)); }

struct Scale {
  double scale = 1, zero = 0;
};

Scale scaleOf(llm::EncodingAttr encoding, Type scaleType, const std::vector<double> &values) {
  double largest = 0, least = 0, most = 0;
  for (double value : values) {
    largest = std::max(largest, std::fabs(value));
    least = std::min(least, value);
    most = std::max(most, value);
  }
  bool int4 = encoding.getKind() == EncodingKind::Int4;
  double scale = int4 ? (most > -least ? most : least) / -8.0
                      : largest / (encoding.getKind() == EncodingKind::Int8 ? 127.0 : 448.0);
  if (encoding.getZeroPoints())
    scale = asF32(most - least) / 15.0;
  scale = roundTo(scaleType, asF32(scale));
  if (scale == 0)
    return {1, int4 ? 8.0 : 0.0};
  double zero = int4 ? 8 : 0;
  if (encoding.getZeroPoints())
    zero = std::clamp(std::nearbyint(asF32(-least / scale)), 0.0, 15.0);
  return {scale, zero};
}

double stored(llm::EncodingAttr encoding, Type type, double value, Scale scale) {
  double quotient = asF32(value / scale.scale);
  if (encoding.getKind() == EncodingKind::Fp8)
    return roundTo(type, quotient);
  if (encoding.getKind() == EncodingKind::Int8)
    return std::clamp(std::nearbyint(quotient), -127.0, 127.0) + 0.0; // integers have no -0
  return std::clamp(std::nearbyint(quotient) + scale.zero, 0.0, 15.0);
}

Matrix Evaluator::quantized(llm::QuantizeOp op, unsigned result) {
  Matrix input = evaluate(op.getInput());
  llm::EncodingAttr encoding = op.getEncoding();
  Type scaleType = elementOf(op.getScales()), valueType = elementOf(op.getValues());
  bool whole = encoding.getGroup() == -1;
  int64_t group = encoding.getGroup() > 0 ? encoding.getGroup() : input.columns;
  int64_t groups = (input.columns + group - 1) / group;
  Matrix values{input.rows, input.columns, std::vector<double>(input.values.size())};
  if (encoding.getKind() == EncodingKind::Int4 && !encoding.getZeroPoints())
    values.padding = 8;
  Matrix scales{whole ? 1 : input.rows, groups, {}}, zeros{input.rows, groups, {}};
  for (int64_t row = 0; row < input.rows; ++row)
    for (int64_t index = 0; index < groups; ++index) {
      int64_t first = index * group, end = std::min(first + group, input.columns);
      auto start = input.values.begin() + row * input.columns;
      Scale scale = scaleOf(encoding, scaleType,
                            whole ? input.values : std::vector<double>(start + first, start + end));
      if (!whole || row == 0)
        scales.values.push_back(scale.scale);
      zeros.values.push_back(scale.zero);
      for (int64_t column = first; column < end; ++column)
        values.at(row, column) = stored(encoding, valueType, input.at(row, column), scale);
    }
  return result == 0 ? values : result == 1 ? scales : zeros;
}

Matrix Evaluator::dequantized(llm::DequantizeOp op) {
  llm::EncodedWeight weight = op.getEncodedWeight();
  llm::EncodingAttr encoding = weight.encoding;
  Matrix result = evaluate(weight.values), scales = evaluate(weight.scales);
  Matrix zeros = weight.zeros ? evaluate(weight.zeros) : Matrix();
  for (int64_t row = 0; row < result.rows; ++row)
    for (int64_t column = 0; column < result.columns; ++column) {
      int64_t scaleRow = encoding.getGroup() == -1 ? 0 : row;
      int64_t index = encoding.getGroup() > 0 ? column / encoding.getGroup() : 0;
      double zero = encoding.getZeroPoints()                   ? zeros.at(scaleRow, index)
                    : encoding.getKind() == EncodingKind::Int4 ? 8
                                                               : 0;
      double &value = result.at(row, column);
      value = asF32(scales.at(scaleRow, index) * (value - zero));
    }
  result.padding = 0;
  return result;
}

Matrix Evaluator::interleaved(llm::InterleaveRowsOp op) {
  Matrix inputs[2] = {evaluate(op.getFirst()), evaluate(op.getSecond())};
  auto block = static_cast<int64_t>(op.getBlock());
  Matrix result{0, inputs[0].columns, {}, inputs[0].padding};
  for (int64_t first = 0; first < inputs[0].rows; first += block)
    for (const Matrix &input : inputs)
      for (int64_t row = first; row < first + block; ++row, ++result.rows)
        for (int64_t column = 0; column < result.columns; ++column)
          result.values.push_back(row < input.rows ? input.at(row, column) : input.padding);
  return result;
}

/// Bit after bit, from the lowest of the first word on.
Matrix Evaluator::unpacked(llm::UnpackOp op) {
  Matrix words = evaluate(op.getInput());
  unsigned width = elementOf(op.getInput()).getIntOrFloatBitWidth();
  ArrayRef<int64_t> order = op.getOrder();
  auto bits = static_cast<int64_t>(op.getBits());
  Matrix result{words.rows, llm::columnsOf(op.getResult()), {}};
  for (int64_t row = 0; row < result.rows; ++row)
    for (int64_t k = 0; k < result.columns; ++k) {
      auto period = static_cast<int64_t>(order.size());
      int64_t field = order.empty() ? k : k / period * period + order[k % period];
      int64_t number = 0;
      for (int64_t bit = 0; bit < bits; ++bit) {
        int64_t position = field * bits + bit;
        auto word = static_cast<int64_t>(words.at(row, position / width));
        number |= (word >> (position % width) & 1) << bit;
      }
      number = (number + static_cast<int64_t>(op.getIncrement())) % (int64_t{1} << bits);
      result.values.push_back(static_cast<double>(number - static_cast<int64_t>(op.getBias())));
    }
  return result;
}

/// Block after block, whole ones.
Matrix Evaluator::blockPart(llm::BlockPartOp op) {
  Matrix input = evaluate(op.getInput());
  auto type = *checkpoint::blockTypeFromName(op.getFormat().str());
  auto block = static_cast<int64_t>(op.getBlock());
  Matrix result{input.rows, llm::columnsOf(op.getResult()), {}};
  int64_t each = result.columns / (input.columns / block);
  for (int64_t row = 0; row < input.rows; ++row)
    for (int64_t start = 0; start < input.columns; start += block) {
      std::vector<std::byte> bytes;
      for (int64_t i = 0; i < block; ++i)
        bytes.push_back(static_cast<std::byte>(static_cast<int64_t>(input.at(row, start + i))));
      checkpoint::GgmlBlock parts;
      checkpoint::splitGgml(type, bytes.data(), parts);
      Type element = elementOf(op.getResult());
      auto integer = [&](uint8_t code) -> double {
        return element.isInteger(8) ? double(static_cast<int8_t>(code)) : code;
      };
      bool scales = op.getPart() == "scales", coded = element.isInteger();
      for (int64_t i = 0; i < each; ++i)
        result.values.push_back(op.getPart() == "values"         ? integer(parts.stored[i])
                                : op.getPart() == "super_scales" ? parts.superScales[i]
                                : coded
                                    ? integer(scales ? parts.scaleCodes[i] : parts.offsetCodes[i])
                                    : (scales ? parts.scales[i] : parts.offsets[i]));
    }
  return result;
}

Matrix Evaluator::transposed(llm::TransposeOp op) {
  Matrix input = evaluate(op.getInput());
  Matrix result{input.columns, input.rows, {}};
  for (int64_t row = 0; row < result.rows; ++row)
    for (int64_t column = 0; column < result.columns; ++column)
      result.values.push_back(input.at(column, row));
  return result;
}

Matrix Evaluator::repeated(llm::RepeatRowsOp op) {
  Matrix input = evaluate(op.getInput());
  Matrix result{cast<RankedTensorType>(op.getType()).getShape().front(), input.columns, {}};
  for (int64_t row = 0; row < result.rows; ++row)
    for (int64_t column = 0; column < result.columns; ++column)
      result.values.push_back(input.at(row / static_cast<int64_t>(op.getCount()), column));
  return result;
}

Matrix Evaluator::sliced(llm::SliceRowsOp op) {
  Matrix input = evaluate(op.getInput());
  Matrix result{cast<RankedTensorType>(op.getType()).getShape().front(), input.columns, {}};
  for (int64_t row = 0; row < result.rows; ++row)
    for (int64_t column = 0; column < result.columns; ++column)
      result.values.push_back(input.at(static_cast<int64_t>(op.getFirst()) + row, column));
  return result;
}

/// Row by row of the input: its digits, and the row they name in the other order.
Matrix Evaluator::permuted(llm::PermuteRowsOp op) {
  Matrix input = evaluate(op.getInput()), result = input;
  llvm::ArrayRef<int64_t> digits = op.getDigits();
  for (int64_t row = 0; row < input.rows; ++row) {
    std::vector<int64_t> value(digits.size());
    int64_t rest = row, place = 0;
    for (size_t i = digits.size(); i-- > 0; rest /= digits[i])
      value[i] = rest % digits[i];
    for (int64_t digit : op.getOrder())
      place = place * digits[digit] + value[digit];
    for (int64_t column = 0; column < input.columns; ++column)
      result.at(place, column) = input.at(row, column);
  }
  return result;
}

Matrix Evaluator::evaluate(Value value) {
  Operation *op = value.getDefiningOp();
  Type element = elementOf(value);
  if (auto weight = dyn_cast<llm::WeightOp>(op))
    return tensors.at(weight.getName().str());
  if (auto literal = dyn_cast<llm::LiteralOp>(op)) {
    auto type = cast<RankedTensorType>(value.getType());
    Matrix result{type.getShape()[0], llm::columnsOf(value), {}};
    auto numbers = cast<DenseElementsAttr>(literal.getValue());
    if (type.getElementType().isInteger())
      for (const llvm::APInt &number : numbers.getValues<llvm::APInt>())
        result.values.push_back(double(number.getSExtValue()));
    else
      for (const llvm::APFloat &number : numbers.getValues<llvm::APFloat>())
        result.values.push_back(number.convertToDouble());
    return result;
  }
  if (auto quantize = dyn_cast<llm::QuantizeOp>(op))
    return quantized(quantize, cast<OpResult>(value).getResultNumber());
  if (auto dequantize = dyn_cast<llm::DequantizeOp>(op))
    return dequantized(dequantize);
  if (auto interleave = dyn_cast<llm::InterleaveRowsOp>(op))
    return interleaved(interleave);
  if (auto unpack = dyn_cast<llm::UnpackOp>(op))
    return unpacked(unpack);
  if (auto part = dyn_cast<llm::BlockPartOp>(op))
    return blockPart(part);
  if (auto transpose = dyn_cast<llm::TransposeOp>(op))
    return transposed(transpose);
  if (auto repeat = dyn_cast<llm::RepeatRowsOp>(op))
    return repeated(repeat);
  if (auto slice = dyn_cast<llm::SliceRowsOp>(op))
    return sliced(slice);
  if (auto permute = dyn_cast<llm::PermuteRowsOp>(op))
    return permuted(permute);
  Matrix result = evaluate(op->getOperand(0));
  if (isa<llm::ReshapeOp>(op)) {
    result.rows = cast<RankedTensorType>(value.getType()).getShape().front();
    result.columns = llm::columnsOf(value);
  }
  if (auto add = dyn_cast<llm::AddLowRankOp>(op)) {
    Matrix left = evaluate(add.getLeft()), right = evaluate(add.getRight());
    for (int64_t n = 0; n < result.rows; ++n)
      for (int64_t k = 0; k < result.columns; ++k) {
        double sum = 0;
        for (int64_t r = 0; r < right.rows; ++r)
          sum = asF32(sum + asF32(left.at(n, r) * right.at(r, k)));
        double delta = asF32(add.getScale().convertToDouble() * sum);
        result.at(n, k) = roundTo(element, asF32(result.at(n, k) + delta));
      }
  }
  if (auto convert = dyn_cast<llm::ConvertOp>(op)) {
    double plus = convert.getPlus().convertToDouble();
    for (double &number : result.values)
      number = roundTo(element, plus == 0 ? number : asF32(number + plus));
  }
  if (auto scale = dyn_cast<llm::ScaleColumnsOp>(op)) {
    Matrix factors = evaluate(scale.getFactors());
    for (size_t i = 0; i < result.values.size(); ++i)
      result.values[i] =
          roundTo(element, asF32(result.values[i] * factors.values[i % factors.values.size()]));
  }
  if (isa<llm::ConcatRowsOp>(op))
    for (Value operand : op->getOperands().drop_front()) {
      Matrix more = evaluate(operand);
      result.rows += more.rows;
      result.values.insert(result.values.end(), more.values.begin(), more.values.end());
    }
  return result;
}

/// Place after place: the element that the digits name, or padding.
std::vector<uint8_t> packed(const Matrix &matrix, RankedTensorType type) {
  unsigned bits = type.getElementType().getIntOrFloatBitWidth();
  std::vector<engine::LayoutAttr::Digit> digits{{0, 1, matrix.rows}, {1, 1, matrix.columns}};
  if (auto layout = dyn_cast_or_null<engine::LayoutAttr>(type.getEncoding())) {
    auto list = layout.digitList();
    digits.assign(list.begin(), list.end());
  }
  int64_t places = 1;
  for (auto digit : digits)
    places *= digit.radix;
  bool planes = bits < 8 && bits != 4;
  constexpr int64_t blockPlaces = 128;
  int64_t stored = planes ? (places + blockPlaces - 1) / blockPlaces * blockPlaces : places;
  std::vector<uint8_t> bytes((stored * bits + 7) / 8);
  // The bit of memory where bit `bit` of an element stands.
  auto positionOf = [&](int64_t place, unsigned bit) -> uint64_t {
    if (!planes)
      return static_cast<uint64_t>(place) * bits + bit;
    unsigned low = bits >= 4 ? 4 : 2;
    uint64_t start = static_cast<uint64_t>(place / blockPlaces) * blockPlaces * bits;
    uint64_t inBlock = static_cast<uint64_t>(place % blockPlaces);
    return bit < low ? start + inBlock * low + bit
                     : start + blockPlaces * low + inBlock * (bits - low) + (bit - low);
  };
  for (int64_t place = 0; place < places; ++place) {
    int64_t index[2] = {0, 0}, rest = place;
    for (size_t i = digits.size(); i-- > 0; rest /= digits[i].radix)
      index[digits[i].axis] += rest % digits[i].radix * digits[i].stride;
    bool inside = index[0] < matrix.rows && index[1] < matrix.columns;
    uint64_t element =
        bitsOf(type.getElementType(), inside ? matrix.at(index[0], index[1]) : matrix.padding);
    for (unsigned bit = 0; bit < bits; ++bit)
      if (element >> bit & 1) {
        uint64_t position = positionOf(place, bit);
        bytes[position / 8] |= static_cast<uint8_t>(1u << (position % 8));
      }
  }
  return bytes;
}

} // namespace

std::map<std::string, std::vector<uint8_t>>
evaluatePlainly(func::FuncOp function, const std::map<std::string, Matrix> &tensors) {
  std::map<std::string, std::vector<uint8_t>> stored;
  Evaluator evaluator(tensors);
  function.walk([&](llm::StoreWeightOp store) {
    Value value = store.getValue();
    auto type = cast<RankedTensorType>(value.getType());
    if (auto pack = value.getDefiningOp<llm::PackOp>())
      value = pack.getInput();
    stored[store.getName().str()] = packed(evaluator.evaluate(value), type);
  });
  return stored;
}

} // namespace ingot::compiler::test
