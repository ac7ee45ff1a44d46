// SPDX-License-Identifier: Apache-2.0
// MXFP4 as gpt-oss has it: blocks and exponents say all.
#include "compiler/checkpoint/quantized/methods/Methods.h"

namespace ingot::checkpoint::methods {

using namespace rows;

static constexpr StoredFormat formats[] = {{{""}, e2m1E8m0, Reader::MxFp4, 4, 8, mxfp4}};

static void read(MethodReader &) {}

constinit const QuantizationMethod mxFp4 = {{"mxfp4"}, formats, read};

} // namespace ingot::checkpoint::methods
