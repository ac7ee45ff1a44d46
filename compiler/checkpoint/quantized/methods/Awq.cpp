// SPDX-License-Identifier: Apache-2.0
// AutoAWQ, and llm-awq.
#include "compiler/checkpoint/quantized/methods/Methods.h"

#include <algorithm>

namespace ingot::checkpoint::methods {

using namespace rows;

static constexpr StoredFormat formats[] = {
    {{"gemm"}, withZeros, Reader::AwqByColumns, 4, 16, int4Zeros},
    {{"gemv"}, withZeros, Reader::AwqByRows, 4, 16, int4Zeros},
    {{"gemv_fast"}, withOffsets, Reader::AwqFast, 4, 16, {{Kind::Affine4, 128}}},
    {{"marlin"}, symmetric, Reader::Marlin, 4, 16, int4},
};

static void read(MethodReader &reader) {
  JsonFields &fields = reader.fields;
  QuantizationConfig &config = reader.config;
  // Older files of the method spell the keys otherwise.
  config.bits = fields.unsignedIntegerOr(fields.has("w_bit") ? "w_bit" : "bits", 4, 1, 8);
  config.group = reader.group(fields.has("q_group_size") ? "q_group_size" : "group_size");
  if (*config.bits != 4)
    reader.refuse("bits", message("AWQ with ", *config.bits, " bits"), "AWQ has 4 bits");
  std::string version = fields.stringOr("version", "gemm");
  std::transform(version.begin(), version.end(), version.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  // The same packing by its authors' name.
  if (fields.stringOr("backend", "autoawq") == "llm-awq")
    version = "gemv_fast";
  const StoredFormat *format = reader.format("version", version, "AWQ's packing");
  bool zeros = fields.booleanOr("zero_point", true);
  if (format && zeros == (format->reader == Reader::Marlin))
    reader.refuse("zero_point",
                  message("AWQ's packing ", version, zeros ? " with" : " without", " zero points"),
                  zeros ? "supported: zero_point false" : "supported: zero_point true");
}

constinit const QuantizationMethod awq = {{"awq"}, formats, read};

} // namespace ingot::checkpoint::methods
