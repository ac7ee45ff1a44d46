// SPDX-License-Identifier: Apache-2.0
// AutoGPTQ and GPTQModel.
#include "compiler/checkpoint/quantized/methods/Methods.h"

namespace ingot::checkpoint::methods {

using namespace rows;

static constexpr auto formats = join(
    words({"gptq", "gptq_v2"}, Reader::Gptq),
    std::array<StoredFormat, 3>{{
        {{"marlin"}, symmetric, Reader::Marlin, 4, 16, int4},
        {.packings = {"bitblas"},
         .refusal = "its words have the order that BitBLAS chose for one GPU",
         .instead = "use the checkpoint that GPTQModel made it from (checkpoint_format gptq_v2)"},
        {.packings = {"gptq_p"},
         .refusal = "codes of 5 to 7 bits in bit planes",
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
  bool isMarlin = config.method == "marlin" || fields.booleanOr("is_marlin_format", false);
  std::string name = isMarlin ? "marlin" : fields.stringOr(key, "gptq");
  const StoredFormat *format = reader.format(key, name, "GPTQ's packing");
  config.zeroIncrement = name == "gptq" ? 1 : 0;
  if (!format || format->reader != Reader::Marlin)
    return;
  if (!config.symmetric)
    reader.refuse("sym", "GPTQ's packing marlin with zero points", "supported: sym true");
  if (fields.booleanOr("desc_act", false))
    reader.refuse("desc_act", "GPTQ's packing marlin of columns in another order",
                  "supported: desc_act false");
}

constinit const QuantizationMethod gptq = {{"gptq", "marlin"}, formats, read};

} // namespace ingot::checkpoint::methods
