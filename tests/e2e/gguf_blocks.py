# SPDX-License-Identifier: Apache-2.0
"""Random blocks of ggml's types with the values that they stand for, and which types llama.cpp's
quantizer takes where."""
import array
import struct

from gguf_files import F32, q4_k, Q4_K, Q8_0, q8_0

F16, Q4_0, Q5_0, Q5_K, Q6_K = 1, 2, 6, 13, 14


def f16(count, numbers):
    values = array.array("f", (numbers.randrange(-128, 128) * 2**-10 for _ in range(count)))
    return struct.pack(f"<{count}e", *values), values


def q4_0(count, numbers, fifth=False):
    """Of Q5_0 where there is a fifth bit."""
    blocks, values = b"", array.array("f")
    for _ in range(count):
        high = numbers.getrandbits(32) if fifth else 0
        quants = numbers.randbytes(16)
        blocks += struct.pack("<e", 2**-6) + (struct.pack("<I", high) if fifth else b"") + quants
        codes = [(quants[i % 16] >> 4 * (i // 16) & 15) + 16 * (high >> i & 1) for i in range(32)]
        values.extend(2**-6 * (code - (16 if fifth else 8)) for code in codes)
    return blocks, values


def q5_0(count, numbers):
    return q4_0(count, numbers, fifth=True)


def q5_k(count, numbers):
    return q4_k(count, numbers, fifth=True)


def q6_k(count, numbers):
    blocks, values = b"", array.array("f")
    for _ in range(count):
        low, high = numbers.randbytes(128), numbers.randbytes(64)
        scales = array.array("b", numbers.randbytes(16))
        blocks += low + high + scales.tobytes() + struct.pack("<e", 2**-15)
        for i in range(256):
            half, part, place = i // 128, i % 128 // 32, i % 32
            code = (low[64 * half + 32 * (part % 2) + place] >> 4 * (part // 2) & 15) + 16 * (
                high[32 * half + place] >> 2 * part & 3)
            values.append(2**-15 * scales[i // 16] * (code - 32))
    return blocks, values


# Types by their numbers: what makes blocks, of how many values each, and what stands in where these
# do not divide a row.
TYPES = {F16: (f16, 1, None), Q4_0: (q4_0, 32, F16), Q5_0: (q5_0, 32, F16), Q8_0: (q8_0, 32, F16),
         Q4_K: (q4_k, 256, Q5_0), Q5_K: (q5_k, 256, Q8_0), Q6_K: (q6_k, 256, Q8_0)}


def kind_of(name, shape, base):
    """The type of a tensor in a file whose matrices mostly have the type `base`."""
    if len(shape) < 2 or name.startswith("rope_") or not name.endswith("weight") or any(
            part in name for part in ("norm", "conv", "ffn_gate_inp")):
        return F32
    more = {Q4_0: Q4_0, Q4_K: Q6_K, Q5_K: Q6_K}[base]
    kind = (F16 if "per_layer_model_proj" in name else
            Q6_K if name.startswith(("token_embd", "output")) else
            Q5_K if name.startswith("per_layer_token_embd") else
            Q8_0 if "ssm_alpha" in name or "ssm_beta" in name else
            more if "attn_v" in name or "ffn_down" in name or "attn_qkv" in name else base)
    while shape[-1] % TYPES[kind][1]:
        kind = TYPES[kind][2]
    return kind


def in_blocks(tensors, base, numbers):
    """The tensors in blocks, and in F32 with the same values."""
    blocks, plain = dict(tensors), dict(tensors)
    for name, (_, shape, _) in tensors.items():
        if (kind := kind_of(name, shape, base)) == F32:
            continue
        encode, width, _ = TYPES[kind]
        count = 1
        for extent in shape:
            count *= extent
        data, values = encode(count // width, numbers)
        blocks[name] = kind, shape, data
        plain[name] = F32, shape, values.tobytes()
    return blocks, plain
