// SPDX-License-Identifier: Apache-2.0
// Random checkpoints, and random @weights functions over them, from seeds.
#pragma once

#include "tests/unit/checkpoint/CheckpointFiles.h"
#include "tests/unit/weights/PlainEvaluation.h"

#include <random>

namespace ingot::compiler::test {

/// A tensor to be written: values are those its type holds.
struct TensorSpec {
  std::string name;
  std::string type; ///< "f32", "f16", "bf16", "f8E4M3FN", "i32"
  Matrix matrix;
  bool oneDimensional = false;
  uint64_t offset = 0; ///< in the file, once written
};

/// Values around 0 of deviation 0.02, some rows all zero, some values large or tiny.
TensorSpec randomTensor(mlir::MLIRContext &context, std::mt19937 &random, std::string name,
                        std::string type, int64_t rows, int64_t columns);

/// Words of random bits.
TensorSpec randomWords(std::mt19937 &random, std::string name, int64_t rows, int64_t columns);

/// Writes config.json and model.safetensors, and fills in offsets.
void writeCheckpoint(mlir::MLIRContext &context, const ingot::test::TemporaryDirectory &directory,
                     std::vector<TensorSpec> &tensors);

std::map<std::string, Matrix> matricesOf(const std::vector<TensorSpec> &tensors);

/// "tensor<RxCxT>" or "tensor<RxT>".
std::string typeOf(const TensorSpec &tensor);
std::string typeText(int64_t rows, int64_t columns, const std::string &element,
                     const std::string &layout = "");

/// `%name = llm.weight ...`, as a line.
std::string weightLine(const TensorSpec &tensor);

/// A layout for rows x columns: row-major, panels, column panels, or a shuffled one with padding.
std::string randomLayout(std::mt19937 &random, int64_t rows, int64_t columns);

/// The body of a function that combines all operations on `tensors`, stores included.
std::string randomFunction(std::mt19937 &random, const std::vector<TensorSpec> &tensors);

/// "module { func.func @weights() { body } }".
std::string moduleOf(const std::vector<std::string> &bodies);

} // namespace ingot::compiler::test
