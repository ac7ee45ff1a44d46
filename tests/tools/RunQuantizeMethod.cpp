// SPDX-License-Identifier: Apache-2.0
// run-quantize-method METHOD FOLDER KEY=NUMBER...: quantizes FOLDER/weight with FOLDER/inputs and
// the like (f32, row-major) for a comparison. Writes FOLDER/codes, scales, zeros and values, and
// one line of numbers: error, damping and exponent, as far as the method has them. A method that is
// a type of ggml writes FOLDER/blocks, and as values what its decoder makes of them.
#include "compiler/checkpoint/gguf/GgmlBlocks.h"
#include "compiler/quantize/ggml/BlockEncoder.h"
#include "compiler/quantize/methods/Gptq.h"
#include "compiler/quantize/methods/RoundToNearest.h"
#include "compiler/quantize/methods/SmoothQuant.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

namespace {

using namespace ingot::quantize;
using Floats = std::vector<float>;

struct Request {
  std::string method, folder;
  std::map<std::string, double> numbers;

  double number(const char *key, double otherwise) const {
    const auto found = numbers.find(key);
    return found == numbers.end() ? otherwise : found->second;
  }
  int64_t integer(const char *key, int64_t otherwise = 0) const {
    return static_cast<int64_t>(number(key, static_cast<double>(otherwise)));
  }
  Floats read(const char *name) const {
    std::ifstream file(folder + "/" + name, std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    Floats values(bytes.size() / sizeof(float));
    if (!values.empty())
      std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
    return values;
  }
  template <class T> void write(const char *name, const std::vector<T> &values) const {
    std::ofstream(folder + "/" + name, std::ios::binary)
        .write(reinterpret_cast<const char *>(values.data()),
               static_cast<std::streamsize>(values.size() * sizeof(T)));
  }
  void write(const QuantizedMatrix &matrix) const {
    Floats values(matrix.codes.size());
    matrix.dequantize(values.data());
    write("codes", matrix.codes);
    write("scales", matrix.scales);
    write("zeros", matrix.zeros);
    write("values", values);
  }
};

template <class T> T orFail(Expected<T> result) {
  if (!result) {
    std::fprintf(stderr, "%s\n", result.error().str().c_str());
    std::exit(1);
  }
  return *std::move(result);
}

void orFail(const ingot::checkpoint::Outcome &outcome) {
  if (!outcome) {
    std::fprintf(stderr, "%s\n", outcome.error().str().c_str());
    std::exit(1);
  }
}

void runSmooth(const Request &request, const AwqMatrix &matrix, int64_t columns,
               const Floats &inputs) {
  Floats most(static_cast<size_t>(columns));
  for (size_t i = 0; i < inputs.size(); ++i)
    most[i % most.size()] = std::max(most[i % most.size()], std::abs(inputs[i]));
  const SmoothScale scale = orFail(searchStrength(
      {&matrix, 1}, columns, inputs.data(), static_cast<int64_t>(inputs.size()) / columns, most,
      {static_cast<int32_t>(request.integer("steps", 20)),
       static_cast<unsigned>(request.integer("threads", 1))}));
  request.write("scales", scale.scales);
  std::printf("%.17g %.17g %.9g\n", scale.error, scale.errorWithout,
              static_cast<double>(scale.strength));
}

std::optional<ingot::checkpoint::DType> typeOf(const std::string &method) {
  for (const auto type : ingot::checkpoint::ggmlTypes())
    if (ingot::checkpoint::dtypeName(type) == method)
      return type;
  return std::nullopt;
}

void runBlocks(const Request &request, ingot::checkpoint::DType type, const Floats &weight,
               uint64_t columns) {
  const uint64_t shape[] = {weight.size() / columns, columns};
  std::vector<std::byte> blocks(ingot::checkpoint::storedBytes(type, shape).value_or(0));
  orFail(encodeRows(type, weight.data(), shape[0], columns, request.read("importance"), blocks));
  Floats values(weight.size());
  orFail(ingot::checkpoint::decodeGgml(type, blocks, values));
  request.write("blocks", blocks);
  request.write("values", values);
}

void run(const Request &request) {
  const Floats weight = request.read("weight"), inputs = request.read("inputs");
  const int64_t columns = request.integer("columns", 1),
                rows = static_cast<int64_t>(weight.size()) / columns,
                count = static_cast<int64_t>(inputs.size()) / columns;
  const unsigned threads = static_cast<unsigned>(request.integer("threads", 1));
  const Grid grid{static_cast<int32_t>(request.integer("bits", 4)), request.integer("group", 128),
                  request.integer("zero_points") != 0,
                  static_cast<ScaleType>(request.integer("scale_type"))};
  const ClipSearch clip{static_cast<int32_t>(request.integer("steps")),
                        static_cast<float>(request.number("least", 0.5)),
                        static_cast<float>(request.number("power", 2.4))};
  const AwqMatrix matrix{weight.data(), rows};
  if (const auto type = typeOf(request.method)) {
    runBlocks(request, *type, weight, static_cast<uint64_t>(columns));
  } else if (request.method == "smooth") {
    runSmooth(request, matrix, columns, inputs);
  } else if (request.method == "nearest") {
    request.write(orFail(roundToNearest(weight.data(), rows, columns, grid, clip,
                                        request.read("importance"), threads)));
  } else if (request.method == "gptq") {
    const Floats originals = request.read("originals");
    const CrossSums asymmetric = request.integer("ordered") ? CrossSums::Ordered : CrossSums::Whole;
    Moments moments(columns, originals.empty() ? CrossSums::None : asymmetric);
    if (originals.empty())
      moments.add(inputs.data(), count, threads);
    else
      moments.add(inputs.data(), originals.data(), count, threads);
    GptqOptions options;
    options.actOrder = request.integer("act_order", 1) != 0;
    options.damping = request.number("damping", 0.01);
    options.block = request.integer("block", 128);
    options.sweeps = static_cast<int32_t>(request.integer("sweeps"));
    options.asymmetry = request.number("asymmetry", 0.25);
    options.clip = clip;
    options.threads = threads;
    const GptqResult result = orFail(gptq(weight.data(), rows, columns, grid, moments, options));
    request.write(result.matrix);
    std::printf("%.17g %.17g\n", result.error, result.damping);
  } else if (request.method == "awq") {
    Floats means(static_cast<size_t>(columns));
    for (size_t i = 0; i < inputs.size(); ++i)
      means[i % means.size()] += std::abs(inputs[i]) / static_cast<float>(count);
    const AwqScale scale =
        orFail(searchScale({&matrix, 1}, columns, inputs.data(), count, means, grid,
                           {static_cast<int32_t>(request.integer("steps", 20)),
                            request.integer("weight_scales") != 0, threads}));
    request.write("scales", scale.scales);
    std::printf("%.17g %.17g %.9g\n", scale.error, scale.errorWithout,
                static_cast<double>(scale.exponent));
  } else if (request.method == "awq-clip") {
    request.write("values", orFail(clipWeights(
                                weight.data(), rows, columns, inputs.data(), count, grid,
                                {static_cast<int32_t>(request.integer("steps", 10)),
                                 static_cast<float>(request.number("least", 0.55)), threads})));
  } else {
    std::fprintf(stderr, "no method %s\n", request.method.c_str());
    std::exit(2);
  }
}

} // namespace

int main(int count, char **arguments) {
  if (count < 3)
    return 2;
  Request request{arguments[1], arguments[2], {}};
  for (int i = 3; i < count; ++i) {
    const std::string argument = arguments[i];
    const size_t equals = argument.find('=');
    if (equals == std::string::npos)
      return 2;
    request.numbers[argument.substr(0, equals)] = std::atof(argument.c_str() + equals + 1);
  }
  if (!isSupportedHere()) {
    std::puts("unsupported");
    return 0;
  }
  run(request);
}
