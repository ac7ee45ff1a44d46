// SPDX-License-Identifier: Apache-2.0
// The part of ingot.h about pictures.
#include "runtime/api/Boundary.h"

using namespace ingot::runtime;

ingot_error *ingot_picture_read(const ingot_engine *engine, const void *bytes, size_t size,
                                ingot_picture **picture) {
  return guarded([&]() -> Status {
    if (!engine || (!bytes && size) || !picture)
      return misuse("a pointer is NULL");
    if (!engine->pictures)
      return noPictures();
    Result<std::shared_ptr<const PromptPicture>> read =
        engine->pictures->read({static_cast<const uint8_t *>(bytes), size});
    if (!read.ok())
      return std::move(read).status();
    *picture = new ingot_picture{*std::move(read)};
    return {};
  });
}

void ingot_picture_close(ingot_picture *picture) { delete picture; }

int64_t ingot_picture_tokens(const ingot_picture *picture) {
  return picture ? int64_t(picture->picture->tokens()) : 0;
}
