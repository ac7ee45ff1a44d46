// SPDX-License-Identifier: Apache-2.0
// FP8 as DeepSeek and AutoFP8 have it.
#include "compiler/checkpoint/quantized/methods/Methods.h"

namespace ingot::checkpoint::methods {

using namespace rows;

static constexpr auto formats =
    join(e4m3({"e4m3"}), std::array<StoredFormat, 1>{{
                             {.packings = {"e5m2"}, .refusal = "no kernel reads weights of e5m2"},
                         }});

static void read(MethodReader &reader) {
  JsonFields &fields = reader.fields;
  reader.format("fmt", fields.stringOr("fmt", "e4m3"), "FP8 weights of type");
  if (fields.has("kv_cache_scheme"))
    reader.config.kvCache = MethodReader::KvCache::Float8;
  std::string scheme = fields.stringOr("activation_scheme", "dynamic");
  const bool blocks = fields.has("weight_block_size");
  reader.readBlock(fields, "weight_block_size");
  if (scheme == "dynamic" && !blocks)
    reader.config.activations = MethodReader::Activations::Float8PerToken;
  else if (scheme == "static" && !blocks)
    reader.config.activations = MethodReader::Activations::Float8PerTensor;
  else
    reader.declineActivations("activation_scheme",
                              scheme == "dynamic"
                                  ? message("dynamic FP8 by ", reader.config.block[1], " channels")
                                  : printable(scheme) + " FP8");
}

constinit const QuantizationMethod float8 = {{"fp8"}, formats, read};

} // namespace ingot::checkpoint::methods
