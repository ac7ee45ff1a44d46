// SPDX-License-Identifier: Apache-2.0
// Where models come from and are kept: others' conventions, and what options say in their place.
#pragma once

#include "compiler/hub/Url.h"

#include <filesystem>

namespace ingot::hub {

struct HubSettings {
  /// What options give; empty: the environment's.
  struct Asked {
    std::string endpoint;
    std::filesystem::path cacheFolder, tokenFile;
  };

  Url endpoint;                       ///< its path has no `/` at its end
  std::filesystem::path cacheFolder;  ///< with a folder for each repository
  std::string token;                  ///< of visible characters; empty: none
  std::string proxy, noProxy;         ///< as libcurl takes them; empty: none
  std::filesystem::path certificates; ///< authorities; empty: where the library looks

  /// From `asked`, else HF_ENDPOINT, HF_HOME (else XDG_CACHE_HOME, HOME), HF_TOKEN and the file
  /// `token` of HF_HOME; HTTPS_PROXY, NO_PROXY (or in lower case) and SSL_CERT_FILE.
  /// Errors: INGOT-E7303 (endpoint), E7313 (no folder), E7318 (certificates that are not there),
  /// E7319 (a token that no header carries), and those of readText() for a token's file.
  static checkpoint::Expected<HubSettings> read(const Asked &asked);
};

} // namespace ingot::hub
