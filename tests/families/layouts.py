# SPDX-License-Identifier: Apache-2.0
"""Matrices as programs that quantize store them, and the numbers that these stand for."""
import array
import bisect
import itertools
import math

import models

# What nibble of a word output j of eight is in.
AWQ_ORDER = [0, 4, 1, 5, 2, 6, 3, 7]
# Above which the next number is nearer.
E2M1_BORDERS = [(one + other) / 2 for one, other in itertools.pairwise(models.E2M1)]


def quantized(checkpoint, store_of):
    """The checkpoint with matrices as stores have them, and what these stand for. A matrix's store,
    of its name and shape, takes rows, columns and values, and gives its module's tensors by the
    ends of their names, and the values that they stand for; none leaves it as it is."""
    stored, meant = {}, {}
    for name, (shape, data) in checkpoint.items():
        meant[name] = shape, data
        if store := store_of(name, shape):
            parts, values = store(*shape, data)
            meant[name] = shape, values
            module = name.removesuffix(".weight")
            stored.update({module + part: tensor for part, tensor in parts.items()})
        else:
            stored[name] = shape, data
    return stored, meant


def power(value):
    """The least power of two that is not below."""
    return 2.0 ** math.ceil(math.log2(value))


def float16(powers):
    """Powers of two, as F16."""
    return array.array("H", (int(math.log2(value)) + 15 << 10 for value in powers))


def bfloat16(powers):
    return array.array("H", (int(math.log2(value)) + 127 << 7 for value in powers))


def words(fields, bits):
    """Unsigned fields in words of 32 bits, the first in the lowest bits."""
    each = 32 // bits
    packed = (sum(field << bits * i for i, field in enumerate(fields[first:first + each]))
              for first in range(0, len(fields), each))
    return array.array("i", (word - (word >> 31 << 32) for word in packed))


def integers(rows, columns, data, bits, group, symmetric):
    """Codes from 0 on, [rows, columns]; scales, powers of two, and zero points, [rows, groups];
    and what they stand for."""
    half, codes, scales, zeros = 1 << bits - 1, [], [], []
    values = array.array("f")
    for first in range(0, rows * columns, group):
        run = data[first:first + group]
        low, high = min(0.0, *run), max(0.0, *run)
        scale = power(max(-low, high) / half if symmetric else (high - low) / (2 * half - 1))
        zero = half if symmetric else min(2 * half - 1, round(-low / scale))
        own = [max(0, min(2 * half - 1, round(value / scale) + zero)) for value in run]
        codes += own
        scales.append(scale)
        zeros.append(zero)
        values.extend((code - zero) * scale for code in own)
    return codes, scales, zeros, values


def packed(bits=4, group=32, symmetric=True):
    """compressed-tensors' pack-quantized; group 0: a scale for each row."""
    def store(rows, columns, data):
        codes, scales, zeros, values = integers(rows, columns, data, bits, group or columns,
                                                symmetric)
        groups = columns // (group or columns)
        each = 32 // bits
        parts = {".weight_packed": ([rows, columns // each], words(codes, bits)),
                 ".weight_scale": ([rows, groups], bfloat16(scales), "BF16"),
                 ".weight_shape": ([2], array.array("q", [rows, columns]))}
        if not symmetric:
            by_group = [zeros[row * groups + g] for g in range(groups) for row in range(rows)]
            stood = words(by_group, bits)  # Words along rows, which `each` divides.
            parts[".weight_zero_point"] = [rows // each, groups], array.array("i", (
                stood[g * (rows // each) + row] for row in range(rows // each)
                for g in range(groups)))
        return parts, values
    return store


def awq(group=32):
    """AutoAWQ's GEMM."""
    def store(rows, columns, data):
        codes, scales, zeros, values = integers(rows, columns, data, 4, group, False)
        groups = columns // group
        order = [AWQ_ORDER.index(nibble) for nibble in range(8)]

        def by_inputs(numbers, count):
            return words([numbers[(first + i) * count + k] for k in range(count)
                          for first in range(0, rows, 8) for i in order], 4)
        by_group = float16(scales[row * groups + g] for g in range(groups) for row in range(rows))
        return {".qweight": ([columns, rows // 8], by_inputs(codes, columns)),
                ".qzeros": ([groups, rows // 8], by_inputs(zeros, groups)),
                ".scales": ([groups, rows], by_group)}, values
    return store


def gptq(bits=4, group=models.GROUP):
    """GPTQ's own, symmetric."""
    def store(rows, columns, data):
        codes, scales, zeros, values = integers(rows, columns, data, bits, group, True)
        groups, each = columns // group, 32 // bits
        by_columns = [words([codes[row * columns + k] for row in range(rows)
                             for k in range(first, first + each)], bits)
                      for first in range(0, columns, each)]
        less = words([zero - 1 for zero in zeros], bits)  # As the format has zero points.
        return {".qweight": ([columns // each, rows], sum(by_columns, array.array("i"))),
                ".qzeros": ([groups, rows // each], less),
                ".scales": ([groups, rows], float16(
                    scales[row * groups + g] for g in range(groups) for row in range(rows))),
                ".g_idx": ([columns], array.array("i", (k // group for k in range(columns))))
                }, values
    return store


def nibbles(codes):
    return array.array("B", (codes[i] + 16 * codes[i + 1] for i in range(0, len(codes), 2)))


def e2m1(run, scale):
    """Codes of values, and what they stand for."""
    codes = [bisect.bisect(E2M1_BORDERS, abs(value) / scale) + 8 * (value < 0) for value in run]
    return codes, [math.copysign(models.E2M1[code % 8] * scale, 7.5 - code) for code in codes]


def nvfp4(modelopt=False, activations=True):
    """With a scale of all that is no power of two; `activations`: with that of inputs too."""
    def store(rows, columns, data):
        codes, scales, values = [], array.array("B"), array.array("f")
        whole = array.array("f", [max(map(abs, data)) / (448 * 6)])[0]
        for first in range(0, len(data), 16):
            run = data[first:first + 16]
            scales.append(models.e4m3(max(map(abs, run)) / 6 / whole))
            own, meant = e2m1(run, (models.E4M3[scales[-1]] or 1) * whole)
            codes += own
            values.extend(meant if models.E4M3[scales[-1]] else [0.0] * 16)
        one = array.array("f", [1.0])
        parts = {".weight_scale": ([rows, columns // 16], scales, "F8_E4M3")}
        if modelopt:
            parts[".weight"] = [rows, columns // 2], nibbles(codes), "U8"
            parts[".weight_scale_2"] = [], array.array("f", [whole])
        else:
            parts[".weight_packed"] = [rows, columns // 2], nibbles(codes)
            parts[".weight_global_scale"] = [1], array.array("f", [1 / whole])
        if activations:
            parts[".input_scale" if modelopt else ".input_global_scale"] = (
                ([] if modelopt else [1]), one)
        return parts, values
    return store


def mxfp4(rows, columns, data):
    """compressed-tensors' mxfp4-pack-quantized."""
    codes, scales, values = [], array.array("B"), array.array("f")
    for first in range(0, len(data), 32):
        run = data[first:first + 32]
        exponent = math.frexp(max(map(abs, run)))[1] - 3
        own, meant = e2m1(run, 2.0 ** exponent)
        codes += own
        scales.append(exponent + 127)
        values.extend(meant)
    return {".weight_packed": ([rows, columns // 2], nibbles(codes)),
            ".weight_scale": ([rows, columns // 32], scales)}, values


def fp8(by_row=True):
    """compressed-tensors' float-quantized by rows; else ModelOpt's, with one scale for all."""
    def store(rows, columns, data):
        codes, values, scales = array.array("B"), array.array("f"), []
        size = columns if by_row else len(data)
        for first in range(0, len(data), size):
            run = data[first:first + size]
            scales.append(power(max(map(abs, run)) / 448))
            for value in run:
                code = models.e4m3(abs(value) / scales[-1])
                codes.append(code + 128 * (value < 0))
                values.append(math.copysign(models.E4M3[code] * scales[-1], value))
        scale = (([rows, 1], bfloat16(scales), "BF16") if by_row
                 else ([], array.array("f", scales)))
        parts = {".weight": ([rows, columns], codes), ".weight_scale": scale}
        if not by_row:
            parts[".input_scale"] = [], array.array("f", [0.125])
        return parts, values
    return store
