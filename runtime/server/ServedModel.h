// SPDX-License-Identifier: Apache-2.0
// The engine that a server answers with: its loop, and what clients call it.
#pragma once

#include "runtime/chat/Dialogue.h"
#include "runtime/server/EngineReport.h"
#include "runtime/server/TokenNames.h"
#include "runtime/serving/Loop.h"
#include "runtime/serving/pictures/PictureReader.h"

#include <algorithm>
#include <string>
#include <vector>

namespace ingot::runtime {

/// Shared by all exchanges; nothing of it changes but the loop's inside. Destroyed when no exchange
/// can begin any more; what its loop then cancels still uses it.
struct ServedModel {
  ServedModel(std::unique_ptr<Loop> owned, std::vector<std::string> names, int64_t created)
      : names(std::move(names)), created(created), tokenNames(owned->tokenizer()),
        loop(std::move(owned)) {
    pictures = PictureReader::of(loop->images());
  }

  std::vector<std::string> names; ///< at least one; responses tell the first, or the one asked for
  int64_t created;                ///< seconds since 1970
  TokenNames tokenNames;
  Dialogue dialogue;
  EngineReport report;
  std::unique_ptr<PictureReader> pictures; ///< null: the engine takes none
  std::unique_ptr<Loop> loop;              ///< last: it ends first

  /// Of one conversation; empty where the engine takes none.
  ReadPicture pictureReader() const {
    return pictures ? pictures->ofConversation(loop->memoryPlan().maxContext) : ReadPicture();
  }

  bool isCalled(const std::string &name) const {
    return std::find(names.begin(), names.end(), name) != names.end();
  }
};

} // namespace ingot::runtime
