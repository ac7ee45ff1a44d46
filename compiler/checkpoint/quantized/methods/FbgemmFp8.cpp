// SPDX-License-Identifier: Apache-2.0
// FP8 by rows, of FBGEMM.
#include "compiler/checkpoint/quantized/methods/Methods.h"

namespace ingot::checkpoint::methods {

using namespace rows;

static constexpr StoredFormat formats[] = {{{""}, byRows, Reader::Float8, 8, 32, fp8Rows}};

/// The scale of a token is no more than `activation_scale_ub` gives.
static void read(MethodReader &reader) {
  reader.config.activations = MethodReader::Activations::Float8PerToken;
  double most = reader.fields.numberOr("activation_scale_ub", 1200, 0, 1e15);
  const auto whole = static_cast<uint64_t>(most);
  std::string stated = static_cast<double>(whole) == most ? message(whole) : message(most);
  reader.config.deviations.push_back({"activation_scale_ub", std::move(stated), "no bound",
                                      "kernels scale by the largest magnitude of each token"});
}

constinit const QuantizationMethod fbgemmFp8 = {{"fbgemm_fp8"}, formats, read};

} // namespace ingot::checkpoint::methods
