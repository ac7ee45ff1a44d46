// SPDX-License-Identifier: Apache-2.0
// Random functions of weights, with the checkpoint they read.
#include "tests/unit/weights/RandomWeights.h"

#include "mlir/IR/Builders.h"

#include <algorithm>
#include <fstream>
#include <unistd.h>

using namespace mlir;

namespace ingot::compiler::test {

static Type typeNamed(MLIRContext &context, const std::string &name) {
  Builder builder(&context);
  if (name == "f32")
    return builder.getF32Type();
  if (name == "f16")
    return builder.getF16Type();
  if (name == "i32")
    return builder.getI32Type();
  return name == "bf16" ? Type(builder.getBF16Type()) : Type(Float8E4M3FNType::get(&context));
}

static int64_t uniform(std::mt19937 &random, int64_t least, int64_t most) {
  return std::uniform_int_distribution<int64_t>(least, most)(random);
}

TensorSpec randomTensor(MLIRContext &context, std::mt19937 &random, std::string name,
                        std::string type, int64_t rows, int64_t columns) {
  TensorSpec tensor{std::move(name), std::move(type), {rows, columns, {}}};
  Type element = typeNamed(context, tensor.type);
  std::normal_distribution<double> normal(0, 0.02);
  for (int64_t row = 0; row < rows; ++row) {
    bool zero = uniform(random, 0, 12) == 0;
    double size = uniform(random, 0, 8) == 0 ? 1e-6 : uniform(random, 0, 8) == 0 ? 100 : 1;
    for (int64_t column = 0; column < columns; ++column)
      tensor.matrix.values.push_back(roundTo(element, zero ? 0 : size * normal(random)));
  }
  return tensor;
}

TensorSpec randomWords(std::mt19937 &random, std::string name, int64_t rows, int64_t columns) {
  TensorSpec tensor{std::move(name), "i32", {rows, columns, {}}};
  for (int64_t i = 0; i < rows * columns; ++i)
    tensor.matrix.values.push_back(static_cast<int32_t>(random()));
  return tensor;
}

std::string typeText(int64_t rows, int64_t columns, const std::string &element,
                     const std::string &layout) {
  return "tensor<" + std::to_string(rows) + "x" + std::to_string(columns) + "x" + element +
         (layout.empty() ? "" : ", " + layout) + ">";
}

std::string typeOf(const TensorSpec &tensor) {
  if (tensor.oneDimensional)
    return "tensor<" + std::to_string(tensor.matrix.rows) + "x" + tensor.type + ">";
  return typeText(tensor.matrix.rows, tensor.matrix.columns, tensor.type);
}

void writeCheckpoint(MLIRContext &context, const ingot::test::TemporaryDirectory &directory,
                     std::vector<TensorSpec> &tensors) {
  using checkpoint::DType;
  const std::map<std::string, DType> types{{"f32", DType::F32},
                                           {"f16", DType::F16},
                                           {"bf16", DType::BF16},
                                           {"f8E4M3FN", DType::F8E4M3},
                                           {"i32", DType::I32}};
  std::vector<checkpoint::Tensor> stored;
  std::string data;
  for (const TensorSpec &tensor : tensors) {
    Type element = typeNamed(context, tensor.type);
    size_t begin = data.size();
    for (double value : tensor.matrix.values) {
      uint64_t bits = bitsOf(element, value);
      data.append(reinterpret_cast<const char *>(&bits), element.getIntOrFloatBitWidth() / 8);
    }
    checkpoint::Tensor &one = stored.emplace_back();
    one.name = tensor.name;
    one.dtype = types.at(tensor.type);
    one.shape = {uint64_t(tensor.matrix.rows)};
    if (!tensor.oneDimensional)
      one.shape.push_back(uint64_t(tensor.matrix.columns));
    one.bytes = data.size() - begin;
  }
  std::string header = ingot::test::safetensorsHeader(stored);
  for (size_t i = 0; i < tensors.size(); ++i)
    tensors[i].offset = stored[i].offset;
  directory.write("config.json", ingot::test::plainConfig);
  directory.write("model.safetensors", ingot::test::safetensorsFile(header, data));
}

std::map<std::string, Matrix> matricesOf(const std::vector<TensorSpec> &tensors) {
  std::map<std::string, Matrix> matrices;
  for (const TensorSpec &tensor : tensors)
    matrices[tensor.name] = tensor.matrix;
  return matrices;
}

std::string weightLine(const TensorSpec &tensor) {
  return "%" + tensor.name + " = llm.weight \"" + tensor.name +
         "\" from \"model.safetensors\" at " + std::to_string(tensor.offset) + " : " +
         typeOf(tensor) + "\n";
}

std::string randomLayout(std::mt19937 &random, int64_t rows, int64_t columns) {
  struct Digit {
    int64_t axis, stride, radix;
  };
  auto ceil = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
  std::vector<Digit> digits;
  switch (uniform(random, 0, 6)) {
  case 0:
    digits = {{0, 1, rows}, {1, 1, columns}};
    break;
  case 1:
    digits = {{0, 16, ceil(rows, 16)}, {1, 1, columns}, {0, 1, 16}};
    break;
  case 2:
    digits = {{0, 16, ceil(rows, 16)}, {1, 2, ceil(columns, 2)}, {0, 1, 16}, {1, 1, 2}};
    break;
  case 3:
    digits = {{0, 8, ceil(rows, 8)}, {1, 32, ceil(columns, 32)}, {0, 1, 8}, {1, 1, 32}};
    break;
  case 4:
    digits = {{1, 1, columns}, {0, 1, rows}};
    break;
  case 5:
    digits = {{1, 16, ceil(columns, 16)}, {0, 1, rows}, {1, 1, 16}};
    break;
  default:
    for (int64_t axis : {0, 1}) {
      int64_t extent = axis == 0 ? rows : columns, stride = 1;
      while (stride < extent) {
        int64_t radix = std::min(uniform(random, 2, 9), ceil(extent, stride));
        digits.push_back({axis, stride, radix});
        stride *= radix;
      }
      digits.push_back({axis, stride, 1});
    }
    std::shuffle(digits.begin(), digits.end(), random);
  }
  std::string text = "#engine.layout<";
  for (const Digit &digit : digits)
    text += (text.back() == '<' ? "[" : ", [") + std::to_string(digit.axis) + ", " +
            std::to_string(digit.stride) + ", " + std::to_string(digit.radix) + "]";
  return text + ">";
}

namespace {

/// A value of a function being written.
struct Operand {
  std::string name, element;
  int64_t rows = 0, columns = 0;
  std::string type() const { return typeText(rows, columns, element); }
};

class FunctionWriter {
public:
  FunctionWriter(std::mt19937 &random, const std::vector<TensorSpec> &tensors) : random(random) {
    for (const TensorSpec &tensor : tensors) {
      body += weightLine(tensor);
      Operand operand{"%" + tensor.name, tensor.type, tensor.matrix.rows, tensor.matrix.columns};
      (tensor.type == "i32"    ? words
       : tensor.oneDimensional ? factors
                               : matrices)
          .push_back(operand);
    }
  }

  std::string write();

private:
  std::string fresh() { return "%v" + std::to_string(next++); }
  std::string anyFloat() {
    static const char *types[] = {"f32", "f16", "bf16", "f8E4M3FN"};
    return types[uniform(random, 0, 3)];
  }
  Operand convert(const Operand &input, const std::string &element);
  Operand scale(const Operand &input);
  Operand concat(const std::vector<Operand> &inputs);
  Operand interleave(const Operand &first, const Operand &second, int64_t block);
  Operand permute(const Operand &input);
  /// Values, scales and zeros of `input`.
  std::vector<Operand> quantize(const Operand &input, const std::string &kind, int64_t group,
                                bool zeros);
  void dequantize(const std::vector<Operand> &encoded, const std::string &kind, int64_t group);
  /// A column of random signed bytes.
  Operand bytes(int64_t rows);
  void store(const Operand &value);
  Operand reshape(const Operand &input);
  Operand slice(const Operand &input);
  Operand addLowRank(const Operand &input, const Operand &left, const Operand &right);
  Operand transpose(const Operand &input);
  /// Stores integers that `packed` holds, by way of all operations on stored words.
  void unpack(const Operand &packed);
  void takeBlocks(const Operand &words);

  std::mt19937 &random;
  std::string body;
  std::vector<Operand> matrices, factors, words;
  int next = 0, stores = 0;
};

Operand FunctionWriter::convert(const Operand &input, const std::string &element) {
  Operand result{fresh(), element, input.rows, input.columns};
  std::string plus =
      uniform(random, 0, 2) == 0 ? " plus " + std::to_string(uniform(random, -3, 3)) + ".5" : "";
  body += result.name + " = llm.convert " + input.name + plus + " : " + input.type() + " to " +
          result.type() + "\n";
  return result;
}

Operand FunctionWriter::scale(const Operand &input) {
  for (const Operand &factor : factors)
    if (factor.rows == input.columns) {
      Operand result{fresh(), anyFloat(), input.rows, input.columns};
      body += result.name + " = llm.scale_columns " + input.name + ", " + factor.name + " : (" +
              input.type() + ", tensor<" + std::to_string(factor.rows) + "x" + factor.element +
              ">) -> " + result.type() + "\n";
      return result;
    }
  return input;
}

Operand FunctionWriter::concat(const std::vector<Operand> &inputs) {
  Operand result{fresh(), inputs[0].element, 0, inputs[0].columns};
  std::string names, types;
  for (const Operand &input : inputs) {
    names += (names.empty() ? "" : ", ") + input.name;
    types += (types.empty() ? "" : ", ") + input.type();
    result.rows += input.rows;
  }
  body +=
      result.name + " = llm.concat_rows " + names + " : (" + types + ") -> " + result.type() + "\n";
  return result;
}

Operand FunctionWriter::interleave(const Operand &first, const Operand &second, int64_t block) {
  Operand result{fresh(), first.element, (first.rows + block - 1) / block * block * 2,
                 first.columns};
  body += result.name + " = llm.interleave_rows " + first.name + ", " + second.name + " block " +
          std::to_string(block) + " : (" + first.type() + ", " + second.type() + ") -> " +
          result.type() + "\n";
  return result;
}

/// The rows cut into random digits, in random order.
Operand FunctionWriter::permute(const Operand &input) {
  std::vector<int64_t> digits, order;
  for (int64_t rest = input.rows; rest > 1 || digits.empty();) {
    int64_t radix = uniform(random, 1, 7);
    radix = rest % radix == 0 ? radix : rest;
    digits.push_back(radix);
    order.push_back(static_cast<int64_t>(order.size()));
    rest /= radix;
    if (digits.size() == 7 && rest > 1) {
      digits.push_back(rest);
      order.push_back(7);
      break;
    }
  }
  std::shuffle(order.begin(), order.end(), random);
  auto list = [](const std::vector<int64_t> &values) {
    std::string text;
    for (int64_t value : values)
      text += (text.empty() ? "[" : ", ") + std::to_string(value);
    return text + "]";
  };
  Operand result{fresh(), input.element, input.rows, input.columns};
  body += result.name + " = llm.permute_rows " + input.name + " digits " + list(digits) +
          " order " + list(order) + " : " + input.type() + "\n";
  return result;
}

static std::string encodingText(const std::string &kind, int64_t group, bool zeros) {
  return "<\"" + kind + "\", group = " + std::to_string(group) +
         ", zero_points = " + (zeros ? "true" : "false") + ">";
}

std::vector<Operand> FunctionWriter::quantize(const Operand &input, const std::string &kind,
                                              int64_t group, bool zeros) {
  std::string name = fresh();
  std::string element = kind == "int4" ? "i4" : kind == "int8" ? "i8" : "f8E4M3FN";
  int64_t groups = group > 0 ? (input.columns + group - 1) / group : 1;
  int64_t rows = group == -1 ? 1 : input.rows;
  std::vector<Operand> results{
      {name + "#0", element, input.rows, input.columns},
      {name + "#1", kind == "int4" && group > 0 ? "bf16" : "f32", rows, groups}};
  if (zeros)
    results.push_back({name + "#2", "i8", rows, groups});
  std::string types;
  for (const Operand &result : results)
    types += (types.empty() ? "" : ", ") + result.type();
  body += name + ":" + std::to_string(results.size()) + " = llm.quantize " + input.name + " " +
          encodingText(kind, group, zeros) + " : (" + input.type() + ") -> (" + types + ")\n";
  return results;
}

void FunctionWriter::dequantize(const std::vector<Operand> &encoded, const std::string &kind,
                                int64_t group) {
  Operand result{fresh(), "f32", encoded[0].rows, encoded[0].columns};
  std::string names, types;
  for (const Operand &operand : encoded) {
    names += (names.empty() ? "" : ", ") + operand.name;
    types += (types.empty() ? "" : ", ") + operand.type();
  }
  body += result.name + " = llm.dequantize " + names + " " +
          encodingText(kind, group, encoded.size() == 3) + " : (" + types + ") -> " +
          result.type() + "\n";
  store(result);
}

Operand FunctionWriter::bytes(int64_t rows) {
  Operand result{fresh(), "i8", rows, 1};
  std::string numbers;
  for (int64_t row = 0; row < rows; ++row)
    numbers += (row > 0 ? ", [" : "[") + std::to_string(uniform(random, -128, 127)) + "]";
  body += result.name + " = llm.literal \"bytes" + result.name.substr(1) + "\" dense<[" + numbers +
          "]> : " + result.type() + " : " + result.type() + "\n";
  return result;
}

void FunctionWriter::store(const Operand &value) {
  Operand stored = value;
  std::string type = value.type();
  if (uniform(random, 0, 5) != 0) {
    stored.name = fresh();
    type = typeText(value.rows, value.columns, value.element,
                    randomLayout(random, value.rows, value.columns));
    body += stored.name + " = llm.pack " + value.name + " : " + value.type() + " -> " + type + "\n";
  }
  body += "llm.store_weight \"w" + std::to_string(stores++) + "\" " + stored.name +
          " format \"test\" : " + type + "\n";
}

/// Rows of a random width that divides the elements.
Operand FunctionWriter::reshape(const Operand &input) {
  int64_t elements = input.rows * input.columns, columns = uniform(random, 1, 2 * input.columns);
  while (elements % columns != 0)
    --columns;
  Operand result{fresh(), input.element, elements / columns, columns};
  body += result.name + " = llm.reshape " + input.name + " : " + input.type() + " -> " +
          result.type() + "\n";
  return result;
}

/// Of square matrices, one of them transposed.
Operand FunctionWriter::addLowRank(const Operand &input, const Operand &left,
                                   const Operand &right) {
  Operand result{fresh(), anyFloat(), input.rows, input.columns};
  body += result.name + " = llm.add_low_rank " + input.name + ", " + left.name + ", " + right.name +
          " scale " + std::to_string(uniform(random, -4, 4)) + ".25 : (" + input.type() + ", " +
          left.type() + ", " + right.type() + ") -> " + result.type() + "\n";
  return result;
}

/// Some of the rows, one at least.
Operand FunctionWriter::slice(const Operand &input) {
  int64_t first = uniform(random, 0, input.rows - 1);
  Operand result{fresh(), input.element, uniform(random, 1, input.rows - first), input.columns};
  body += result.name + " = llm.slice_rows " + input.name + " from " + std::to_string(first) +
          " : " + input.type() + " -> " + result.type() + "\n";
  return result;
}

Operand FunctionWriter::transpose(const Operand &input) {
  Operand result{fresh(), input.element, input.columns, input.rows};
  body += result.name + " = llm.transpose " + input.name + " : " + input.type() + " -> " +
          result.type() + "\n";
  return result;
}

/// Stored numbers of arbitrary bytes as blocks; their scales might be no numbers.
void FunctionWriter::takeBlocks(const Operand &words) {
  struct Kind {
    const char *name;
    int64_t bytes, elements;
    const char *element;
  };
  static constexpr Kind kinds[] = {{"Q8_0", 34, 32, "i8"},  {"Q4_1", 20, 32, "i4"},
                                   {"NVFP4", 36, 64, "i4"}, {"Q5_0", 22, 32, "i5"},
                                   {"Q2_K", 84, 256, "i2"}, {"Q3_K", 110, 256, "i3"},
                                   {"Q6_K", 210, 256, "i6"}};
  const Kind &kind = kinds[uniform(random, 0, 6)];
  int64_t blocks = words.columns * 4 / kind.bytes;
  if (blocks == 0)
    return;
  Operand bytes{fresh(), "i8", words.rows, blocks * kind.bytes};
  body += bytes.name + " = llm.unpack " + words.name + " bits 8 : " + words.type() + " -> " +
          bytes.type() + "\n";
  Operand values{fresh(), kind.element, words.rows, blocks * kind.elements};
  body += values.name + " = llm.block_part " + bytes.name + " \"values\" of \"" + kind.name +
          "\" block " + std::to_string(kind.bytes) + " : " + bytes.type() + " -> " + values.type() +
          "\n";
  store(uniform(random, 0, 1) ? values : transpose(values));
}

void FunctionWriter::unpack(const Operand &packed) {
  Operand input = uniform(random, 0, 1) ? transpose(packed) : packed;
  int64_t bits = uniform(random, 2, 8);
  int64_t most = input.columns * 32 / bits;
  bool ordered = most >= 8 && uniform(random, 0, 1);
  int64_t columns = uniform(random, 1, ordered ? most / 8 * 8 : most);
  bool narrow = bits <= 6 && uniform(random, 0, 1);
  int64_t width = narrow ? uniform(random, bits, 6) : 8;
  int64_t bias = narrow ? -uniform(random, 0, (int64_t{1} << width) - (int64_t{1} << bits))
                        : uniform(random, 0, 128);
  Operand fields{fresh(), "i" + std::to_string(width), input.rows, columns};
  body += fields.name + " = llm.unpack " + input.name + " bits " + std::to_string(bits) +
          " increment " + std::to_string(uniform(random, 0, 1)) + " bias " + std::to_string(bias) +
          (ordered ? " order [0, 4, 1, 5, 2, 6, 3, 7]" : "") + " : " + input.type() + " -> " +
          fields.type() + "\n";
  store(fields);
  if (uniform(random, 0, 1))
    fields = transpose(fields);
  int64_t count = uniform(random, 1, 5), rows = fields.rows * count - uniform(random, 0, count - 1);
  Operand repeated{fresh(), fields.element, rows, fields.columns};
  body += repeated.name + " = llm.repeat_rows " + fields.name + " count " + std::to_string(count) +
          " : " + fields.type() + " -> " + repeated.type() + "\n";
  store(uniform(random, 0, 1) ? repeated : transpose(repeated));
}

std::string FunctionWriter::write() {
  static const std::pair<const char *, int64_t> encodings[] = {
      {"int8", 0}, {"int4", 0}, {"int4", 32}, {"int4", 64}, {"fp8", 0}, {"fp8", -1}};
  for (size_t i = 0; i + 1 < matrices.size(); i += 2) {
    // Equal types, so that both can be interleaved.
    Operand first = convert(scale(matrices[i]), "f32"), second = convert(matrices[i + 1], "f32");
    store(convert(first, anyFloat()));
    store(permute(first));
    store(reshape(convert(first, anyFloat())));
    store(slice(uniform(random, 0, 1) ? permute(first) : first));
    constexpr int64_t mostMultiplied = 64; // so many to the third power, for every tile
    if (first.rows == first.columns && first.rows <= mostMultiplied)
      store(addLowRank(convert(transpose(first), anyFloat()), first, second));
    Operand merged = uniform(random, 0, 1)
                         ? concat({first, permute(second), first})
                         : interleave(permute(first), second, uniform(random, 1, 20));
    if (uniform(random, 0, 1))
      merged = permute(merged);
    store(merged);
    auto [kind, group] = encodings[uniform(random, 0, 5)];
    bool zeros = std::string(kind) == "int4" && uniform(random, 0, 1);
    auto whole = quantize(merged, kind, group, zeros);
    for (const Operand &part : whole)
      store(part);
    dequantize(whole, kind, group);
    if (std::string(kind) == "int8")
      dequantize({whole[0], whole[1], bytes(merged.rows)}, kind, group);
    if (group == -1)
      continue;
    auto a = quantize(first, kind, group, zeros), b = quantize(second, kind, group, zeros);
    int64_t block = uniform(random, 1, 20);
    for (size_t part = 0; part < a.size(); ++part)
      store(block % 3 ? interleave(a[part], b[part], block) : concat({a[part], b[part]}));
  }
  for (const Operand &packed : words) {
    unpack(packed);
    takeBlocks(packed);
  }
  Operand literal{fresh(), "f32", 3, 1};
  body += literal.name +
          " = llm.literal \"three\" dense<[[1.0], [0.5], [-3.25]]> : " + literal.type() + " : " +
          literal.type() + "\n";
  store(literal);
  return body;
}

} // namespace

std::string randomFunction(std::mt19937 &random, const std::vector<TensorSpec> &tensors) {
  return FunctionWriter(random, tensors).write();
}

std::string moduleOf(const std::vector<std::string> &bodies) {
  std::string text;
  for (size_t i = 0; i < bodies.size(); ++i)
    text += "module @target" + std::to_string(i) + " {\nfunc.func @weights() {\n" + bodies[i] +
            "return\n}\n}\n";
  return text;
}

} // namespace ingot::compiler::test
