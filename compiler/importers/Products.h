// SPDX-License-Identifier: Apache-2.0
// The matrix products of a part of a model, as calibration looks at them: which read the same
// input, and which weights could scale it.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace ingot::compiler {

/// A product with a whole stored matrix [rows, columns].
struct Product {
  std::string weight; ///< the stored tensor, by its name in the checkpoint
  int64_t rows = 0, columns = 0;
};

/// Products of one input [T, columns].
struct ProductGroup {
  std::string tap; ///< holds the input
  int64_t columns = 0;
  std::vector<Product> products;

  /// What makes the input, if it can be scaled column by column so that nothing else changes.
  enum class Source : uint8_t {
    None,
    Norm,    ///< `sourceWeight`, and `sourceBias` unless empty: numbers of a norm
    Product, ///< a product with `sourceWeight`: its rows are the input's columns
  };
  Source source = Source::None;
  std::string sourceWeight, sourceBias;
  bool lessOne = false; ///< a norm multiplies by 1 + its numbers
  std::string whyNone;  ///< why there is no source
};

/// What is no product with a whole stored matrix, and why.
struct UnquantizableProduct {
  std::string site, reason;
};

/// The taps of what is appended to a KV cache.
struct CacheInputs {
  std::string keys, values;
};

struct ProductList {
  std::vector<ProductGroup> groups; ///< in the order of the program
  std::vector<CacheInputs> caches;  ///< likewise, where they are tapped
  std::vector<UnquantizableProduct> others;
};

/// Puts a tap at the input of every product of @step, which an importer just made; with `caches`
/// also at the keys and values that KV caches get.
ProductList tapProducts(mlir::ModuleOp module, bool caches);

} // namespace ingot::compiler
