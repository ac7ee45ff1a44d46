// SPDX-License-Identifier: Apache-2.0
// What bodies say of the form of an answer, in the words of several programs.
#pragma once

#include "runtime/server/JsonBody.h"
#include "runtime/serving/Session.h"

namespace ingot::runtime {

// Each puts the form into `request`; false where the value is none, or there is one already.

/// OpenAI's `response_format`: {"type": "text"}, "json_object", or "json_schema" with the object
/// "json_schema", whose member "schema" counts; and vLLM's "structural_tag".
bool readResponseFormat(const Json &value, Request &request);
/// `text.format` and `output_config.format`: the same with "schema" beside "type".
bool readFlatFormat(const Json &value, Request &request);
/// vLLM's: one of "json", "regex", "choice", "grammar", "structural_tag", "json_object".
bool readStructuredOutputs(const Json &value, Request &request);
/// llama.cpp's and SGLang's `json_schema`: the schema, or its text.
bool readSchema(const Json &value, Request &request);
/// SGLang's `regex`.
bool readRegex(const Json &value, Request &request);

/// llama.cpp's `grammar`, in GBNF or Lark; an empty one is none.
bool readGrammar(const Json &value, Request &request);

} // namespace ingot::runtime
