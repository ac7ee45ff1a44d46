// SPDX-License-Identifier: Apache-2.0
// Joins the sources of the page, and names its style and its script by their digests.
#include "runtime/server/Page.h"

#include "runtime/core/Sha256.h"

#include <algorithm>

namespace ingot::runtime {
namespace {

/// RFC 4648, as a Content-Security-Policy names what a page may have inside.
std::string base64(const Digest &digest) {
  constexpr std::string_view letters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < digest.size(); i += 3) {
    uint32_t three = 0;
    size_t bytes = std::min<size_t>(3, digest.size() - i);
    for (size_t j = 0; j < 3; ++j)
      three = three << 8 | (j < bytes ? digest[i + j] : 0);
    for (size_t j = 0; j < 4; ++j)
      text += j <= bytes ? letters[three >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

std::string joined(std::string_view ending) {
  std::string text;
  for (const PageSource &source : pageSources())
    if (source.name.ends_with(ending))
      text += source.text;
  return text;
}

/// Puts `content` behind the only `mark` of a document.
void insertBehind(std::string &document, std::string_view mark, const std::string &content) {
  document.insert(document.find(mark) + mark.size(), content);
}

std::string sourceOf(const std::string &content) {
  return "'sha256-" + base64(sha256(content.data(), content.size())) + "'";
}

} // namespace

HttpResponse pageResponse() {
  std::string style = joined(".css"), script = joined(".js"), document = joined(".html");
  insertBehind(document, "<script type=\"module\">", script);
  insertBehind(document, "<style>", style);
  std::string policy = "default-src 'none'; script-src " + sourceOf(script) + "; style-src " +
                       sourceOf(style) +
                       "; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
                       "frame-ancestors 'none'";
  return {.contentType = "text/html; charset=utf-8",
          .headers = {{"Content-Security-Policy", std::move(policy)},
                      {"X-Content-Type-Options", "nosniff"},
                      {"Referrer-Policy", "no-referrer"},
                      {"Cache-Control", "no-cache"}},
          .body = std::move(document)};
}

} // namespace ingot::runtime
