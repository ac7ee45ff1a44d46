// SPDX-License-Identifier: Apache-2.0
// What people call a model of a Hub.
#pragma once

#include "compiler/hub/Url.h"

namespace ingot::hub {

/// ORG/REPO[@REVISION][:PART]
struct ModelName {
  std::string organisation, repository;
  std::string revision = "main"; ///< branch, tag or commit
  std::string part;              ///< a file, or a quantization as in file names; may be empty

  /// Error: INGOT-E7301.
  static checkpoint::Expected<ModelName> parse(std::string_view text);

  /// The same, or a page of the Hub at `endpoint`: ORG/REPO, ORG/REPO/tree/REVISION, or of a file
  /// ORG/REPO/blob/REVISION/FILE or ORG/REPO/resolve/REVISION/FILE. Errors: INGOT-E7301, E7303.
  static checkpoint::Expected<ModelName> parse(std::string_view text, const Url &endpoint);

  std::string repositoryName() const { return organisation + "/" + repository; }
};

/// Whether an argument that may be a path is rather a name or an address: it has the form of one,
/// nothing is at the path, and there is no folder of its first part.
bool isModelName(const std::string &argument);

/// Whether a file of a repository can only end up below the folder that is made for it: relative,
/// without `..`, `\` and control characters, of parts that file systems take.
bool isSafeFileName(std::string_view name);

/// Whether `text` is `digits` lower-case hexadecimal ones.
bool isHex(std::string_view text, size_t digits);

} // namespace ingot::hub
