#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes GgmlGoldens.h: what the package `gguf` makes of blocks that name rows of a grid."""
import hashlib
import importlib.metadata
import pathlib
import textwrap

import gguf
import numpy

BLOCKS = 1024  # So that each row of each grid is named.
# Of ggml's own goldens these types have none, so one block of each is written out.
SHOWN = ("IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS")
NAMES = (*SHOWN, "IQ2_S", "IQ3_XXS", "IQ3_S")
HEAD = """// SPDX-License-Identifier: Apache-2.0
// Written by make_ggml_goldens.py: values of random blocks as the package gguf %s has them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace ingot::test {

/// `digest`: SHA-256 of the f32 values of that many blocks of gridBlocks.
inline constexpr size_t gridBlockCount = %d;
struct GridDigest {
  std::string_view type, digest;
};
// clang-format off
inline constexpr GridDigest gridDigests[] = {
%s
};

/// The first of gridBlocks with a scale of 1, and its values in eighths.
struct GridGolden {
  std::string_view type;
  std::vector<int16_t> eighths;
};
inline const GridGolden gridGoldens[] = {
%s
};
// clang-format on

} // namespace ingot::test
"""


def highest(name):
    """The byte with the high bits of a block's half."""
    return 55 if name == "IQ1_M" else 1


def random_blocks(name):
    """As gridBlocks of GgmlBlocksTest.cpp makes them: no half is infinite or not a number."""
    size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[name]][1]
    state, data = 1, bytearray()
    for _ in range(BLOCKS * size):
        state = (state * 1664525 + 1013904223) % 2**32
        data.append(state >> 24)
    blocks = numpy.frombuffer(bytes(data), numpy.uint8).reshape(BLOCKS, size).copy()
    blocks[:, highest(name)] &= 0xBF
    return blocks


def with_scale_one(name, block):
    block = block.copy()
    if name == "IQ1_M":  # Its half is the high nibbles of four words.
        block[49:56:2] &= 15
        block[53] |= 0xC0
        block[55] |= 0x30
    else:
        block[:2] = 0, 0x3C
    return block


def values(name, blocks):
    return gguf.quants.dequantize(blocks, gguf.GGMLQuantizationType[name]).astype("<f4")


def main():
    digests, goldens = [], []
    for name in NAMES:
        blocks = random_blocks(name)
        digest = hashlib.sha256(values(name, blocks).tobytes()).hexdigest()
        digests.append(f'    {{"{name}",\n     "{digest}"}},')
        if name in SHOWN:
            eighths = 8 * values(name, with_scale_one(name, blocks[0])[None]).ravel()
            assert (eighths == eighths.astype(int)).all()
            text = ", ".join(str(int(number)) for number in eighths)
            goldens.append(f'    {{"{name}",\n' + textwrap.indent(
                textwrap.fill("{" + text + "}},", 94), "     "))
    path = pathlib.Path(__file__).with_name("GgmlGoldens.h")
    path.write_text(HEAD % (
        importlib.metadata.version("gguf"), BLOCKS, "\n".join(digests), "\n".join(goldens)))


if __name__ == "__main__":
    main()
