// SPDX-License-Identifier: Apache-2.0
// Pictures that prompts on the command line and in files come with.
#pragma once

#include "runtime/serving/Session.h"
#include "runtime/serving/pictures/PictureReader.h"

#include <memory>
#include <string>
#include <vector>

namespace ingot::runtime {

class PictureArguments {
public:
  /// `images`: the engine's, or null.
  explicit PictureArguments(const schema::Images *images);

  /// Reads paths and `data:` URLs into `request`, and says on stderr what was changed of one.
  /// INGOT-E6814: the engine takes none. Others: readPictureSource, PictureReader::read.
  Status read(const std::vector<std::string> &sources, Request &request);

private:
  std::unique_ptr<PictureReader> reader; ///< null where the engine takes no pictures
};

} // namespace ingot::runtime
