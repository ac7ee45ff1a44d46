// SPDX-License-Identifier: Apache-2.0
// Which status, type and code of OpenAI's an error has.
#include "runtime/server/ErrorBody.h"

#include <algorithm>
#include <new>
#include <nlohmann/json.hpp>

namespace ingot::runtime {
namespace {

/// What the client gave is wrong; every other code is an error of this side.
constexpr std::string_view clientErrors[] = {
    "INGOT-E6003", "INGOT-E6004", "INGOT-E6005", "INGOT-E6006", "INGOT-E6007", "INGOT-E6008",
    "INGOT-E6012", "INGOT-E6026", "INGOT-E6034", "INGOT-E6401", "INGOT-E6402", "INGOT-E6403",
    "INGOT-E6405", "INGOT-E6601", "INGOT-E6602", "INGOT-E6603", "INGOT-E6604", "INGOT-E6605",
    "INGOT-E6607", "INGOT-E6608", "INGOT-E6610", "INGOT-E6611", "INGOT-E6612", "INGOT-E6613",
    "INGOT-E6614", "INGOT-E6620", "INGOT-E6621", "INGOT-E6622", "INGOT-E6623", "INGOT-E6801",
    "INGOT-E6802", "INGOT-E6803", "INGOT-E6804", "INGOT-E6805", "INGOT-E6808", "INGOT-E6809",
    "INGOT-E6811", "INGOT-E6812", "INGOT-E6813", "INGOT-E6814", "INGOT-E6815"};

bool isOfPictures(std::string_view code) { return code.starts_with("INGOT-E68"); }

/// Of what a request says its answer looks like, in whatever field it says so.
bool isOfForms(std::string_view code) { return code.starts_with("INGOT-E66"); }

int statusOf(std::string_view code) {
  if (std::find(std::begin(clientErrors), std::end(clientErrors), code) != std::end(clientErrors))
    return 400;
  if (isOfTemplates(code))
    return 400;
  if (code == "INGOT-E6030")
    return 429;
  if (code == "INGOT-E6031" || code == "INGOT-E6032")
    return 503;
  return 500;
}

const char *typeOf(int status) {
  switch (status) {
  case 401:
    return "authentication_error";
  case 403:
    return "permission_error";
  case 404:
    return "not_found_error";
  case 429:
    return "rate_limit_error";
  case 501:
    return "not_implemented_error";
  case 408:
  case 504:
    return "timeout_error";
  case 500:
  case 503:
    return "server_error";
  default:
    return "invalid_request_error";
  }
}

const char *anthropicType(int status) {
  switch (status) {
  case 401:
    return "authentication_error";
  case 403:
    return "permission_error";
  case 404:
    return "not_found_error";
  case 413:
    return "request_too_large";
  case 429:
    return "rate_limit_error";
  case 503:
    return "overloaded_error";
  default:
    return status < 500 ? "invalid_request_error" : "api_error";
  }
}

/// The codes of OpenAI's that clients look at; null where there is none.
const char *openAiCode(const ApiError &error) {
  if (error.code == "INGOT-E6004")
    return "context_length_exceeded";
  if (error.code == "INGOT-E7204")
    return "model_not_found";
  if (error.code == "INGOT-E7205")
    return "invalid_api_key";
  return error.status == 429 ? "rate_limit_exceeded" : nullptr;
}

} // namespace

bool isOfTemplates(std::string_view code) { return code >= "INGOT-E6060" && code <= "INGOT-E6077"; }

ApiError apiError(const Status &status) {
  ApiError error = {
      statusOf(status.code()), std::string(status.code()), std::string(status.message()), {}};
  constexpr std::string_view parameter = "sampling parameter ";
  if (error.code == "INGOT-E6006" && error.message.starts_with(parameter))
    error.field = error.message.substr(parameter.size(), error.message.find(' ', parameter.size()) -
                                                             parameter.size());
  else if (error.code == "INGOT-E6071")
    error.field = error.message.substr(0, error.message.find(" must be "));
  else if (isOfTemplates(error.code) || (error.status == 400 && isOfPictures(error.code)))
    error.field = "messages";
  else if (error.status == 400 && error.code != "INGOT-E6034" && !isOfForms(error.code))
    error.field = "prompt";
  return error;
}

ApiError exceptionError(const std::exception &exception) {
  if (dynamic_cast<const std::bad_alloc *>(&exception))
    return {503, "INGOT-E6010", "no memory is left for this request; try again later", {}};
  return {500,
          "INGOT-E7220",
          std::string("the request met an exception: ") + exception.what() +
              "; report this as an error of Ingot",
          {}};
}

ErrorForm errorFormOf(std::string_view path) {
  return path.starts_with("/v1/messages") ? ErrorForm::Anthropic : ErrorForm::OpenAi;
}

std::string errorJson(const ApiError &error, ErrorForm form) {
  using nlohmann::ordered_json;
  ordered_json body;
  if (form == ErrorForm::Anthropic) {
    ordered_json inner = {{"type", anthropicType(error.status)},
                          {"message", error.message},
                          {"ingot_code", error.code}};
    body = {{"type", "error"}, {"error", std::move(inner)}};
  } else {
    const char *code = openAiCode(error);
    ordered_json inner = {
        {"message", error.message},
        {"type", typeOf(error.status)},
        {"param", error.field.empty() ? ordered_json() : ordered_json(error.field)},
        {"code", code ? ordered_json(code) : ordered_json()},
        {"ingot_code", error.code}};
    body = ordered_json{{"error", std::move(inner)}};
  }
  return body.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

HttpResponse errorResponse(const ApiError &error, ErrorForm form) {
  HttpResponse response;
  response.status = error.status;
  response.body = errorJson(error, form);
  if (error.status == 429 || error.status == 503)
    response.headers.push_back({"Retry-After", "1"});
  if (error.status == 401)
    response.headers.push_back({"WWW-Authenticate", "Bearer"});
  return response;
}

} // namespace ingot::runtime
