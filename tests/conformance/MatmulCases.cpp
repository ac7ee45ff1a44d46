// SPDX-License-Identifier: Apache-2.0
// llm.matmul: every input type and weight format, epilogues, pairs.
#include "tests/conformance/Targets.h"

#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;
using namespace ingot;
using namespace ingot::conformance;

namespace {

/// How a weight is stored: a float type by name, or an encoding.
struct Format {
  const char *name;
  const char *element;
  const char *encoding = ""; ///< kind
  int64_t group = 0;
  bool zeroPoints = false;
  const char *scale = "f32";
  bool exactBook = false;  ///< whether 16 bits hold the code book's numbers
  const char *scales = ""; ///< how they are stored, unless plainly: `scale` are codes
  const char *super = "f16";
  bool encoded() const { return *encoding; }
  bool hasOffsets() const { return llvm::StringRef(encoding).starts_with("affine"); }
  bool hasCodeBook() const { return llvm::StringRef(encoding) == "codebook4"; }
  bool hasZeros() const { return zeroPoints || hasOffsets() || hasCodeBook(); }
  bool hasSuperScales() const { return *scales; }
  bool hasTable() const { return llvm::StringRef(scales) == "table"; }
  bool hasBlocks() const { return hasSuperScales() && !hasTable(); }
  bool countsInIntegers() const { return llvm::StringRef(encoding).starts_with("int"); }
  /// Whether products with integer inputs use it.
  bool meetsIntegers() const {
    return countsInIntegers() || hasOffsets() || (hasCodeBook() && exactBook);
  }
  bool integer() const { return element[0] == 'i'; }
  /// What unsigned integers of so many bits stand around.
  static int64_t middleOf(const char *integer) {
    return integer[1] == '8' ? 0 : int64_t(1) << (integer[1] - '1');
  }
};

const Format kFormats[] = {{"f32", "f32"},
                           {"bf16", "bf16"},
                           {"f16", "f16"},
                           {"int8", "i8", "int8", 0, false, "f32"},
                           {"int4g32", "i4", "int4", 32, false, "bf16"},
                           {"int4g64z", "i4", "int4", 64, true, "bf16"},
                           {"int4g128", "i4", "int4", 128, false, "bf16"},
                           {"int4row", "i4", "int4", 0, false, "f32"},
                           {"int4rowz", "i4", "int4", 0, true, "f32"},
                           {"fp8", "f8E4M3FN", "fp8", 0, false, "f32"},
                           {"fp8tensor", "f8E4M3FN", "fp8", -1, false, "f32"}};

/// What recipes do not make, but checkpoints hold.
const Format kStoredFormats[] = {
    {"int4g32zh", "i4", "int4", 32, true, "f16"},
    {"int8g64h", "i8", "int8", 64, false, "f16"},
    {"int8rowb", "i8", "int8", 0, false, "bf16"},
    {"int8g64zh", "i8", "int8", 64, true, "f16"},
    {"int8rowz", "i8", "int8", 0, true, "f32"},
    {"fp8g128", "f8E4M3FN", "fp8", 128, false, "f32"},
    {"fp8rowb", "f8E4M3FN", "fp8", 0, false, "bf16"},
    {"affine4g32h", "i4", "affine4", 32, false, "f16"},
    {"affine4g16", "i4", "affine4", 16, false, "f32"},
    {"affine8g32", "i8", "affine8", 32, false, "f32"},
    {"codebook4g32h", "i4", "codebook4", 32, false, "f16"},
    {"codebook4rowb", "i4", "codebook4", 0, false, "bf16"},
    {"codebook4g32eb", "i4", "codebook4", 32, false, "bf16", true},
    {"codebook4g16eh", "i4", "codebook4", 16, false, "f16", true},
    {"int4g16", "i4", "int4", 16, false, "f32"},
    {"int8g16", "i8", "int8", 16, false, "f32"},
    {"affine4g128h", "i4", "affine4", 128, false, "f16"},
    {"affine8rowb", "i8", "affine8", 0, false, "bf16"},
    {"int5g32h", "i5", "int5", 32, false, "f16"},
    {"affine5g32h", "i5", "affine5", 32, false, "f16"},
    {"int2g64h", "i2", "int2", 64, false, "f16"},
    {"int2g32zh", "i2", "int2", 32, true, "f16"},
    {"int3g128zh", "i3", "int3", 128, true, "f16"},
    {"int3rowh", "i3", "int3", 0, false, "f16"},
    {"int6g32h", "i6", "int6", 32, false, "f16"},
    {"mxfp4", "i4", "codebook4", 32, false, "i8", true, "table", "f32"},
    {"nvfp4", "i4", "codebook4", 16, false, "i8", true, "table", "f32"},
    {"mxfp8", "f8E4M3FN", "fp8", 32, false, "i8", false, "table", "f32"}};

/// The k-quants, whose rows are whole blocks of 256 columns, and what they come near to.
const Format kBlockFormats[] = {
    {"q2_k", "i2", "affine2", 16, false, "i4", false, "blocks"},
    {"q3_k", "i3", "int3", 16, false, "i6", false, "blocks"},
    {"q4_k", "i4", "affine4", 32, false, "i6", false, "blocks"},
    {"q5_k", "i5", "affine5", 32, false, "i6", false, "blocks"},
    {"q6_k", "i6", "int6", 16, false, "i8", false, "blocks"},
    {"iq4_xs", "i4", "codebook4", 32, false, "i6", true, "blocks"},
    {"int4blocks", "i4", "int4", 64, false, "i4", false, "blocks", "f32"}};

/// A product's shape and types.
struct Product {
  std::string input;
  Format weight;
  std::string result;
  int64_t columns, depth;
  std::string rows = "T"; ///< of the input
  int64_t inputGroup = 0; ///< columns of it that share a scale; 0: all

  /// The scales of an input of 8 bits.
  std::string inputScaleType() const {
    std::string groups = inputGroup ? std::to_string(depth / inputGroup) + "x" : "";
    return "tensor<?x" + groups + "f32, \"" + rows + "\">";
  }
  /// What names of cases end in.
  std::string groupName() const { return inputGroup ? "_by" + std::to_string(inputGroup) : ""; }
  bool quantized() const { return input == "i8" || input == "f8E4M3FN"; }
  bool isInteger() const { return input == "i8"; }
  /// Whether all targets round alike: exact sums may be those of groups or of blocks of scale
  /// codes.
  bool isDetermined() const { return isInteger() && !weight.hasBlocks(); }
  /// What GPUs have no integer products for: offsets, code books, and inputs by groups.
  bool isNativeOnly() const {
    return isInteger() && (!weight.countsInIntegers() || inputGroup != 0);
  }
  int64_t scaleRows() const { return weight.group < 0 ? 1 : columns; }
  int64_t groups() const {
    return weight.group > 0 ? (depth + weight.group - 1) / weight.group : 1;
  }
  std::string weightType() const {
    return llvm::formatv("tensor<{0}x{1}x{2}>", columns, depth, weight.element);
  }
  std::string scaleType() const {
    return llvm::formatv("tensor<{0}x{1}x{2}>", scaleRows(), groups(), weight.scale);
  }
  std::string zeroType() const {
    if (weight.hasCodeBook())
      return "tensor<16xf32>";
    return weight.hasOffsets() ? scaleType()
                               : llvm::formatv("tensor<{0}x{1}xi8>", scaleRows(), groups()).str();
  }

  /// Their codes meet them in blocks of 256 columns.
  std::string superType() const {
    if (weight.hasTable())
      return "tensor<256xf32>";
    return llvm::formatv("tensor<{0}x{1}x{2}>", columns,
                         depth / 256 * (weight.hasOffsets() ? 2 : 1), weight.super);
  }

  /// Two weights of a pair share their code book and table.
  std::string zeros(const std::string &suffix) const {
    return "%z" + (weight.hasCodeBook() ? "" : suffix);
  }
  bool hasOwnZeros(const std::string &suffix) const {
    return weight.hasZeros() && !(weight.hasCodeBook() && suffix == "b");
  }

  std::string superScales(const std::string &suffix) const {
    return "%c" + (weight.hasTable() ? "" : suffix);
  }
  bool hasOwnSuperScales(const std::string &suffix) const {
    return weight.hasSuperScales() && !(weight.hasTable() && suffix == "b");
  }

  /// Parameters of the function: %x, %xs?, %w, %s?, %z?, %c?; names of weights end in `suffix`.
  std::string inputParameters() const {
    std::string text = "%x: " + activation(depth, input, rows);
    if (quantized())
      text += ", %xs: " + inputScaleType() + " {test.role = \"scales\"}";
    return text;
  }
  std::string weightParameters(const std::string &suffix = "") const {
    std::string text = ", %w" + suffix + ": " + weightType();
    if (weight.encoded())
      text += ", %s" + suffix + ": " + scaleType() +
              (weight.hasSuperScales() ? "" : " {test.role = \"scales\"}");
    if (hasOwnZeros(suffix))
      text += ", " + zeros(suffix) + ": " + zeroType() +
              (weight.exactBook && isInteger() ? " {test.role = \"integers\"}"
               : weight.exactBook              ? " {test.role = \"halves\"}"
               : !weight.zeroPoints            ? ""
               : weight.element[1] == '8' ? " {test.role = \"signed_zeros\"}"
                                          : llvm::formatv(" {{test.role = \"zeros\", test.limit = "
                                                          "{0} : i64}",
                                                          2 * Format::middleOf(weight.element))
                                                .str());
    if (hasOwnSuperScales(suffix))
      text += ", " + superScales(suffix) + ": " + superType() + " {test.role = \"super_scales\"}";
    return text;
  }
  /// The operation without epilogue operands and types.
  std::string operation(const std::string &suffix = "") const {
    std::string text = "llm.matmul %x, %w" + suffix;
    if (quantized())
      text += " input_scales(%xs : " + inputScaleType() + ")";
    if (weight.encoded())
      text += " scales(%s" + suffix + " : " + scaleType() + ")";
    if (weight.hasZeros())
      text += " zeros(" + zeros(suffix) + " : " + zeroType() + ")";
    if (weight.hasSuperScales())
      text += " super_scales(" + superScales(suffix) + " : " + superType() + ")";
    return weight.encoded() ? text + " #encoding" : text;
  }
  /// What stands before the function.
  std::string aliases() const {
    if (!weight.encoded())
      return "";
    std::string scales = weight.hasSuperScales() ? std::string(", scales = ") + weight.scales : "";
    return llvm::formatv("#encoding = #llm.encoding<\"{0}\", group = {1}, zero_points = {2}{3}>\n",
                         weight.encoding, weight.group, weight.zeroPoints ? "true" : "false",
                         scales);
  }
  std::string types(const std::string &resultType, const std::string &weight = "") const {
    return " : " + activation(depth, input, rows) + ", " +
           (weight.empty() ? weightType() : weight) + " -> " + resultType;
  }
};

} // namespace

static std::string wrap(const Product &product, const std::string &parameters,
                        const std::string &result, const std::string &body) {
  return product.aliases() + "func.func @f(" + parameters + ") -> " + result + " {\n" + body +
         "  return %y : " + result + "\n}";
}

namespace {

/// The tensors of a weight among the arguments; null where it has none.
struct WeightTensors {
  const HostTensor *values, *scales = nullptr, *zeros = nullptr, *superScales = nullptr;

  /// From argument `next` on, which is left behind them; what `first`, the other weight of a pair,
  /// shares with it is taken from there.
  WeightTensors(const Product &product, const Inputs &inputs, size_t &next,
                const WeightTensors *first = nullptr)
      : values(&inputs.arguments[next++].tensor) {
    const Format &format = product.weight;
    if (format.encoded())
      scales = &inputs.arguments[next++].tensor;
    if (format.hasZeros())
      zeros = first && format.hasCodeBook() ? first->zeros : &inputs.arguments[next++].tensor;
    if (format.hasSuperScales())
      superScales =
          first && format.hasTable() ? first->superScales : &inputs.arguments[next++].tensor;
  }
};

} // namespace

/// The scale (`part` = 0) or offset (1) that element (row, k) has, from `numbers`, which holds them
/// or their codes.
static double scaleOf(const Format &format, const HostTensor &numbers,
                      const HostTensor *superScales, int64_t row, int64_t k, int64_t part) {
  double number = numbers.at(format.group < 0 ? 0 : row, format.group > 0 ? k / format.group : 0);
  if (!superScales)
    return number;
  if (format.hasTable())
    return superScales->at(int64_t(number) & 255);
  int64_t parts = format.hasOffsets() ? 2 : 1;
  double middle = format.hasOffsets() ? 0 : double(Format::middleOf(format.scale));
  return superScales->at(row, k / 256 * parts + part) * (number - middle);
}

/// The numbers that a weight stands for, row by row.
static std::vector<double> weightNumbers(const Product &product, const WeightTensors &tensors) {
  const Format &format = product.weight;
  bool centred = format.countsInIntegers() && !format.zeroPoints;
  double middle = centred ? double(Format::middleOf(format.element)) : 0;
  std::vector<double> numbers;
  for (int64_t column = 0; column < product.columns; ++column)
    for (int64_t k = 0; k < product.depth; ++k) {
      double value = tensors.values->at(column, k) - middle;
      if (format.hasCodeBook())
        value = tensors.zeros->at(int64_t(value));
      else if (format.zeroPoints)
        value -= tensors.zeros->at(format.group < 0 ? 0 : column,
                                   format.group > 0 ? k / format.group : 0);
      if (tensors.scales)
        value *= scaleOf(format, *tensors.scales, tensors.superScales, column, k, 0);
      if (format.hasOffsets())
        value += scaleOf(format, *tensors.zeros, tensors.superScales, column, k, 1);
      numbers.push_back(value);
    }
  return numbers;
}

/// Appends the sums of row `row` of the input with `columns` rows of `weight` from `begin` on, and
/// how far a kernel may be from them.
static void addSums(const Product &product, const Inputs &inputs, const std::vector<double> &weight,
                    int64_t row, int64_t begin, int64_t columns, std::vector<Expected> &sums) {
  // Integer sums are exact; only their scaling and the sum over groups round.
  double error = product.isInteger() ? 1e-6 : 1e-6 * std::sqrt(double(product.depth));
  std::vector<double> x(product.depth);
  for (int64_t k = 0; k < product.depth; ++k) {
    x[k] = inputs.arguments[0].tensor.at(row, k);
    if (product.quantized())
      x[k] *= inputs.arguments[1].tensor.at(row, product.inputGroup ? k / product.inputGroup : 0);
  }
  for (int64_t column = begin; column < begin + columns; ++column) {
    double sum = 0, magnitude = 0;
    for (int64_t k = 0; k < product.depth; ++k) {
      double term = x[k] * weight[column * product.depth + k];
      sum += term;
      magnitude += std::abs(term);
    }
    sums.push_back({sum, error * magnitude});
  }
}

/// Every sum, row by row.
static std::vector<Expected> productOf(const Product &product, const Inputs &inputs,
                                       const WeightTensors &tensors) {
  std::vector<double> weight = weightNumbers(product, tensors);
  std::vector<Expected> sums;
  for (int64_t row = 0; row < inputs.dims.T; ++row)
    addSums(product, inputs, weight, row, 0, product.columns, sums);
  return sums;
}

static Case productCase(const Product &product) {
  Case result;
  result.name = "matmul_" + product.input + "_" + product.weight.name + "_" + product.result + "_" +
                std::to_string(product.columns) + "x" + std::to_string(product.depth) +
                product.groupName();
  std::string type = activation(product.columns, product.result);
  result.plain = wrap(product, product.inputParameters() + product.weightParameters(), type,
                      "  %y = " + product.operation() + product.types(type) + "\n");
  result.oracle = [product](const Inputs &inputs) {
    size_t next = product.quantized() ? 2 : 1;
    std::vector<Expected> expected =
        productOf(product, inputs, WeightTensors(product, inputs, next));
    Type element = elementType(product.result);
    for (Expected &sum : expected)
      sum = stored(element, sum.value, sum.tolerance);
    return expected;
  };
  result.apart = product.isDetermined() ? 0 : 1;
  result.nativeOnly = product.isNativeOnly();
  return result;
}

/// Bias and residual, or a random region, after the product; an exact region only after an exact
/// product.
static Case epilogueCase(const Product &product, const std::string &name,
                         const std::string &region) {
  Case result;
  result.name = "matmul_epilogue_" + name;
  std::string sumType = activation(product.columns, "f32");
  std::string type = activation(product.columns, product.result);
  std::string bias = llvm::formatv("tensor<{0}xbf16>", product.columns);
  std::string rowType = "tensor<?xf32, \"T\">";
  std::string operands = bias + ", " + sumType + ", " + rowType;
  std::string parameters = product.inputParameters() + product.weightParameters() +
                           ", %b: " + bias + ", %r: " + sumType + ", %t: " + rowType;
  result.plain = wrap(product, parameters, type,
                      "  %p = " + product.operation() + product.types(sumType) +
                          "\n  %y = llm.pointwise %p, %b, %r, %t : (" + sumType + ", " + operands +
                          ") -> " + type + " " + region + "\n");
  std::string fused = wrap(product, parameters, type,
                           "  %y = " + product.operation() + " with(%b, %r, %t : " + operands +
                               ")" + product.types(type) + " " + region + "\n");
  result.fused = [fused](int64_t) { return fused; };
  result.apart = product.isDetermined() ? 0 : 2e-4;
  result.tokens = {1, 3, 17};
  return result;
}

/// silu(gate) * up, with the pair's weights interleaved at the target's offset.
static Case pairCase(const Product &half) {
  Case result;
  result.name = std::string("matmul_pair_") + half.input + "_" + half.weight.name + "_" +
                half.result + "_" + std::to_string(half.columns) + "x" +
                std::to_string(half.depth) + half.groupName();
  const std::string region = R"({
^bb0(%left: f32, %right: f32):
  %n = arith.negf %left : f32
  %e = math.exp %n : f32
  %one = arith.constant 1.0 : f32
  %d = arith.addf %e, %one : f32
  %q = arith.divf %left, %d : f32
  %m = arith.mulf %q, %right : f32
  llm.yield %m : f32
})";
  std::string sumType = activation(half.columns, "f32");
  std::string type = activation(half.columns, half.result);
  std::string parameters =
      half.inputParameters() + half.weightParameters("a") + half.weightParameters("b");
  result.plain = wrap(half, parameters, type,
                      "  %g = " + half.operation("a") + half.types(sumType) +
                          "\n  %u = " + half.operation("b") + half.types(sumType) +
                          "\n  %y = llm.pointwise %g, %u : (" + sumType + ", " + sumType + ") -> " +
                          type + " " + region + "\n");
  result.fused = [=](int64_t offset) {
    Product both = half;
    both.columns = (half.columns + offset - 1) / offset * offset * 2;
    auto interleave = [&](const std::string &name, const std::string &from, const std::string &to) {
      return llvm::formatv("  %{0} = llm.interleave_rows %{0}a, %{0}b block {1} : ({2}, {2}) -> "
                           "{3}\n",
                           name, offset, from, to)
          .str();
    };
    std::string body = interleave("w", half.weightType(), both.weightType());
    if (half.weight.encoded())
      body += interleave("s", half.scaleType(), both.scaleType());
    if (half.weight.hasZeros() && !half.weight.hasCodeBook())
      body += interleave("z", half.zeroType(), both.zeroType());
    if (half.weight.hasBlocks())
      body += interleave("c", half.superType(), both.superType());
    body += llvm::formatv("  %y = {0} pair_offset {1}", both.operation(), offset).str() +
            both.types(type) + " " + region + "\n";
    return wrap(half, parameters, type, body);
  };
  result.oracle = [half](const Inputs &inputs) {
    std::vector<Expected> expected;
    size_t next = half.quantized() ? 2 : 1;
    WeightTensors left(half, inputs, next);
    WeightTensors right(half, inputs, next, &left);
    std::vector<Expected> gates = productOf(half, inputs, left);
    std::vector<Expected> ups = productOf(half, inputs, right);
    for (auto [gate, up] : llvm::zip_equal(gates, ups)) {
      double silu = gate.value / (1 + std::exp(-gate.value));
      // |silu'| <= 1.1 and |silu(g)| <= |g|.
      double tolerance = 1.1 * gate.tolerance * std::abs(up.value) + std::abs(silu) * up.tolerance +
                         2e-6 * std::abs(silu * up.value);
      expected.push_back(stored(elementType(half.result), silu * up.value, tolerance));
    }
    return expected;
  };
  result.tokens = {1, 3, 17};
  result.nativeOnly = half.isNativeOnly();
  return result;
}

/// Products with a stack of experts, whose columns are `product`'s.
struct Mixture {
  Product product;
  int64_t experts, each; ///< experts in all, and of a token
  bool shared = true;    ///< whether the rows of a token read one row of the input

  std::string rows() const { return "T * " + std::to_string(each); }
  std::string resultType(const std::string &element) const {
    return activation(product.columns, element, rows());
  }
  Product stack() const {
    Product all = product;
    all.columns *= experts;
    all.rows = shared ? "T" : rows();
    return all;
  }
  std::string orderType() const { return "tensor<?xi32, \"" + rows() + "\">"; }
  std::string startsType() const { return llvm::formatv("tensor<{0}xi32>", experts + 1); }
  std::string parameters() const {
    return stack().inputParameters() + stack().weightParameters() + ", %o: " + orderType() +
           llvm::formatv(" {{test.role = \"order\", test.limit = {0} : i64}", experts).str() +
           ", %g: " + startsType() + " {test.role = \"starts\"}";
  }
  std::string groups() const { return orderType() + ", " + startsType(); }
  std::string operation() const {
    return stack().operation() + " groups(%o, %g : " + groups() + ")";
  }
};

/// The products' sums, row by row.
static std::vector<Expected> sumsOf(const Mixture &mixture, const Inputs &inputs) {
  const Product &product = mixture.product;
  size_t next = product.quantized() ? 2 : 1;
  std::vector<double> weight =
      weightNumbers(mixture.stack(), WeightTensors(mixture.stack(), inputs, next));
  const HostTensor &starts = inputs.arguments.back().tensor;
  const HostTensor &order = inputs.arguments[inputs.arguments.size() - 2].tensor;
  std::vector<std::vector<Expected>> rows(order.size());
  for (int64_t expert = 0; expert < mixture.experts; ++expert)
    for (auto place = int64_t(starts.at(expert)); place < int64_t(starts.at(expert + 1)); ++place) {
      auto row = int64_t(order.at(place));
      addSums(product, inputs, weight, mixture.shared ? row / mixture.each : row,
              expert * product.columns, product.columns, rows[row]);
    }
  std::vector<Expected> sums;
  for (const std::vector<Expected> &row : rows)
    sums.insert(sums.end(), row.begin(), row.end());
  return sums;
}

static Case mixtureCase(const Mixture &mixture) {
  const Product &product = mixture.product;
  Case result;
  result.name = llvm::formatv("matmul_experts_{0}_{1}_{2}_{3}x{4}of{5}{6}", product.input,
                              product.weight.name, product.columns, product.depth, mixture.each,
                              mixture.experts, mixture.shared ? "" : "_own")
                    .str() +
                product.groupName();
  std::string type = mixture.resultType(product.result);
  result.plain = wrap(mixture.stack(), mixture.parameters(), type,
                      "  %y = " + mixture.operation() + mixture.stack().types(type) + "\n");
  result.oracle = [mixture](const Inputs &inputs) {
    std::vector<Expected> expected = sumsOf(mixture, inputs);
    Type element = elementType(mixture.product.result);
    for (Expected &sum : expected)
      sum = stored(element, sum.value, sum.tolerance);
    return expected;
  };
  result.apart = product.isDetermined() ? 0 : 1;
  result.nativeOnly = product.isNativeOnly();
  return result;
}

/// Products with a stack of the weights of `heads` whose rows take turns, whose columns are
/// `product`'s; each weight has `padding` rows more.
static Case headsCase(const Product &product, int64_t heads, int64_t padding = 0) {
  Product stack = product;
  const int64_t rows = product.columns + padding;
  stack.columns = heads * rows;
  stack.rows = "T * " + std::to_string(heads);
  Case result;
  result.name = llvm::formatv("matmul_heads_{0}_{1}_{2}x{3}of{4}", product.input,
                              product.weight.name, product.columns, product.depth, heads);
  std::string type = activation(product.columns, product.result, stack.rows);
  result.plain =
      wrap(stack, stack.inputParameters() + stack.weightParameters(), type,
           llvm::formatv("  %y = {0} heads {1}{2}\n", stack.operation(), heads, stack.types(type)));
  result.oracle = [product, stack, heads, rows](const Inputs &inputs) {
    size_t next = product.quantized() ? 2 : 1;
    std::vector<double> weight = weightNumbers(stack, WeightTensors(stack, inputs, next));
    std::vector<Expected> expected;
    for (int64_t row = 0; row < inputs.dims.T * heads; ++row)
      addSums(product, inputs, weight, row, row % heads * rows, product.columns, expected);
    for (Expected &sum : expected)
      sum = stored(elementType(product.result), sum.value, sum.tolerance);
    return expected;
  };
  result.apart = product.isDetermined() ? 0 : 1;
  return result;
}

/// up * gate / (1 + |gate|) of the halves of each expert's columns, with the weight's rows
/// interleaved at the target's offset.
static Case mixturePairCase(const Mixture &mixture) {
  const Product &product = mixture.product;
  int64_t half = product.columns / 2;
  Case result;
  result.name = llvm::formatv("matmul_experts_pair_{0}_{1}_{2}x{3}of{4}", product.input,
                              product.weight.name, product.columns, mixture.each, mixture.experts);
  const std::string region = R"({
^bb0(%left: f32, %right: f32):
  %a = math.absf %left : f32
  %one = arith.constant 1.0 : f32
  %d = arith.addf %a, %one : f32
  %q = arith.divf %left, %d : f32
  %m = arith.mulf %q, %right : f32
  llm.yield %m : f32
})";
  std::string sums = mixture.resultType("f32"), part = activation(half, "f32", mixture.rows()),
              type = activation(half, product.result, mixture.rows());
  auto slice = [&](const char *name, int64_t first) {
    return llvm::formatv("  %{0} = llm.slice_columns %p from {1} : {2} -> {3}\n", name, first, sums,
                         part)
        .str();
  };
  result.plain = wrap(mixture.stack(), mixture.parameters(), type,
                      "  %p = " + mixture.operation() + mixture.stack().types(sums) + "\n" +
                          slice("l", 0) + slice("r", half) + "  %y = llm.pointwise %l, %r : (" +
                          part + ", " + part + ") -> " + type + " " + region + "\n");
  result.fused = [=](int64_t offset) {
    Product stack = mixture.stack();
    auto interleave = [&](const std::string &name, const std::string &type) {
      return llvm::formatv("  %{0}w = llm.permute_rows %{0} digits [{1}, 2, {2}, {3}] order "
                           "[0, 2, 1, 3] : {4}\n",
                           name, mixture.experts, half / offset, offset, type)
          .str();
    };
    std::string body = interleave("w", stack.weightType());
    if (stack.weight.encoded())
      body += interleave("s", stack.scaleType());
    if (stack.weight.hasZeros() && !stack.weight.hasCodeBook())
      body += interleave("z", stack.zeroType());
    if (stack.weight.hasBlocks())
      body += interleave("c", stack.superType());
    std::string operation = stack.operation("w");
    body += "  %y = " + operation + " pair_offset " + std::to_string(offset) +
            " groups(%o, %g : " + mixture.groups() + ")" + stack.types(type) + " " + region + "\n";
    return wrap(stack, mixture.parameters(), type, body);
  };
  result.oracle = [mixture, half](const Inputs &inputs) {
    std::vector<Expected> sums = sumsOf(mixture, inputs), expected;
    Type element = elementType(mixture.product.result);
    for (size_t row = 0; row < sums.size(); row += size_t(2 * half))
      for (size_t column = row; column < row + size_t(half); ++column) {
        const Expected &left = sums[column], &right = sums[column + size_t(half)];
        // The quotient's slope is at most 1.
        double quotient = left.value / (1 + std::abs(left.value)), value = quotient * right.value;
        double tolerance = left.tolerance * std::abs(right.value) +
                           std::abs(quotient) * right.tolerance + 2e-6 * std::abs(value);
        expected.push_back(stored(element, value, tolerance));
      }
    return expected;
  };
  result.apart = product.isDetermined() ? 0 : 1;
  return result;
}

/// Formats on tensor cores and off them; experts with many rows, with few and with none.
static void addMixtures(std::vector<Case> &cases) {
  auto add = [&](Case added, std::vector<int64_t> tokens, bool full = false) {
    added.tokens = std::move(tokens);
    added.full = full;
    cases.push_back(std::move(added));
  };
  Format bf16 = kFormats[1], int8 = kFormats[3], int4 = kFormats[4], zeros = kFormats[5],
         fp8 = kFormats[9];
  add(mixtureCase({{"f32", kFormats[0], "f32", 48, 172}, 5, 2}), {1, 3, 40});
  add(mixtureCase({{"f32", bf16, "f32", 16, 520}, 3, 2, false}), {1, 19});
  add(mixtureCase({{"bf16", bf16, "bf16", 48, 656}, 5, 2}), {1, 3, 40, 200});
  add(mixtureCase({{"bf16", bf16, "bf16", 160, 64}, 40, 8, false}), {1, 2, 17, 130});
  add(mixtureCase({{"bf16", int4, "bf16", 48, 640}, 4, 3}), {1, 50});
  add(mixtureCase({{"bf16", zeros, "f32", 32, 128}, 70, 4, false}), {1, 9}, true);
  add(mixtureCase({{"bf16", kStoredFormats[9], "f32", 32, 172}, 4, 2}), {1, 9}, true);
  add(mixtureCase({{"bf16", kStoredFormats[10], "bf16", 48, 640}, 4, 3}), {1, 50}, true);
  add(mixtureCase({{"bf16", kStoredFormats[12], "bf16", 48, 640}, 5, 2}), {1, 50});
  add(mixtureCase({{"bf16", kStoredFormats[7], "f32", 48, 640}, 4, 3}), {1, 50});
  add(mixtureCase({{"i8", int8, "f32", 48, 640}, 5, 2}), {1, 33});
  add(mixtureCase({{"i8", int4, "f32", 48, 128}, 5, 2, false}), {1, 33});
  add(mixtureCase({{"f8E4M3FN", fp8, "bf16", 48, 640}, 5, 2}), {1, 33});
  add(mixtureCase({{"bf16", bf16, "bf16", 24, 640}, 1, 1}), {1, 9});
  add(mixturePairCase({{"bf16", bf16, "bf16", 96, 640}, 5, 2}), {1, 21});
  add(mixturePairCase({{"bf16", kStoredFormats[12], "bf16", 96, 640}, 5, 2}), {1, 21});
  add(mixturePairCase({{"f32", zeros, "f32", 64, 192}, 3, 2}), {1, 21});
  add(mixtureCase({{"bf16", kBlockFormats[2], "f32", 48, 512}, 4, 3}), {1, 50});
  add(mixtureCase({{"f16", kBlockFormats[4], "f16", 48, 512}, 5, 2}), {1, 21});
  add(mixturePairCase({{"bf16", kBlockFormats[3], "f32", 96, 512}, 5, 2}), {1, 21});
  add(mixturePairCase({{"i8", int8, "f32", 64, 192}, 3, 2}), {1, 21}, true);
  add(mixtureCase({{"i8", kBlockFormats[3], "f32", 48, 512}, 5, 2}), {1, 50});
  add(headsCase({"f32", kFormats[0], "f32", 48, 24}, 3), {1, 3, 40});
  add(headsCase({"bf16", bf16, "bf16", 64, 128}, 5), {1, 3, 40, 200});
  add(headsCase({"bf16", bf16, "bf16", 16, 48}, 16), {1, 17});
  add(headsCase({"bf16", bf16, "f32", 12, 64}, 4, 4), {1, 40});
  add(headsCase({"bf16", int4, "bf16", 48, 128}, 4), {1, 50});
  add(headsCase({"i8", int8, "f32", 48, 128}, 4), {1, 33});
  Product grouped = {"i8", int4, "f32", 48, 128};
  grouped.inputGroup = 64;
  add(mixtureCase({grouped, 5, 2}), {1, 33});
}

std::vector<Case> conformance::matmulCases() {
  std::vector<Case> cases;
  auto add = [&](Case added, std::vector<int64_t> tokens, bool full = false) {
    added.tokens = std::move(tokens);
    added.full = full;
    cases.push_back(std::move(added));
  };
  for (const Format &format : kFormats)
    for (std::string input : {"f32", "bf16", "f16", "f8E4M3FN", "i8"}) {
      if (input == "i8" && !format.integer())
        continue;
      bool common = input == "f32" || input == "i8" ||
                    (input == "bf16" && (format.name == std::string("bf16") || format.encoded()));
      add(productCase({input, format, input == "bf16" ? "bf16" : "f32", 43, 172}), {1, 3, 17},
          !common);
    }
  for (const Format &format : kStoredFormats)
    for (std::string input : {"f32", "bf16", "f16", "i8"}) {
      if (input == "i8" && !format.meetsIntegers())
        continue;
      add(productCase({input, format, "f32", 43, 172}), {1, 17}, input != "bf16");
      if (input != "f32")
        add(productCase({input, format, "f32", 72, 656}), {1, 9, 70}, input == "f16");
    }
  for (const Format &format : kBlockFormats)
    for (std::string input : {"f32", "bf16", "f16", "i8"}) {
      if (input == "i8" && !format.meetsIntegers())
        continue;
      bool rare = input == "f32" || input == "f16";
      add(productCase({input, format, "f32", 43, 256}), {1, 17}, rare);
      if (input != "f32")
        add(productCase({input, format, "f32", 72, 768}), {1, 9, 70}, input != "bf16");
    }
  // Several segments, tile borders, one column, and products wider than any tile.
  for (auto [columns, depth] : {std::pair<int64_t, int64_t>{172, 1100}, {1, 513}, {700, 64}})
    for (size_t format : {size_t(0), size_t(1), size_t(3), size_t(4), size_t(9)})
      add(productCase({"f32", kFormats[format], "f32", columns, depth}),
          fullGrid() || format == 1 || columns != 172 ? std::vector<int64_t>{1, 2, 64, 129}
                                                      : std::vector<int64_t>{1, 19},
          format > 1 && columns != 172);
  add(productCase({"i8", kFormats[4], "f32", 172, 1100}), {1, 7, 129});
  // Rows of inputs that are whole 16 bytes, as tensor cores want them; two segments.
  for (const Format &format : kFormats)
    for (std::string input : {"bf16", "f16", "f8E4M3FN", "i8"}) {
      bool other = format.name == std::string("f32") || (input == "i8" && !format.integer()) ||
                   (input == "f8E4M3FN" && format.name != std::string("fp8")) ||
                   (format.name == std::string("bf16") && input != "bf16") ||
                   (format.name == std::string("f16") && input != "f16");
      if (!other)
        add(productCase({input, format, "f32", 72, 656}), {1, 9, 33, 70}, input == "f16");
    }
  // Whole tiles of AMX, in all of their shapes: full, half and rests of a row; blocks of k.
  auto addTiled = [&](const Format &format, int64_t depth) {
    for (std::string input : {"i8", "bf16", "f16"}) {
      if (input == "i8" ? !format.meetsIntegers() : !format.encoded())
        continue;
      Case tiled = productCase({input, format, "f32", 72, depth});
      tiled.nativeOnly = true;
      bool rare = format.group != 128;
      add(tiled, input == "i8" ? std::vector<int64_t>{7, 33, 70} : std::vector<int64_t>{1, 7, 70},
          input == "f16" && rare);
    }
  };
  for (const Format &format : kFormats)
    addTiled(format, 1280);
  for (const Format &format : kStoredFormats)
    addTiled(format, 1152);
  for (const Format &format : kBlockFormats)
    addTiled(format, 1280);
  for (auto [input, format] : {std::pair("f8E4M3FN", 9), {"f16", 1}, {"f16", 5}}) {
    Case tiled = productCase({input, kFormats[format], "f32", 72, 640});
    tiled.nativeOnly = true;
    add(tiled, {1, 17, 300});
  }
  // bf16 by bf16 on AMX: rows of less than a tile, and blocks of k.
  Case pairs = productCase({"bf16", kFormats[1], "f32", 72, 640});
  pairs.nativeOnly = true;
  add(pairs, {1, 5, 17, 33, 70, 300});
  // Segments enough that few multiprocessors share them and many do not.
  add(productCase({"bf16", kFormats[6], "f32", 200, 2080}), {9, 70}, true);
  add(productCase({"i8", kFormats[3], "f32", 200, 2080}), {9, 70}, true);
  add(productCase({"bf16", kBlockFormats[2], "f32", 200, 2048}), {9, 70}, true);
  // Rows enough that blocks of a cluster share the segments.
  add(productCase({"bf16", kFormats[6], "f32", 1032, 1280}), {3, 70});
  add(productCase({"f8E4M3FN", kFormats[9], "bf16", 1024, 1040}), {9, 20});
  add(pairCase({"bf16", kFormats[5], "bf16", 520, 640}), {3, 33});
  add(productCase({"f16", kFormats[2], "f16", 65, 96}), {1, 17});
  // Tiles of many tokens, and e4m3 on both sides with groups.
  for (auto [input, format] : {std::pair("bf16", 1), {"bf16", 6}, {"f8E4M3FN", 9}})
    add(productCase({input, kFormats[format], "bf16", 136, 1040}), {129, 300});
  add(productCase({"f8E4M3FN", kStoredFormats[5], "f32", 72, 656}), {1, 17, 70});

  // Groups of the input with scales of their own: narrower than the weight's, wider, or the same.
  auto addGrouped = [&](const Format &format, int64_t group, int64_t columns, int64_t depth,
                        std::vector<int64_t> tokens, bool full = false) {
    Product product = {"i8", format, "f32", columns, depth};
    product.inputGroup = group;
    add(productCase(product), std::move(tokens), full);
  };
  for (int64_t group : {32, 64, 128}) {
    for (const Format &format : kFormats)
      if (format.integer())
        addGrouped(format, group, 72, 1280, {1, 9, 70}, group != 32);
    for (const Format &format : kStoredFormats)
      if (format.meetsIntegers())
        addGrouped(format, group, 72, 1152, {1, 9, 70}, group != 64 || !format.hasZeros());
    for (const Format &format : kBlockFormats)
      if (format.meetsIntegers())
        addGrouped(format, group, 72, 768, {1, 9, 70}, group != 128 || !format.hasOffsets());
  }
  for (size_t format : {3, 4, 8})
    addGrouped(kFormats[format], 32, 43, 96, {1, 3, 17});
  Product grouped = {"i8", kFormats[4], "bf16", 43, 384};
  grouped.inputGroup = 128;
  add(pairCase(grouped), {1, 17});

  const std::string addRegion = R"({
^bb0(%sum: f32, %bias: f32, %rest: f32, %factor: f32):
  %0 = arith.addf %sum, %bias : f32
  %1 = arith.mulf %0, %factor : f32
  %2 = arith.addf %1, %rest : f32
  llm.yield %2 : f32
})";
  Product exact = {"i8", kFormats[3], "f32", 43, 172};
  Product inexact = {"f32", kFormats[1], "f32", 43, 172};
  cases.push_back(epilogueCase(exact, "add_exact", addRegion));
  cases.push_back(epilogueCase(inexact, "add", addRegion));
  for (uint64_t seed = 0; seed < 24; ++seed) {
    Case random = epilogueCase(seed % 2 ? exact : inexact, "random" + std::to_string(seed),
                               randomRegion(4, seed % 2, seed));
    add(random, {1, 3, 17}, seed >= 6);
  }
  cases.push_back(pairCase({"f32", kFormats[0], "f32", 43, 172}));
  cases.push_back(pairCase({"bf16", kFormats[1], "bf16", 96, 600}));
  add(pairCase({"bf16", kFormats[5], "bf16", 70, 172}), {1, 17});
  add(pairCase({"i8", kFormats[3], "f32", 43, 172}), {1, 17});
  add(pairCase({"bf16", kStoredFormats[3], "f32", 43, 172}), {1, 17});
  add(pairCase({"bf16", kStoredFormats[7], "f32", 43, 172}), {1, 17});
  add(pairCase({"bf16", kFormats[5], "bf16", 70, 640}), {1, 17});
  add(pairCase({"bf16", kStoredFormats[9], "f32", 72, 640}), {1, 17});
  add(pairCase({"bf16", kStoredFormats[10], "f32", 72, 640}), {1, 17});
  add(pairCase({"bf16", kBlockFormats[0], "f32", 72, 512}), {1, 17});
  add(pairCase({"bf16", kBlockFormats[4], "bf16", 43, 512}), {1, 17});
  add(pairCase({"i8", kBlockFormats[0], "f32", 72, 512}), {1, 17});
  add(pairCase({"bf16", kStoredFormats[25], "f32", 72, 640}), {1, 17});
  add(pairCase({"i8", kFormats[3], "bf16", 72, 640}), {1, 17}, true);
  add(pairCase({"i8", kFormats[5], "bf16", 43, 172}), {1, 17}, true);
  add(pairCase({"f8E4M3FN", kFormats[9], "bf16", 43, 172}), {1, 17}, true);
  addMixtures(cases);
  return cases;
}
