// SPDX-License-Identifier: Apache-2.0
// Self-test of engines with tuning candidates: every kernel of a product on the same inputs.
#pragma once

#include "runtime/serving/Session.h"
#include "runtime/tools/Verdict.h"

namespace ingot::runtime {

/// Runs, for each distinct product at several numbers of rows, every kernel that takes so many, on
/// made values. Those that tuning may choose must agree bit for bit, and with the plain kernel,
/// where there is one, up to the rounding of sums. Skipped where no product has several kernels.
/// Takes the session's KV cache and state: no request may be in flight, and none may follow.
/// INGOT-E6504 when the device failed.
Status checkProducts(Session &session, Verdict &verdict);

} // namespace ingot::runtime
