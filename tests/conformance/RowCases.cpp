// SPDX-License-Identifier: Apache-2.0
// Operations that work row by row: embedding, norm, point-wise, rounding, moving, rotary embedding.
#include "tests/conformance/Cases.h"

#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace ingot;
using namespace ingot::conformance;
using llvm::formatv;

static std::string function(const std::string &parameters, const std::string &results,
                            const std::string &body, const std::string &returned) {
  return "func.func @f(" + parameters + ") -> (" + results + ") {\n" + body + "  return " +
         returned + " : " + results + "\n}";
}

static Case embedCase(const std::string &name, const std::string &element,
                      const std::string &encoding, const std::string &scale, int64_t group,
                      const std::string &result) {
  bool blocks = encoding.find("scales = blocks") != std::string::npos;
  bool listed = encoding.find("scales = table") != std::string::npos;
  const int64_t kRows = 61, kColumns = blocks ? 512 : 172;
  int64_t groups = group > 0 ? (kColumns + group - 1) / group : 1;
  bool zeroPoints = encoding.find("zero_points = true") != std::string::npos;
  bool offsets = encoding.find("affine") != std::string::npos;
  bool codeBook = encoding.find("codebook") != std::string::npos;
  std::string type = activation(kColumns, result);
  std::string table = formatv("tensor<{0}x{1}x{2}>", kRows, kColumns, element);
  std::string scales = formatv("tensor<{0}x{1}x{2}>", kRows, groups, scale);
  std::string zeros = codeBook  ? "tensor<16xf32>"
                      : offsets ? scales
                                : formatv("tensor<{0}x{1}xi8>", kRows, groups).str();
  std::string parameters =
      "%t: tensor<?xi32, \"T\"> {test.role = \"tokens\", test.limit = 61 : i64}, %w: " + table;
  std::string op = "  %y = llm.embed %t, %w";
  int64_t parts = offsets ? 2 : 1;
  std::string superScales =
      blocks ? formatv("tensor<{0}x{1}xf16>", kRows, kColumns / 256 * parts).str()
             : "tensor<256xf32>";
  if (!encoding.empty()) {
    parameters += ", %s: " + scales + (blocks || listed ? "" : " {test.role = \"scales\"}");
    op += " scales(%s : " + scales + ")";
  }
  if (zeroPoints || offsets || codeBook) {
    std::string role = element == "i4" ? "zeros" : "signed_zeros";
    parameters += ", %z: " + zeros + (zeroPoints ? " {test.role = \"" + role + "\"}" : "");
    op += " zeros(%z : " + zeros + ")";
  }
  if (blocks || listed) {
    parameters += ", %u: " + superScales + " {test.role = \"super_scales\"}";
    op += " super_scales(%u : " + superScales + ")";
  }
  op += (encoding.empty() ? "" : " #encoding") + std::string(" : tensor<?xi32, \"T\">, ") + table +
        " -> " + type + "\n";
  Case built;
  built.name = "embed_" + name;
  built.plain = (encoding.empty() ? "" : "#encoding = " + encoding + "\n") +
                function(parameters, type, op, "%y");
  built.oracle = [=](const Inputs &inputs) {
    std::vector<Expected> expected;
    const HostTensor &w = inputs.arguments[1].tensor;
    auto middleOf = [](const std::string &integer) {
      return integer[1] == '8' ? 0 : 1 << (integer[1] - '1');
    };
    // The scale or offset that argument `argument` holds, or has the code of.
    auto numberOf = [&](size_t argument, int64_t token, int64_t column, int64_t part) {
      double number = inputs.arguments[argument].tensor.at(token, group > 0 ? column / group : 0);
      const HostTensor &superScales = inputs.arguments.back().tensor;
      if (listed)
        return superScales.at(int64_t(number) & 255);
      if (!blocks)
        return number;
      number -= offsets ? 0 : middleOf(scale);
      return double(float(superScales.at(token, column / 256 * parts + part) * number));
    };
    for (int64_t row = 0; row < inputs.dims.T; ++row) {
      auto token = int64_t(inputs.arguments[0].tensor.at(row));
      token = token < 0 || token >= kRows ? 0 : token;
      for (int64_t column = 0; column < kColumns; ++column) {
        double value = w.at(token, column);
        if (codeBook)
          value = inputs.arguments[3].tensor.at(int64_t(value));
        else if (zeroPoints)
          value -= inputs.arguments[3].tensor.at(token, group > 0 ? column / group : 0);
        else if (element[0] == 'i' && !offsets)
          value -= middleOf(element);
        if (!encoding.empty())
          value = double(float(numberOf(2, token, column, 0) * value));
        if (offsets)
          value = double(float(value + numberOf(3, token, column, 1)));
        expected.push_back({rounded(elementType(result), value), 0});
      }
    }
    return expected;
  };
  return built;
}

/// What a norm does beside dividing; numbers of `weight` and `bias` count from `first` on.
struct NormParts {
  const HostTensor *weight = nullptr, *bias = nullptr;
  bool centered = false;
  int64_t first = 0;
};

/// c / sqrt(mean(c^2) + eps) * w + b of one row, in double precision.
static std::vector<double> normOf(std::vector<double> row, const NormParts &parts) {
  double sum = 0, squares = 0;
  for (double value : row)
    sum += value;
  for (double &value : row) {
    value -= parts.centered ? sum / double(row.size()) : 0;
    squares += value * value;
  }
  double root = std::sqrt(squares / double(row.size()) + double(1e-5f));
  std::vector<double> result;
  for (size_t i = 0; i < row.size(); ++i) {
    int64_t place = parts.first + int64_t(i);
    double y = row[i] / root * (parts.weight ? parts.weight->at(place) : 1);
    result.push_back(y + (parts.bias ? parts.bias->at(place) : 0));
  }
  return result;
}

/// RMSNorm or LayerNorm.
enum class Norm { Rms, Layer, LayerBias };

/// `heads`: that a row of `columns` has, each normed by itself; `differ`: with its own numbers.
static Case normCase(const std::string &input, const std::string &result, int64_t columns,
                     bool weighted, int64_t heads = 1, Norm kind = Norm::Rms, bool differ = false) {
  std::string in = activation(columns, input), out = activation(columns, result);
  int64_t headDim = columns / heads;
  bool centered = kind != Norm::Rms, biased = kind == Norm::LayerBias;
  std::string weight = formatv("tensor<{0}xf32>", differ ? columns : headDim);
  std::string perHead = heads > 1 ? formatv(" head_dim {0}", headDim).str() : "";
  Case built;
  built.name = std::string(centered ? "layer_norm_" : "rms_norm_") + input + "_" + result + "_" +
               std::to_string(columns) + (weighted ? "_weight" : "") + (biased ? "_bias" : "") +
               (heads > 1 ? "_" + std::to_string(heads) : "") + (differ ? "_apart" : "");
  built.plain = function(
      "%x: " + in + (weighted ? ", %w: " + weight : "") + (biased ? ", %b: " + weight : ""), out,
      std::string("  %y = llm.norm %x") + (centered ? " centered" : "") +
          (weighted ? " weight(%w : " + weight + ")" : "") +
          (biased ? " bias(%b : " + weight + ")" : "") + " eps 1.0e-5" + perHead + " : " + in +
          " -> " + out + "\n",
      "%y");
  built.oracle = [=](const Inputs &inputs) {
    std::vector<Expected> expected;
    const HostTensor &x = inputs.arguments[0].tensor;
    NormParts parts = {weighted ? &inputs.arguments[1].tensor : nullptr,
                       biased ? &inputs.arguments[weighted ? 2 : 1].tensor : nullptr, centered};
    for (int64_t row = 0; row < x.rows * heads; ++row) {
      std::vector<double> values;
      double most = 0;
      for (int64_t i = 0; i < headDim; ++i) {
        values.push_back(x.at(row / heads, row % heads * headDim + i));
        most = std::max(most, std::abs(values.back()));
      }
      parts.first = differ ? row % heads * headDim : 0;
      // What the mean takes away leaves the error of what was there.
      double apart = centered ? 1e-6 * (1 + most) : 0;
      for (double y : normOf(values, parts))
        expected.push_back(stored(elementType(result), y, 3e-6 * std::abs(y) + apart));
    }
    return expected;
  };
  return built;
}

/// A static scale as a parameter, and how operations take it.
static const std::string kScaleParameter = ", %k: tensor<1xf32> {test.role = \"scales\"}";
static const std::string kScaleOperand = " static(%k : tensor<1xf32>)";

/// The type of the scales of quantized rows.
static std::string scaleType(int64_t columns, int64_t group) {
  return "tensor<?x" + (group ? std::to_string(columns / group) + "x" : "") + "f32, \"T\">";
}

/// The fused norm: of a sum, into 8 bits, or both. `fixed`: with a static scale.
/// `group`: columns of the quantized row that share a scale; 0: all.
static Case fusedNormCase(const std::string &store, const std::string &quantized, bool residual,
                          int64_t columns, bool fixed = false, int64_t group = 0,
                          bool centered = false) {
  std::string in = activation(columns, store), wide = activation(columns, "f32");
  std::string weight = formatv("tensor<{0}xbf16>", columns);
  std::string out = quantized.empty() ? in : activation(columns, quantized);
  std::string scales = scaleType(columns, group);
  std::string parameters = "%x: " + in + (residual ? ", %r: " + in : "") + ", %w: " + weight +
                           (centered ? ", %b: " + weight : "") + (fixed ? kScaleParameter : "");
  std::string scale = fixed ? kScaleOperand : "";
  std::string results = out, returned = "%y";
  std::string plain, op = "llm.norm %x", types = " : " + in + " -> " + out;
  std::string source = "%x";
  if (!quantized.empty()) {
    results += ", " + scales;
    returned += ", %q";
    types += " scales " + scales;
  }
  if (residual) {
    plain = "  %s = llm.pointwise %x, %r : (" + in + ", " + in + ") -> " + in + " {\n" +
            "  ^bb0(%a: f32, %c: f32):\n    %d = arith.addf %a, %c : f32\n" +
            "    llm.yield %d : f32\n  }\n";
    source = "%s";
    results += ", " + in;
    returned += ", %s";
    op += " plus(%r : " + in + ")";
    types += " sum " + in;
  }
  std::string numbers = (centered ? " centered" : "") + (" weight(%w : " + weight + ")") +
                        (centered ? " bias(%b : " + weight + ")" : "");
  std::string norm = "llm.norm " + source + numbers + " eps 1.0e-5 : " + in;
  if (quantized.empty())
    plain += "  %y = " + norm + " -> " + in + "\n";
  else
    plain += "  %n = " + norm + " -> " + in + "\n  %y, %q = llm.quantize_activation %n" + scale +
             " : " + in + " -> " + out + ", " + scales + "\n";
  op += numbers + scale + " eps 1.0e-5" + (quantized.empty() ? "" : " store " + store) + types;
  std::string names =
      "%y" + std::string(quantized.empty() ? "" : ", %q") + (residual ? ", %s" : "");
  std::string fused = function(parameters, results, "  " + names + " = " + op + "\n", returned);
  Case built;
  built.name = (centered ? "layer_norm_fused_" : "rms_norm_fused_") + store + "_" + quantized +
               (residual ? "_residual" : "") + "_" + std::to_string(columns) +
               (fixed ? "_static" : "") + (group ? "_by" + std::to_string(group) : "");
  built.nativeOnly = group != 0;
  built.plain = function(parameters, results, plain, returned);
  built.fused = [fused](int64_t) { return fused; };
  built.apart = 1e-5;
  built.stepsApart = true;
  return built;
}

static Case pointwiseCase(const std::string &name, const std::string &region, double apart) {
  constexpr int64_t kColumns = 172;
  std::string full = activation(kColumns, "f32"), half = activation(kColumns, "f16");
  std::string types = full + ", " + half + ", tensor<172xbf16>, tensor<?xf32, \"T\">";
  Case built;
  built.name = "pointwise_" + name;
  built.plain = function(
      "%a: " + full + ", %b: " + half + ", %c: tensor<172xbf16>, %d: tensor<?xf32, \"T\">", full,
      "  %y = llm.pointwise %a, %b, %c, %d : (" + types + ") -> " + full + " " + region + "\n",
      "%y");
  built.apart = apart;
  built.tokens = {1, 7};
  return built;
}

/// The mathematics of point-wise regions, each function alone against the C library.
static Case functionCase(const std::string &op, double (*function_)(double)) {
  std::string type = activation(172, "f32");
  Case built;
  built.name = "pointwise_" + op.substr(op.find('.') + 1);
  built.plain = function("%a: " + type, type,
                         "  %y = llm.pointwise %a : (" + type + ") -> " + type +
                             " {\n  ^bb0(%x: f32):\n    %r = " + op +
                             " %x : f32\n    llm.yield %r : f32\n  }\n",
                         "%y");
  built.oracle = [=](const Inputs &inputs) {
    std::vector<Expected> expected;
    const HostTensor &x = inputs.arguments[0].tensor;
    for (int64_t i = 0; i < x.size(); ++i) {
      double value = function_(x.at(i));
      expected.push_back({value, std::isfinite(value) ? 4e-7 * std::abs(value) + 1e-38 : 0});
    }
    return expected;
  };
  built.scale = 8;
  built.tokens = {1, 17};
  return built;
}

/// Every comparison of sqrt(a), which is NaN for half of the elements, with b or with itself: bit i
/// of the result says what the predicate of that place says.
static Case compareCase(bool withItself) {
  struct Predicate {
    const char *name;
    bool less, equal, greater, unordered;
  };
  static constexpr Predicate predicates[] = {
      {"oeq", false, true, false, false}, {"ogt", false, false, true, false},
      {"oge", false, true, true, false},  {"olt", true, false, false, false},
      {"ole", true, true, false, false},  {"one", true, false, true, false},
      {"ord", true, true, true, false},   {"ueq", false, true, false, true},
      {"ugt", false, false, true, true},  {"uge", false, true, true, true},
      {"ult", true, false, false, true},  {"ule", true, true, false, true},
      {"une", true, false, true, true},   {"uno", false, false, false, true}};
  std::string type = activation(172, "f32"), right = withItself ? "%s" : "%y";
  std::string region = "{\n  ^bb0(%x: f32, %y: f32):\n    %s = math.sqrt %x : f32\n"
                       "    %none = arith.constant 0.0 : f32\n";
  for (size_t i = 0; i < std::size(predicates); ++i)
    region += formatv("    %c{0} = arith.constant {1}.0 : f32\n"
                      "    %f{0} = arith.cmpf {2}, %s, {3} : f32\n"
                      "    %v{0} = arith.select %f{0}, %c{0}, %none : f32\n"
                      "    %t{0} = arith.addf {4}, %v{0} : f32\n",
                      i, 1 << i, predicates[i].name, right,
                      i ? "%t" + std::to_string(i - 1) : std::string("%none"))
                  .str();
  region += formatv("    llm.yield %t{0} : f32\n  }", std::size(predicates) - 1).str();
  Case built;
  built.name = withItself ? "pointwise_compare_itself" : "pointwise_compare";
  built.plain = function("%a: " + type + ", %b: " + type, type,
                         "  %y = llm.pointwise %a, %b : (" + type + ", " + type + ") -> " + type +
                             " " + region + "\n",
                         "%y");
  built.oracle = [withItself](const Inputs &inputs) {
    std::vector<Expected> expected;
    for (int64_t i = 0; i < inputs.arguments[0].tensor.size(); ++i) {
      auto a = float(std::sqrt(inputs.arguments[0].tensor.at(i)));
      auto b = withItself ? a : float(inputs.arguments[1].tensor.at(i));
      double bits = 0;
      for (size_t p = 0; p < std::size(predicates); ++p) {
        const Predicate &one = predicates[p];
        bool unordered = std::isnan(a) || std::isnan(b);
        bool holds = unordered ? one.unordered
                     : a < b   ? one.less
                     : a == b  ? one.equal
                               : one.greater;
        bits += holds ? 1 << p : 0;
      }
      expected.push_back({bits, 0});
    }
    return expected;
  };
  built.tokens = {1, 7};
  return built;
}

/// Operations whose oracle looks at one element at a time.
static Case elementCase(const std::string &name, const std::string &parameters,
                        const std::string &resultType, const std::string &op,
                        std::function<double(const Inputs &, int64_t row, int64_t column)> value,
                        int64_t columns, bool logitRows = false) {
  Case built;
  built.name = name;
  built.plain = function(parameters, resultType, "  %y = " + op + "\n", "%y");
  built.oracle = [=](const Inputs &inputs) {
    std::vector<Expected> expected;
    for (int64_t row = 0; row < (logitRows ? inputs.dims.L : inputs.dims.T); ++row)
      for (int64_t column = 0; column < columns; ++column)
        expected.push_back({value(inputs, row, column), 0});
    return expected;
  };
  return built;
}

static Case roundCase(const std::string &from, const std::string &to) {
  std::string in = activation(43, from), out = activation(43, to);
  return elementCase(
      "round_" + from + "_" + to, "%x: " + in, out, "llm.round %x : " + in + " to " + out,
      [to](const Inputs &inputs, int64_t row, int64_t column) {
        return rounded(elementType(to), inputs.arguments[0].tensor.at(row, column));
      },
      43);
}

static Case quantizeCase(const std::string &from, const std::string &to, bool fixed = false,
                         int64_t group = 0) {
  const int64_t kColumns = group ? 5 * group : 172;
  std::string in = activation(kColumns, from), out = activation(kColumns, to);
  std::string scales = scaleType(kColumns, group);
  Case built;
  built.name = "quantize_activation_" + from + "_" + to + (fixed ? "_static" : "") +
               (group ? "_by" + std::to_string(group) : "");
  built.nativeOnly = group != 0;
  built.plain = function("%x: " + in + (fixed ? kScaleParameter : ""), out + ", " + scales,
                         "  %y, %s = llm.quantize_activation %x" + (fixed ? kScaleOperand : "") +
                             " : " + in + " -> " + out + ", " + scales + "\n",
                         "%y, %s");
  const int64_t each = group ? group : kColumns;
  built.oracle = [to, fixed, each](const Inputs &inputs) {
    float limit = to == "i8" ? 127.0f : 448.0f;
    const HostTensor &x = inputs.arguments[0].tensor;
    std::vector<Expected> values, scales;
    for (int64_t first = 0; first < x.rows * x.columns; first += each) {
      float amax = 0;
      for (int64_t i = first; i < first + each; ++i)
        amax = std::max(amax, float(std::abs(x.at(i))));
      float scale = fixed      ? float(inputs.arguments[1].tensor.at(0))
                    : amax > 0 ? amax / limit
                               : 1.0f;
      for (int64_t i = first; i < first + each; ++i) {
        float quotient = float(x.at(i)) / scale;
        quotient = fixed ? std::clamp(quotient, -limit, limit) : quotient;
        values.push_back(
            {to == "i8" ? std::nearbyint(quotient) : rounded(elementType(to), quotient), 0});
      }
      scales.push_back({scale, 0});
    }
    values.insert(values.end(), scales.begin(), scales.end());
    return values;
  };
  return built;
}

/// `pairs`: that rotate; 0: all.
/// `axes`: of the frequencies, where they have any. `each`: rows of a token. `interleaved`: columns
/// of a pair stand side by side.
static Case ropeCase(const std::string &element, int64_t heads, int64_t headDim, int64_t pairs = 0,
                     const std::string &name = {}, const std::vector<int64_t> &axes = {},
                     int64_t each = 1, bool interleaved = false) {
  int64_t columns = heads * headDim, half = pairs ? pairs : headDim / 2;
  int64_t count = axes.empty() ? 1 : *std::max_element(axes.begin(), axes.end()) + 1;
  auto rows = [](int64_t each) { return each > 1 ? "T * " + std::to_string(each) : "T"; };
  std::string type = activation(columns, element, rows(each));
  std::string positions = "tensor<?xi32, \"" + rows(each * count) + "\">";
  std::string role = axes.empty() ? "test.role = \"positions\"" : "test.limit = 1048376 : i64";
  std::string frequencies = formatv("tensor<{0}xf32>", half);
  Case built;
  built.name = formatv("rope_{0}_{1}x{2}", element, heads, headDim);
  if (pairs)
    built.name += "_" + std::to_string(pairs);
  built.name += (interleaved ? "_pairs" : "") + name;
  built.plain =
      function("%x: " + type + ", %p: " + positions + " {" + role + "}, %f: " + frequencies +
                   " {test.role = \"frequencies\"}",
               type,
               formatv("  %y = llm.rope %x, %p, %f head_dim {0} factor 1.25 {1}: {2}, {3}, {4} -> "
                       "{2}\n",
                       headDim, axesText(axes) + (interleaved ? "interleaved " : ""), type,
                       positions, frequencies),
               "%y");
  built.oracle = [=](const Inputs &inputs) {
    std::vector<Expected> expected;
    const HostTensor &x = inputs.arguments[0].tensor;
    for (int64_t row = 0; row < x.rows; ++row)
      for (int64_t column = 0; column < columns; ++column) {
        int64_t i = column % headDim, pair = interleaved ? i / 2 : i % half;
        if (i >= 2 * half) {
          expected.push_back({x.at(row, column), 0});
          continue;
        }
        int64_t place = row * count + (axes.empty() ? 0 : axes[size_t(pair)]);
        float angle = float(inputs.arguments[1].tensor.at(place)) *
                      float(inputs.arguments[2].tensor.at(pair));
        double c = std::cos(double(angle)) * 1.25, s = std::sin(double(angle)) * 1.25;
        int64_t first = column - i + pair * (interleaved ? 2 : 1);
        double a = x.at(row, first), b = x.at(row, first + (interleaved ? 1 : half));
        double value = (interleaved ? i % 2 == 0 : i < half) ? a * c - b * s : b * c + a * s;
        expected.push_back(stored(elementType(element), value, 4e-7 * (std::abs(a) + std::abs(b))));
      }
    return expected;
  };
  built.maxPosition = (1 << 20) - 200;
  return built;
}

static Case gatherCase(const std::string &element) {
  std::string in = activation(43, element), out = activation(43, element, "L");
  return elementCase(
      "gather_rows_" + element, "%x: " + in + ", %r: tensor<?xi32, \"L\"> {test.role = \"rows\"}",
      out, "llm.gather_rows %x, %r : " + in + ", tensor<?xi32, \"L\"> -> " + out,
      [](const Inputs &inputs, int64_t row, int64_t column) {
        auto source = int64_t(inputs.arguments[1].tensor.at(row));
        return inputs.arguments[0].tensor.at(source, column);
      },
      43, /*logitRows=*/true);
}

static Case placeCase(const std::string &rows, const std::string &given, int64_t columns,
                      bool added = false) {
  std::string type = activation(columns, rows), from = activation(columns, given, "L");
  return elementCase(
      formatv("place_rows_{0}_{1}_{2}{3}", rows, given, columns, added ? "_added" : ""),
      "%x: " + type + ", %g: " + from + ", %p: tensor<?xi32, \"T\"> {test.role = \"places\"}", type,
      std::string("llm.place_rows %x, %g at %p ") + (added ? "added : " : ": ") + type + ", " +
          from + ", tensor<?xi32, \"T\">",
      [rows, added](const Inputs &inputs, int64_t row, int64_t column) {
        auto place = int64_t(inputs.arguments[2].tensor.at(row));
        double own = inputs.arguments[0].tensor.at(row, column);
        if (place < 0)
          return own;
        const double placed = inputs.arguments[1].tensor.at(place, column);
        return rounded(elementType(rows), added ? double(float(own) + float(placed)) : placed);
      },
      columns);
}

static Case gatherColumnsCase(const std::string &element, int64_t columns) {
  std::string in = activation(172, element), out = activation(columns, element);
  std::string indices = formatv("tensor<{0}xi32>", columns);
  return elementCase(
      "gather_columns_" + element + "_" + std::to_string(columns),
      "%x: " + in + ", %k: " + indices + " {test.limit = 172 : i64}", out,
      "llm.gather_columns %x, %k : " + in + ", " + indices + " -> " + out,
      [](const Inputs &inputs, int64_t row, int64_t column) {
        return inputs.arguments[0].tensor.at(row, int64_t(inputs.arguments[1].tensor.at(column)));
      },
      columns);
}

static Case sliceCase(const std::string &element) {
  std::string in = activation(172, element), out = activation(43, element);
  return elementCase(
      "slice_columns_" + element, "%x: " + in, out,
      "llm.slice_columns %x from 101 : " + in + " -> " + out,
      [](const Inputs &inputs, int64_t row, int64_t column) {
        return inputs.arguments[0].tensor.at(row, 101 + column);
      },
      43);
}

static double inverseRoot(double x) { return 1 / std::sqrt(x); }

std::vector<Case> conformance::rowCases() {
  std::vector<Case> cases;
  auto add = [&](Case added, bool full = false) {
    added.full = full;
    cases.push_back(std::move(added));
  };
  add(embedCase("f32", "f32", "", "f32", 0, "f32"));
  add(embedCase("bf16", "bf16", "", "f32", 0, "bf16"));
  add(embedCase("f16", "f16", "", "f32", 0, "f32"));
  add(embedCase("int8", "i8", "#llm.encoding<\"int8\", group = 0, zero_points = false>", "f32", 0,
                "f32"));
  add(embedCase("int4", "i4", "#llm.encoding<\"int4\", group = 32, zero_points = false>", "bf16",
                32, "bf16"));
  add(embedCase("int4z", "i4", "#llm.encoding<\"int4\", group = 64, zero_points = true>", "bf16",
                64, "f32"));
  add(embedCase("int8z", "i8", "#llm.encoding<\"int8\", group = 64, zero_points = true>", "f16", 64,
                "f32"));
  add(embedCase("int3", "i3", "#llm.encoding<\"int3\", group = 0, zero_points = false>", "f16", 0,
                "f32"));
  add(embedCase("q5_k", "i5",
                "#llm.encoding<\"affine5\", group = 32, zero_points = false, scales = blocks>",
                "i6", 32, "f32"));
  add(embedCase("q6_k", "i6",
                "#llm.encoding<\"int6\", group = 16, zero_points = false, scales = blocks>", "i8",
                16, "bf16"));
  add(embedCase("mxfp4", "i4",
                "#llm.encoding<\"codebook4\", group = 32, zero_points = false, scales = table>",
                "i8", 32, "f32"));
  add(embedCase("affine4", "i4", "#llm.encoding<\"affine4\", group = 32, zero_points = false>",
                "f16", 32, "f32"));
  add(embedCase("affine8", "i8", "#llm.encoding<\"affine8\", group = 16, zero_points = false>",
                "f32", 16, "bf16"));
  add(embedCase("codebook4", "i4", "#llm.encoding<\"codebook4\", group = 32, zero_points = false>",
                "f16", 32, "f32"));
  add(embedCase("fp8", "f8E4M3FN", "#llm.encoding<\"fp8\", group = 0, zero_points = false>", "f32",
                0, "f16"));
  for (int64_t columns : {43, 172, 600})
    for (std::string result : {"f32", "bf16"})
      add(normCase(columns == 43 ? "f32" : result, result, columns, columns != 43));
  add(normCase("f16", "f16", 172, true), true);
  for (auto [heads, headDim] : {std::pair<int64_t, int64_t>{5, 16}, {3, 128}, {2, 260}})
    add(normCase("bf16", "bf16", heads * headDim, headDim != 16, heads));
  add(normCase("f32", "f32", 4 * 42, true, 4));
  for (int64_t columns : {1, 43, 1100, 2049})
    add(normCase("f32", "f32", columns, true, 1, Norm::LayerBias), columns < 1000);
  add(normCase("bf16", "bf16", 172, true, 1, Norm::Layer));
  add(normCase("f32", "f32", 300, false, 1, Norm::Layer));
  add(normCase("f32", "bf16", 4 * 42, true, 4, Norm::Layer, /*differ=*/true));
  add(normCase("f32", "f32", 3 * 64, true, 3, Norm::LayerBias, /*differ=*/true));
  add(normCase("bf16", "bf16", 4 * 64, true, 4, Norm::Rms, /*differ=*/true));
  add(fusedNormCase("f32", "", true, 600, false, 0, /*centered=*/true));
  add(fusedNormCase("bf16", "i8", true, 172, false, 0, /*centered=*/true));
  for (std::string store : {"f32", "bf16"})
    for (std::string quantized : {"", "i8", "f8E4M3FN"}) {
      add(fusedNormCase(store, quantized, true, 172));
      if (!quantized.empty())
        add(fusedNormCase(store, quantized, false, 600), store == "f32");
    }
  for (std::string quantized : {"i8", "f8E4M3FN"}) {
    add(fusedNormCase("bf16", quantized, true, 172, /*fixed=*/true));
    add(quantizeCase("bf16", quantized, /*fixed=*/true));
  }
  add(functionCase("math.exp", std::exp));
  add(functionCase("math.tanh", std::tanh));
  add(functionCase("math.sqrt", std::sqrt));
  add(functionCase("math.rsqrt", inverseRoot));
  add(compareCase(false));
  add(compareCase(true));
  for (uint64_t seed = 0; seed < 40; ++seed)
    add(pointwiseCase("random" + std::to_string(seed), randomRegion(4, seed % 2, seed),
                      seed % 2 ? 0 : 2e-4),
        seed >= 10);
  for (auto [from, to] : {std::pair<const char *, const char *>{"f32", "bf16"},
                          {"f32", "f16"},
                          {"f32", "f32"},
                          {"f16", "bf16"}})
    add(roundCase(from, to));
  for (std::string from : {"f32", "bf16", "f16"})
    for (std::string to : {"i8", "f8E4M3FN"})
      add(quantizeCase(from, to), from == "f16");
  for (auto [rows, given] : {std::pair<const char *, const char *>{"f32", "f32"},
                             {"bf16", "f32"},
                             {"bf16", "bf16"},
                             {"f16", "f32"},
                             {"f32", "f16"}})
    for (int64_t columns : {43, 172})
      for (bool added : {false, true})
        add(placeCase(rows, given, columns, added), columns == 43 && rows[0] != 'b');
  for (int64_t group : {32, 128}) {
    add(quantizeCase("bf16", "i8", /*fixed=*/false, group));
    add(fusedNormCase("bf16", "i8", true, 5 * group, /*fixed=*/false, group));
  }
  for (std::string element : {"f32", "bf16"}) {
    add(gatherCase(element));
    add(sliceCase(element));
    add(gatherColumnsCase(element, 43));
    add(gatherColumnsCase(element, 600));
    for (int64_t headDim : {8, 16, 64, 80, 128})
      add(ropeCase(element, 3, headDim), element == "bf16" && headDim != 64);
    for (auto [headDim, pairs] : {std::pair<int64_t, int64_t>{128, 48}, {96, 36}, {16, 3}, {14, 1}})
      add(ropeCase(element, 3, headDim, pairs), element == "bf16" && headDim != 128);
    add(ropeCase(element, 3, 128, 0, "_sections", sectionAxes({16, 24, 24})));
    add(ropeCase(element, 5, 64, 0, "_interleaved", interleavedAxes({24, 20, 20}, 32)));
    add(ropeCase(element, 2, 256, 32, "_interleaved", interleavedAxes({11, 11, 10}, 32)),
        element == "f32");
    // Patches, four of a row.
    add(ropeCase(element, 3, 72, 0, "_patches", sectionAxes({18, 18}), 4));
    add(ropeCase(element, 3, 64, 0, "", {}, 1, true));
    add(ropeCase(element, 5, 8, 0, "", {}, 1, true), element == "f32");
    add(ropeCase(element, 2, 80, 18, "", {}, 1, true), element == "f32");
    add(ropeCase(element, 1, 256, 0, "_four", sectionAxes({1, 30, 3, 94})), element == "f32");
  }
  return cases;
}
