// SPDX-License-Identifier: Apache-2.0
// The cost model's predictions of the kernels in published.json, beside what others measured.
#pragma once

#include "codegen/cuda/MatmulCost.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace ingot::bench {

/// One published timing.
struct PublishedKernel {
  nlohmann::json row;     ///< as the file has it
  codegen::CudaPart part; ///< that it was measured on
  /// The launches that were measured together.
  std::vector<codegen::MatmulWork> launches;

  double published() const { return row.at("microseconds"); }
  double predicted() const; ///< microseconds
  double ratio() const { return predicted() / published(); }
  bool isFitted() const { return row.at("fitted"); }
};

/// The rows of the file's text. Throws where it lacks something.
std::vector<PublishedKernel> readPublished(const std::string &text);

/// Tables as docs/results has them: predicted / published, and the errors of those that constants
/// are fitted to, of the others and of all.
std::string comparisonTable(const std::vector<PublishedKernel> &kernels);
std::string errorTable(const std::vector<PublishedKernel> &kernels);

} // namespace ingot::bench
