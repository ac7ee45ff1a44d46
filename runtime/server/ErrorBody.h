// SPDX-License-Identifier: Apache-2.0
// Errors in the form of OpenAI's: a status of HTTP, and a body that names the field.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/server/HttpMessage.h"

#include <exception>

namespace ingot::runtime {

struct ApiError {
  int status = 400;    ///< of HTTP
  std::string code;    ///< INGOT-Ennnn
  std::string message; ///< what was wrong, where, and what to change
  std::string field;   ///< of the body; empty: none
};

/// Whether an error is one of chat templates, or of what a conversation is to them.
bool isOfTemplates(std::string_view code);

/// The error that a Status of the runtime is to a client.
ApiError apiError(const Status &status);

/// The error that an exception of the server's own is to a client.
ApiError exceptionError(const std::exception &exception);

/// Whose clients read an error.
enum class ErrorForm { OpenAi, Anthropic };
ErrorForm errorFormOf(std::string_view path);

/// {"error": {...}} with the members of that form, and `ingot_code`.
std::string errorJson(const ApiError &error, ErrorForm form = ErrorForm::OpenAi);

/// The response; with Retry-After where it helps to try again.
HttpResponse errorResponse(const ApiError &error, ErrorForm form = ErrorForm::OpenAi);

} // namespace ingot::runtime
