// SPDX-License-Identifier: Apache-2.0
// A model by its name: found in the cache, or fetched into it.
#pragma once

#include "compiler/build/Progress.h"
#include "compiler/hub/HubSettings.h"
#include "compiler/hub/ModelName.h"

namespace ingot::hub {

struct PullOptions {
  bool isOffline = false;    ///< takes what is there
  bool isKeptEnough = false; ///< asks the Hub only where the model is not there
  unsigned retries = 5;
  uint64_t memory = 0; ///< that a GGUF file must fit in, in bytes
};

/// The folder, or GGUF file, of the model. Nothing of it is ever under its name that is not whole
/// and of the published digest. Errors: those of fetchAll(), RepositoryListing::parse(),
/// selectFiles(), BlobFile; INGOT-E7312 where there is not enough space for what is missing; E7317
/// where the model is not there, or not whole, and may not be fetched.
checkpoint::Expected<std::filesystem::path> pull(const ModelName &name, const HubSettings &settings,
                                                 const PullOptions &options,
                                                 compiler::Progress &progress);

} // namespace ingot::hub
