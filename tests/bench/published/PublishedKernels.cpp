// SPDX-License-Identifier: Apache-2.0
// Rows as MatmulWork; tables as tests/bench/tables.py reads them.
#include "tests/bench/published/PublishedKernels.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

using namespace ingot;
using namespace ingot::bench;
using codegen::MmaFamily;
using codegen::ProductType;
using nlohmann::json;
using nlohmann::ordered_json;

namespace {

codegen::CudaPart knownPart(const std::string &name) {
  for (const codegen::CudaArchitecture &architecture : codegen::cudaArchitectures())
    for (const codegen::CudaPart &part : architecture.parts)
      if (part.name == name)
        return part;
  throw std::runtime_error("there is no part " + name);
}

/// A part of the compiler's, or one that the file describes by its difference from such a part.
codegen::CudaPart partOf(const json &file, const std::string &name) {
  const json &described = file.at("gpus");
  if (!described.contains(name))
    return knownPart(name);
  const json &gpu = described.at(name);
  codegen::CudaPart part = knownPart(gpu.at("like"));
  double bandwidth = gpu.at("gigabytes_per_second");
  part.copiedPerSecond *= bandwidth / part.gigabytesPerSecond;
  part.gigabytesPerSecond = bandwidth;
  part.sheet = {gpu.at("halves"), gpu.at("float8"), gpu.at("float8")};
  return part;
}

ProductType typeOf(const std::string &name) {
  return name == "halves"   ? ProductType::Halves
         : name == "float8" ? ProductType::Float8
         : name == "integers"
             ? ProductType::Integers
             : throw std::runtime_error("there is no type of products called " + name);
}

MmaFamily familyOf(const std::string &name) {
  return name == "mma.sync" ? MmaFamily::MmaSync
         : name == "wgmma"  ? MmaFamily::WgmmaShared
         : name == "wgmma, weights in registers"
             ? MmaFamily::WgmmaRegisters
             : throw std::runtime_error("there is no family of instructions called " + name);
}

codegen::MatmulWork workOf(const json &row, const json &product) {
  return {.rows = product.at(0),
          .k = product.at(1),
          .tokens = row.at("tokens"),
          .weightBits = row.at("weight_bits"),
          .inputBits = row.at("input_bits"),
          .type = typeOf(row.at("type")),
          .family = familyOf(row.at("family")),
          .tileRows = row.at("tile").at(0),
          .tileTokens = row.at("tile").at(1),
          .depth = row.at("tile").at(2),
          .stages = row.at("stages"),
          .warps = row.at("warps"),
          .residents = row.at("residents"),
          .tokenGroup = row.value("token_group", 0),
          .instructions = row.value("instructions", 0.0),
          .sharedBytes = row.value("shared_bytes", 0.0),
          .persistent = row.value("persistent", false),
          .overlapsEnds = row.value("overlaps_ends", false),
          .streams = row.value("streams", false),
          .multicast = row.value("multicast", 1)};
}

/// "7168 x 16384", or how many products.
std::string shapeOf(const json &products) {
  if (products.size() > 1)
    return std::to_string(products.size()) + " of Llama 13B";
  return products[0][0].dump() + " x " + products[0][1].dump();
}

double rounded(double value, double digits) {
  double scale = std::pow(10, digits);
  return std::round(value * scale) / scale;
}

/// A table with one line for each row, so that changes can be read.
std::string written(const ordered_json &columns, const std::vector<ordered_json> &rows) {
  auto lines = [](const auto &list) {
    std::string text;
    for (const auto &entry : list)
      text += std::string(text.empty() ? "" : ",\n") + "  " + entry.dump();
    return text;
  };
  return "{\n \"columns\": [\n" + lines(columns) + "\n ],\n \"rows\": [\n" + lines(rows) +
         "\n ]\n}\n";
}

/// The median and the largest of the errors of some kernels, as a row.
ordered_json errorsOf(const std::string &title, const std::vector<PublishedKernel> &kernels,
                      const auto &counts) {
  std::vector<double> errors, ratios;
  for (const PublishedKernel &kernel : kernels)
    if (counts(kernel)) {
      ratios.push_back(kernel.ratio());
      errors.push_back(std::abs(kernel.ratio() - 1));
    }
  std::sort(errors.begin(), errors.end());
  auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  return {title,
          errors.size(),
          rounded(100 * errors[errors.size() / 2], 1),
          rounded(100 * errors.back(), 1),
          rounded(*least, 2),
          rounded(*most, 2)};
}

} // namespace

double PublishedKernel::predicted() const {
  double seconds = 0;
  for (const codegen::MatmulWork &work : launches)
    seconds += codegen::matmulSeconds(part, work) -
               (row.value("kernel_only", false) ? part.launchSeconds : 0);
  return seconds * 1e6;
}

std::vector<PublishedKernel> bench::readPublished(const std::string &text) {
  json file = json::parse(text);
  std::vector<PublishedKernel> kernels;
  for (const json &row : file.at("rows")) {
    std::vector<codegen::MatmulWork> launches;
    for (const json &product : row.at("products"))
      launches.push_back(workOf(row, product));
    kernels.push_back({row, partOf(file, row.at("gpu")), std::move(launches)});
  }
  return kernels;
}

std::string bench::comparisonTable(const std::vector<PublishedKernel> &kernels) {
  ordered_json columns = ordered_json::array();
  for (const char *title : {"kernel", "source", "GPU", "tokens", "rows x k", "tile"})
    columns.push_back({{"title", title}});
  columns.push_back({{"title", "published, us"}, {"format", "{:.1f}"}});
  columns.push_back({{"title", "predicted, us"}, {"format", "{:.1f}"}});
  columns.push_back({{"title", "predicted / published"}, {"format", "{:.2f}"}});
  columns.push_back({{"title", "fitted"}});
  std::vector<ordered_json> rows;
  for (const PublishedKernel &kernel : kernels) {
    const json &row = kernel.row, &tile = row.at("tile");
    rows.push_back({row.at("kernel"), row.at("source"), row.at("gpu"), row.at("tokens"),
                    shapeOf(row.at("products")),
                    tile[0].dump() + " x " + tile[1].dump() + " x " + tile[2].dump(),
                    kernel.published(), rounded(kernel.predicted(), 1), rounded(kernel.ratio(), 2),
                    kernel.isFitted() ? "yes" : "no"});
  }
  return written(columns, rows);
}

std::string bench::errorTable(const std::vector<PublishedKernel> &kernels) {
  ordered_json columns = ordered_json::array();
  columns.push_back({{"title", "rows"}});
  columns.push_back({{"title", "number"}});
  columns.push_back({{"title", "median error"}, {"format", "{:.1f} %"}});
  columns.push_back({{"title", "largest error"}, {"format", "{:.1f} %"}});
  columns.push_back({{"title", "least ratio"}, {"format", "{:.2f}"}});
  columns.push_back({{"title", "largest ratio"}, {"format", "{:.2f}"}});
  return written(
      columns,
      {errorsOf("fitted", kernels, [](const PublishedKernel &kernel) { return kernel.isFitted(); }),
       errorsOf("others", kernels,
                [](const PublishedKernel &kernel) { return !kernel.isFitted(); }),
       errorsOf("all", kernels, [](const PublishedKernel &) { return true; })});
}
