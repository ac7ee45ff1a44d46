// SPDX-License-Identifier: Apache-2.0
// Requests and results as JSON lines, for --prompts.
#pragma once

#include "runtime/serving/Session.h"

#include <nlohmann/json.hpp>

namespace ingot::runtime {

/// Fills `request` from a JSON object: "prompt" or "prompt_ids", and any sampling parameter under
/// its name in ingot.h ("temperature", "stop", "max_tokens", ...). `request` holds the defaults.
/// "id" becomes `id`, "images" (paths or data: URLs) `images`. INGOT-E6018 names a key that is
/// unknown or of the wrong type.
Status readRequest(const std::string &line, Request &request, nlohmann::json &id,
                   std::vector<std::string> &images);

/// One line of JSON; what is not UTF-8 in it is replaced.
std::string textOf(const nlohmann::json &value);

/// "end_token", "stop_string", "length", "context", "cancelled", "failed" or "deadline".
const char *nameOf(FinishReason reason);

} // namespace ingot::runtime
