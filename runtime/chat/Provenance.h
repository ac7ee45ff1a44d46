// SPDX-License-Identifier: Apache-2.0
// Provenance: where the strings that a template was given stand in the prompt that it made.
#pragma once

#include "runtime/core/Span.h"
#include "runtime/jinja/Template.h"

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace ingot::runtime {

/// A part of the prompt, and the part of a string that it came from: byte for byte where both have
/// one size, else the one became the other, as `"` becomes `\"`.
struct Placed {
  Span prompt;
  Span given;
};

/// Strings are known by their address: those of the variables that were rendered, which must be
/// there still.
class Provenance {
public:
  Provenance() = default;
  explicit Provenance(const jinja::Rendered &rendered);

  /// Where the bytes of `given` stand, in their own order.
  std::vector<Placed> placesOf(const std::string &given) const;

  /// The end of the last piece of input that ends at or before `place`, a byte of the prompt; 0:
  /// there is none.
  uint32_t lastEndBefore(uint32_t place) const;

  /// The parts of `given` that are not in the first `size` bytes of the prompt, without the white
  /// space around them, which alone is none.
  std::vector<Span> missing(const std::string &given, size_t size) const;

private:
  std::vector<jinja::Piece> pieces; ///< of known origin, and in its order
  std::unordered_map<const std::string *, uint32_t> addresses;
};

} // namespace ingot::runtime
