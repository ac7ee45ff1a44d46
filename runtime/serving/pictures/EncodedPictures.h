// SPDX-License-Identifier: Apache-2.0
// Rows that stand in the place of pictures' tokens, kept while memory lasts.
#pragma once

#include "runtime/serving/BlockHash.h"

#include <cstdint>
#include <list>
#include <memory>
#include <vector>

namespace ingot::runtime {

/// What "encode" makes of a picture: [tokens, hidden] in the order of its tokens, and likewise what
/// is added behind layers.
struct EncodedPicture {
  std::vector<std::vector<float>> rows;
};

/// Those used last, by name, up to `budget` bytes.
class EncodedPictures {
public:
  explicit EncodedPictures(uint64_t budget) : budget(budget) {}

  /// Null where it is not kept.
  std::shared_ptr<const EncodedPicture> find(const BlockHash &name);
  void keep(const BlockHash &name, std::shared_ptr<const EncodedPicture> picture);

private:
  struct Entry {
    BlockHash name;
    std::shared_ptr<const EncodedPicture> picture;
    uint64_t bytes;
  };

  uint64_t budget, bytes = 0;
  std::list<Entry> entries; ///< the last used first; few, since each is large
};

} // namespace ingot::runtime
