// SPDX-License-Identifier: Apache-2.0
// A load on a server of OpenAI's API. HttpLoad.cpp alone includes Boost.
#pragma once

#include "runtime/tools/load/CompletionChunk.h"
#include "runtime/tools/load/LoadProgress.h"
#include "runtime/tools/load/Pacing.h"
#include "runtime/tools/load/ServerAddress.h"
#include "runtime/tools/load/Workload.h"

namespace ingot::runtime {

struct HttpOptions {
  ServerAddress address;
  std::string apiKey; ///< sent as a bearer token; empty: none
  std::string model;
  double timeout = 600; ///< seconds of silence after which a request has failed
  bool ignoreEos = false;
};

/// The server's model of that name, or its first. INGOT-E7243: the server cannot be reached, or
/// answers something else.
Result<ListedModel> askForModel(const HttpOptions &options);

/// Makes every request of `workload`, each streamed over a connection of its own, on the calling
/// thread. Records are in the order in which requests ended; what fails is in its record. `seconds`
/// becomes the time from the start until the last one ended. INGOT-E7243: the host has no address.
Result<std::vector<LoadRecord>> runHttpLoad(const HttpOptions &options, Workload &workload,
                                            const Pacing &pacing, LoadProgress &progress,
                                            double &seconds);

} // namespace ingot::runtime
