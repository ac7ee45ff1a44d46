// SPDX-License-Identifier: Apache-2.0
// From kernel templates to one shared object: specialise, optimise, emit and link, all in process.
#pragma once

#include "codegen/Target.h"
#include "codegen/native/KernelTemplate.h"

namespace ingot::codegen {

/// Compiles every engine.kernel of `unit` as Target::compile describes, into one library named
/// "kernels". For each kernel, its `source` names the template, which
///  - defines `extern "C" void ingot_kernel(const IngotLaunch *)`; it becomes the kernel's symbol,
///    the op's name;
///  - reads `extern "C" const int64_t ingot_const_<name>` and `const double ingot_real_<name>`,
///    which get the values of the op's `constants` (integers, booleans and floats), or keep their
///    own where they are defined;
///  - may declare `extern "C" Vec ingot_epilogue(Vec, Vec, Vec, Vec, Vec, Vec)` with Vec float or a
///    vector of floats: defined from the op's region, or as its first argument without one. Region
///    arguments go to the parameters in order; but where the kernel has the constant
///    `pair_offset` = 0, those after the first (the sum) skip the second parameter;
///  - defines, if regions may use them, `Vec ingot_exp(Vec)`, `ingot_tanh`, `ingot_round_bf16` and
///    `ingot_round_f16` (kernels/RegionMath.h).
/// memcpy, memmove, memset and memcmp are provided; nothing else is, and a kernel with another
/// undefined symbol, inline assembly or a missing constant is an error.
mlir::FailureOr<llvm::SmallVector<CompiledLibrary>>
compileKernels(engine::UnitOp unit, const KernelMachine &machine, const CompileOptions &options);

} // namespace ingot::codegen
