// SPDX-License-Identifier: Apache-2.0
// Tools of POST /v1/responses, which are of more kinds than functions: the model knows functions.
#pragma once

#include "runtime/server/ChatRequest.h"

#include <map>

namespace ingot::runtime {

/// How a function that the model knows was offered, where that was not as a function of its name.
struct OfferedTool {
  bool isCustom = false; ///< it takes a text, which is the function's argument "input"
  std::string space;     ///< the namespace it is in; empty: none
  std::string name;      ///< in there
};
using OfferedTools = std::map<std::string, OfferedTool>; ///< by the name that the model knows

/// Reads "tools": functions, custom tools, and namespaces of both. Tools that a server would run
/// itself, which no call of the model's needs, are left out; `told` lists the others.
std::optional<ApiError> takeResponsesTools(const Json &tools, ChatRequest &chat,
                                           OfferedTools &offered, Json &told);

/// The name that the model knows a tool of a namespace by.
std::string nameInSpace(const std::string &space, const std::string &name);

/// Arguments of the function that a custom tool is, and back: the text that arguments hold.
std::string argumentsOfInput(const std::string &input);
std::string inputOfArguments(const std::string &arguments);

} // namespace ingot::runtime
