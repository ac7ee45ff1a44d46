// SPDX-License-Identifier: Apache-2.0
// Names in a schema that no vocabulary served here has.
#pragma once

#include <span>
#include <string_view>

namespace ingot::runtime::guided {

/// To JSON Schema an unknown keyword is an annotation. Whether `name` is none, as far as can be
/// seen: a misspelling of one of `binding`, a keyword that binds in another dialect (OpenAPI's
/// `nullable`, draft 3's `disallow`, JTD's `elements`), or one that begins as those that bind do
/// ("minSize"). Names with "$" are the specification's own.
bool mayBind(std::string_view name, std::span<const std::string_view> binding);

} // namespace ingot::runtime::guided
