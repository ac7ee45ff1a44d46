// SPDX-License-Identifier: Apache-2.0
// The loop of the decoding process.
#pragma once

namespace ingot::runtime::images {

/// Answers requests on `socket` until its other side is gone. The status to end with.
int answerRequests(int socket);

} // namespace ingot::runtime::images
