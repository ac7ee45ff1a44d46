// SPDX-License-Identifier: Apache-2.0
// Conversations in ShareGPT's form, of which a load takes first questions and lengths of answers.
#pragma once

#include "runtime/core/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ingot::runtime {

/// The first question of a conversation, and how long its answer was.
struct ShareGptConversation {
  std::string prompt;
  int64_t replyBytes = 0;
};

/// Reads a JSON text `[{"conversations": [{"from": "human", "value": "..."}, {"from": "gpt",
/// "value": "..."}, ...]}, ...]`. Conversations that do not begin so are left out, other keys are
/// not read. INGOT-E7242: it is no such JSON, or no conversation is left. `name` is what messages
/// call the file.
Result<std::vector<ShareGptConversation>> parseShareGpt(const std::string &text,
                                                        const std::string &name);

/// The same of a file of at most 1 GiB. Also INGOT-E7101.
Result<std::vector<ShareGptConversation>> readShareGpt(const std::string &path);

} // namespace ingot::runtime
