// SPDX-License-Identifier: Apache-2.0
// What GPUs demand of kernels and their launches: tensor maps and clusters.
#pragma once

#include "runtime/engine/Expression.h"

#include <span>
#include <string>

namespace ingot::runtime {

/// Buffer argument number `index` of a launch; null: it has fewer.
const schema::Arg *bufferArgument(const schema::Launch &launch, uint32_t index);

/// Checks the cluster and the tensor maps of a kernel over the declared `dims`. INGOT-E5006, E5007.
Status verifyDeviceKernel(const schema::Kernel &kernel, std::span<const Interval> dims,
                          const std::string &where);

/// Checks a variant that launches `kernel`: clusters fill the grid, and what tensor maps read lies
/// in its buffer. Expressions of the grid and buffers must have been checked. INGOT-E5006, E5007.
Status verifyDeviceLaunch(const schema::Kernel &kernel, const schema::Variant &variant,
                          const schema::Launch &launch, const schema::Target &target,
                          std::span<const Interval> dims, const std::string &where);

} // namespace ingot::runtime
