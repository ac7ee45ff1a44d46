// SPDX-License-Identifier: Apache-2.0
// What the cost model expects of each kernel: for reports and for comparing with measurements.
#pragma once

#include "codegen/cuda/CudaArchitecture.h"
#include "dialects/engine/EngineDialect.h"

namespace ingot::engine {
class UnitOp;
} // namespace ingot::engine

namespace ingot::codegen {

/// Adds facts to the kernels that launches of `unit` run at the steps stated below: "predicted_us",
/// the expected time of a launch on the architecture's typical part ("predicted_part"), and
/// "floor_us", the time that its bytes and operations take at the rates of the data sheet; the same
/// with "_" and the part's name behind for each other part; of products on tensor cores also
/// "bound_by" (matmulBound); and "predicted_error". They list microseconds by tokens of a
/// step, such as "1:5.31 10:5.40", as far as the kernel is taken for them. Steps of up to 64 tokens
/// decode one token of as many sequences at context 1024; longer ones are the prompt of one
/// sequence.
void stateCosts(engine::UnitOp unit, const CudaArchitecture &architecture);

} // namespace ingot::codegen
