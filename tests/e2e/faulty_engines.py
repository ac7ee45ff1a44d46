# SPDX-License-Identifier: Apache-2.0
"""Engines with a fault in a kernel, whole otherwise: each digest is that of what is in the file."""
import hashlib
import re
import struct

# vfmadd132ps, 213 and 231 of AVX2; their last byte | 4 subtracts the product.
FMA = re.compile(rb"\xc4[\xe2\xc2\xa2\x82\x62\x42\x22\x02][\x00-\x7f][\x98\xa8\xb8]")


def function_in(library, name):
    """Where the code of a function of a shared object lies, as a slice of its bytes."""
    sections, = struct.unpack_from("<Q", library, 0x28)
    size, count = struct.unpack_from("<HH", library, 0x3a)
    headers = [struct.unpack_from("<IIQQQQIIQQ", library, sections + i * size)
               for i in range(count)]
    for _, kind, _, _, first, length, strings, *_ in headers:
        if kind != 11:  # SHT_DYNSYM
            continue
        for at in range(first, first + length, 24):
            text, _, _, where, address, extent = struct.unpack_from("<IBBHQQ", library, at)
            begin = headers[strings][4] + text
            if library[begin:library.index(b"\0", begin)] == name.encode():
                _, _, _, base, offset, *_ = headers[where]
                return slice(address - base + offset, address - base + offset + extent)
    raise ValueError(f"{name} is not in the library")


def with_fault(engine, section, change, copy):
    """Writes `copy`: the engine in which `change` makes other bytes, as many, of the section, which
    is an entry of the engine's JSON."""
    data = bytearray(engine.read_bytes())
    place = slice(section["offset"], section["offset"] + section["bytes"])
    right = bytes(data[place])
    wrong = change(right)
    assert len(wrong) == len(right) and wrong != right
    data[place] = wrong
    first, size = struct.unpack("<QQ", data[16:32])
    metadata = bytes(data[first:first + size]).replace(hashlib.sha256(right).digest(),
                                                       hashlib.sha256(wrong).digest())
    data[first:first + size] = metadata
    data[32:64] = hashlib.sha256(metadata).digest()
    copy.write_bytes(data)
    return copy


def with_wrong_product(engine, facts, product, copy):
    """Writes `copy`: the engine, for x86-64-v3 alone, in which the sums of a product subtract,
    whatever the number of rows. `facts`: the engine's JSON."""
    kernels = {variant["kernel"] for launch in facts["targets"][0]["programs"][0]["instructions"]
               if product in launch.get("name", "") for variant in launch["variants"]}

    def negate(code):
        for kernel in sorted(kernels):
            place = function_in(code, kernel)
            code = code[:place.start] + FMA.sub(
                lambda match: match[0][:-1] + bytes([match[0][-1] | 4]),
                code[place]) + code[place.stop:]
        return code
    section, = (one for one in facts["sections"] if one["name"].startswith("kernels/"))
    return with_fault(engine, section, negate, copy)
