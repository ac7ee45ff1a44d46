// SPDX-License-Identifier: Apache-2.0
// bitsandbytes. The 4-bit formats say all that there is to know in their tensors.
#include "compiler/checkpoint/quantized/methods/Methods.h"

namespace ingot::checkpoint::methods {

using namespace rows;

static constexpr HeldFormat blocksOf64{{Kind::CodeBook4, 64}, kF32};

static constexpr StoredFormat formats[] = {
    {{"nf4", "fp4"}, "a codebook", Reader::BitsAndBytes4, 4, 32, blocksOf64},
    {{"nf4", "fp4"}, "a codebook, scales of 8 bits", Reader::BitsAndBytes4, 4, 8, blocksOf64},
    {{"int8"}, symmetric, Reader::BitsAndBytes8, 8, 32, int8Rows},
};

static void read(MethodReader &reader) {
  JsonFields &fields = reader.fields;
  if (fields.booleanOr("load_in_4bit", false)) {
    if (fields.booleanOr("bnb_4bit_use_double_quant", false))
      reader.config.deviations.push_back({"scales", "quantized twice, 8 bits", "f32",
                                          "kernels read no such scales; the values are the same"});
    return;
  }
  if (!fields.booleanOr("load_in_8bit", false))
    return reader.refuse("load_in_8bit", "bitsandbytes with neither 4 nor 8 bits",
                         "supported: load_in_4bit, load_in_8bit");
  reader.config.deviations.push_back({"llm_int8_threshold", "columns of large activations in f16",
                                      "activations as they are stored",
                                      "all columns are computed alike"});
}

constinit const QuantizationMethod bitsAndBytes = {{"bitsandbytes"}, formats, read};

} // namespace ingot::checkpoint::methods
