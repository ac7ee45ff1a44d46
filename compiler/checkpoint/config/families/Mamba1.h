// SPDX-License-Identifier: Apache-2.0
// Models of Mamba-1, which are known and refused.
#pragma once

#include <algorithm>
#include <string_view>

namespace ingot::checkpoint {

/// What is wrong with these, and what to do; behind the name.
inline constexpr std::string_view
    kWhyNotMamba1 = " is not supported: a Mamba-1 model, whose state spaces decay by channel, "
                    "where those of Mamba-2 do by head",
    kInsteadOfMamba1 = "use a Mamba-2 model, such as Granite 4, Nemotron 3 or Falcon-H1";

/// By what config.json calls an architecture, or a GGUF file.
constexpr bool isMamba1(std::string_view architecture) {
  constexpr std::string_view known[] = {"JambaForCausalLM", "MambaForCausalLM",
                                        "FalconMambaForCausalLM", "jamba", "mamba"};
  return std::ranges::find(known, architecture) != std::end(known);
}

} // namespace ingot::checkpoint
