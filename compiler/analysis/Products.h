// SPDX-License-Identifier: Apache-2.0
// The matrix products of a part of a model, as calibration looks at them: which read the same
// input, and which weights could scale it.
#pragma once

#include "compiler/checkpoint/config/ExpertMatrix.h"
#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>
#include <vector>

namespace ingot::compiler {

/// A product with a stored matrix [rows, columns].
struct Product {
  std::string weight; ///< the matrix, by its name in the checkpoint
  int64_t rows = 0, columns = 0;
  bool small = false;       ///< as isSmall() has it
  bool inputsFirst = false; ///< stored as [columns, rows]
  std::optional<checkpoint::ExpertMatrix> stack =
      {}; ///< where it is part of a tensor of all experts' matrices
};

/// Which rows of an input an expert reads: those that llm.route sent to it.
struct RoutedInput {
  int64_t expert = 0;
  std::string tap;        ///< holds the expert of each row of the routing [T * perToken, 1]
  int64_t perToken = 1;   ///< rows of the routing for each token
  bool hasTokens = false; ///< the input has a row for each token, and not for each of the routing
};

/// Products of one input [T, columns], or of the rows of it that one expert reads.
struct ProductGroup {
  std::string tap; ///< holds the input
  int64_t columns = 0;
  std::optional<RoutedInput> routed; ///< of an expert's products
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
  std::vector<std::string> weights = {}; ///< the stored matrices that its own is made of
};

/// The taps of what is appended to a KV cache.
struct CacheInputs {
  std::string keys, values;
};

struct ProductList {
  /// In the order of the program, those of experts last.
  std::vector<ProductGroup> groups;
  std::vector<CacheInputs> caches; ///< in the order of the program, where they are tapped
  std::vector<UnquantizableProduct> others;
};

/// Whether the matrix that `weight` makes is small though it has two dimensions, so that quantizing
/// it would save nothing: fewer than eight rows or columns, what llm.route chooses by, or biases
/// that it chooses from.
bool isSmall(mlir::Operation *weight);

/// Puts a tap at the input of every product of @step, which an importer just made of a model of
/// this configuration, and at the experts of its tokens; with `caches` also at the keys and values
/// that KV caches get.
ProductList tapProducts(mlir::ModuleOp module, const checkpoint::ModelConfig &config, bool caches);

} // namespace ingot::compiler
