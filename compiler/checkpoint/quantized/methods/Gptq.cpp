// SPDX-License-Identifier: Apache-2.0
// AutoGPTQ and GPTQModel.
#include "compiler/checkpoint/quantized/methods/Methods.h"

namespace ingot::checkpoint::methods {

using namespace rows;

static constexpr auto formats = join(
    words({"gptq", "gptq_v2"}, Reader::Gptq),
    std::array<StoredFormat, 3>{{
        {.packings = {"marlin"}, .refusal = "its words have the order of one kernel"},
        {.packings = {"bitblas"},
         .refusal = "its words have the order that BitBLAS chose for one GPU",
         .instead = "use the checkpoint that GPTQModel made it from (checkpoint_format gptq_v2)"},
        {.packings = {"gptq_p"},
         .refusal = "numbers of 5 to 7 bits in planes",
         .instead = "quantize to 2, 3, 4 or 8 bits with GPTQModel (format gptq_v2)"},
    }});

static void read(MethodReader &reader) {
  JsonFields &fields = reader.fields;
  QuantizationConfig &config = reader.config;
  config.bits = fields.unsignedIntegerOr("bits", 4, 1, 8);
  config.group = reader.group("group_size");
  if (auto dynamic = reader.object.find("dynamic"); dynamic && dynamic->size() > 0)
    config.bits = config.group = std::nullopt;
  config.symmetric = fields.booleanOr("sym", true);
  std::string_view key = fields.has("format") ? "format" : "checkpoint_format";
  std::string name = fields.stringOr(key, "gptq");
  reader.format(key, name, "GPTQ's packing");
  config.zeroIncrement = name == "gptq" ? 1 : 0;
}

constinit const QuantizationMethod gptq = {{"gptq"}, formats, read};

} // namespace ingot::checkpoint::methods
