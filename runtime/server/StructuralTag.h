// SPDX-License-Identifier: Apache-2.0
// `structural_tag`: free text with tagged parts, as vLLM and xgrammar describe it in JSON.
#pragma once

#include "runtime/guided/tags/TagFormat.h"
#include "runtime/server/JsonBody.h"

#include <optional>

namespace ingot::runtime {

/// Reads {"type": "structural_tag", "format": ...}, or the older form with "structures" and
/// "triggers". Of formats: const_string, any_text, regex, grammar, json_schema ("style": "json" or
/// "qwen_xml"), qwen_xml_parameter, sequence, or, tag, triggered_tags, tags_with_separator,
/// optional, star, plus. Nothing where it is none of these, or has members that it does not know.
std::optional<guided::TagFormat> readStructuralTag(const Json &value);

} // namespace ingot::runtime
