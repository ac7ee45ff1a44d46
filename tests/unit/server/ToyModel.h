// SPDX-License-Identifier: Apache-2.0
// A toy engine as a server has it.
#pragma once

#include "runtime/server/ServedModel.h"
#include "tests/unit/engine/ToyEngine.h"

namespace ingot::test {

struct ToyModel {
  std::unique_ptr<AlignedBytes> bytes;
  std::unique_ptr<runtime::ServedModel> model;
};

inline ToyModel openToyModel(const ToyOptions &toy = {}, const runtime::LoopOptions &loop = {},
                             int64_t sequences = 0) {
  runtime::SessionOptions limits;
  limits.memory.maxSequences = sequences;
  limits.device.threads = 1;
  ToySession opened = openToy(toy, limits);
  auto owned = std::make_unique<runtime::Loop>(std::move(opened.session), loop);
  return {std::move(opened.bytes),
          std::make_unique<runtime::ServedModel>(std::move(owned),
                                                 std::vector<std::string>{"toy", "other"}, 5)};
}

} // namespace ingot::test
