// SPDX-License-Identifier: Apache-2.0
// What a Hub tells of a repository at one revision.
#pragma once

#include "compiler/hub/BlobHash.h"

#include <vector>

namespace ingot::hub {

struct RemoteFile {
  std::string name; ///< safe, as isSafeFileName() says
  uint64_t bytes = 0;
  PublishedDigest digest;
};

struct RepositoryListing {
  std::string commit; ///< 40 hexadecimal digits
  std::vector<RemoteFile> files;

  /// Reads the answer of `/api/models/ORG/REPO/revision/REV?blobs=true`; keys that are not needed
  /// are left. `where`: what messages call it. Errors: those of Json::parse, INGOT-E7304 where it
  /// is of another form, INGOT-E7305 where a file's name is not safe.
  static checkpoint::Expected<RepositoryListing> parse(std::string_view text, std::string where);
};

} // namespace ingot::hub
