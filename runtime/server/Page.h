// SPDX-License-Identifier: Apache-2.0
// The page for people that the server has at "/".
#pragma once

#include "runtime/server/HttpMessage.h"

#include <span>

namespace ingot::runtime {

/// A source of the page, from the folder `page`.
struct PageSource {
  std::string_view name, text;
};
/// In the order in which the page has them; for ever.
std::span<const PageSource> pageSources();

/// One document with its styles and scripts inside, and headers that let it ask this server alone.
HttpResponse pageResponse();

} // namespace ingot::runtime
