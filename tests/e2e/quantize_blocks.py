# SPDX-License-Identifier: Apache-2.0
"""The encoders of ggml's blocks, compared with plain numpy: what blocks stand for is read off their
bytes as ggml-common.h of llama.cpp lays them out, bit for bit, and their squared error is held
against encoders that try everything: all scales of a fine net, all codes of scales."""
import subprocess

import harness

np = harness.numpy()

# How much larger an error may be than that of the encoder that tries everything. With many bits
# there are many minima, and what few tries leave of an error that is small anyway is more of it.
PRECISION = dict.fromkeys(("Q4_0", "Q4_1", "Q5_0", "Q5_1", "IQ4_NL", "Q2_K", "Q3_K", "Q4_K",
                           "IQ4_XS"), 0.01) | {"Q5_K": 0.06, "Q6_K": 0.08, "Q8_0": 0.2}
BOOK = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113],
                np.float32)


# --- Decoders: `blocks` are rows of bytes. ---

def half(blocks, at):
    return blocks[:, at:at + 2].copy().view(np.float16).astype(np.float32)


def nibbles(codes):
    """Low halves of 16 bytes, then their high halves."""
    return np.concatenate([codes & 15, codes >> 4], axis=1)


def fifth_bits(blocks, at):
    bits = np.unpackbits(blocks[:, at:at + 4], axis=1, bitorder="little")
    return bits.astype(np.uint8) << 4


def fields(codes, width):
    """Runs of 32 bytes that hold 8 / width runs of 32 numbers, the lowest bits first."""
    count, most = len(codes), 2**width - 1
    runs = codes.reshape(count, -1, 1, 32) >> np.arange(0, 8, width, np.uint8).reshape(1, 1, -1, 1)
    return (runs & most).reshape(count, -1)


def small(blocks, codes_at, fifth_at=None):
    codes = nibbles(blocks[:, codes_at:codes_at + 16])
    return (codes if fifth_at is None else codes | fifth_bits(blocks, fifth_at)).astype(np.float32)


def pairs_of_six(packed):
    """Eight scales and eight minima of six bits in twelve bytes."""
    first, second, third = packed[:, :4], packed[:, 4:8], packed[:, 8:12]
    return (np.concatenate([first & 63, (third & 15) | first >> 6 << 4], axis=1),
            np.concatenate([second & 63, third >> 4 | second >> 6 << 4], axis=1))


def threes_scales(packed):
    """Sixteen scales of six bits in twelve bytes."""
    low = np.concatenate([packed[:, :8] & 15, packed[:, :8] >> 4], axis=1)
    high = np.concatenate([packed[:, 8:] >> shift & 3 for shift in (0, 2, 4, 6)], axis=1)
    return (low | high << 4).astype(np.float32) - 32


def grouped(scales, codes):
    return (scales[:, :, None] * codes.reshape(*scales.shape, -1)).reshape(len(codes), -1)


def affine_super(scales, minima, scale, minimum, codes):
    """Two products and a difference, each rounded to f32."""
    group = codes.shape[1] // scales.shape[1]
    return (grouped(scale * scales.astype(np.float32), codes)
            - np.repeat(minimum * minima.astype(np.float32), group, axis=1))


def q2_k(blocks):
    scales = blocks[:, :16]
    return affine_super(scales & 15, scales >> 4, half(blocks, 80), half(blocks, 82),
                        fields(blocks[:, 16:80], 2).astype(np.float32))


def q3_k(blocks):
    # Bit n of 32 bytes is above the n-th run of 32 numbers.
    high = fields(blocks[:, :32], 1)
    codes = (fields(blocks[:, 32:96], 2) | high << 2).astype(np.float32) - 4
    return grouped(half(blocks, 108) * threes_scales(blocks[:, 96:108]), codes)


def q4_k(blocks):
    return affine_super(*pairs_of_six(blocks[:, 4:16]), half(blocks, 0), half(blocks, 2),
                        fields(blocks[:, 16:], 4).astype(np.float32))


def q5_k(blocks):
    codes = fields(blocks[:, 48:], 4) | fields(blocks[:, 16:48], 1) << 4
    return affine_super(*pairs_of_six(blocks[:, 4:16]), half(blocks, 0), half(blocks, 2),
                        codes.astype(np.float32))


def q6_k(blocks):
    # 64 bytes are two runs of 32 low halves, then as many high ones.
    low = blocks[:, :128].reshape(-1, 2, 1, 64) >> np.array([0, 4], np.uint8).reshape(1, 1, 2, 1)
    codes = (low & 15).reshape(len(blocks), -1) | fields(blocks[:, 128:192], 2) << 4
    scales = blocks[:, 192:208].copy().view(np.int8).astype(np.float32)
    return grouped(half(blocks, 208) * scales, codes.astype(np.float32) - 32)


def iq4_xs(blocks):
    high = blocks[:, 2:4].copy().view(np.uint16).astype(np.uint32)
    low = (blocks[:, 4:8, None] >> np.array([0, 4], np.uint8) & 15).reshape(len(blocks), -1)
    scales = (low | (high >> np.arange(0, 16, 2) & 3) << 4).astype(np.float32) - 32
    codes = np.concatenate([nibbles(blocks[:, at:at + 16]) for at in range(8, 136, 16)], axis=1)
    return grouped(half(blocks, 0) * scales, BOOK[codes])


DECODERS = {  # bytes of a block, and what they stand for
    "Q4_0": (18, lambda b: half(b, 0) * (small(b, 2) - 8)),
    "Q4_1": (20, lambda b: half(b, 0) * small(b, 4) + half(b, 2)),
    "Q5_0": (22, lambda b: half(b, 0) * (small(b, 6, 2) - 16)),
    "Q5_1": (24, lambda b: half(b, 0) * small(b, 8, 4) + half(b, 2)),
    "Q8_0": (34, lambda b: half(b, 0) * b[:, 2:].copy().view(np.int8)),
    "IQ4_NL": (18, lambda b: half(b, 0) * BOOK[small(b, 2).astype(int)]),
    "Q2_K": (84, q2_k), "Q3_K": (110, q3_k), "Q4_K": (144, q4_k), "Q5_K": (176, q5_k),
    "Q6_K": (210, q6_k), "IQ4_XS": (136, iq4_xs),
}


# --- Encoders: errors alone. x and w are [groups, size]; a scale of zero stands for zeros. ---

def near(values, levels):
    """The nearest of evenly spaced levels, or of any."""
    low, high = levels[0], levels[-1]
    if len(levels) == high - low + 1:
        return np.clip(np.rint(values), low, high)
    return levels[np.searchsorted((levels[1:] + levels[:-1]) / 2, values)]


def scaled_error(x, w, levels, scale):
    """For each group and each of its scales [groups, scales]."""
    scale = scale[:, :, None]
    codes = near(np.divide(x[:, None], scale, where=scale != 0, out=np.zeros(
        np.broadcast_shapes(scale.shape, x[:, None].shape))), levels)
    return (w[:, None] * (x[:, None] - scale * codes)**2).sum(axis=2)


def affine_error(x, w, most, scale, low):
    scale, low = scale[:, :, None], low[:, :, None]
    codes = np.divide(x[:, None] - low, scale, where=scale != 0, out=np.zeros(
        np.broadcast_shapes(scale.shape, x[:, None].shape)))
    values = scale * np.clip(np.rint(codes), 0, most) + low
    return (w[:, None] * (x[:, None] - values)**2).sum(axis=2)


def halves(values):
    return values.astype(np.float16).astype(np.float64)


def extremes(x):
    return np.take_along_axis(x, np.argmax(np.abs(x), axis=1)[:, None], axis=1)


def net(levels):
    """Where the extreme may fall: on either side."""
    shares = np.linspace(0.5, 1.25, 300)
    return 1 / np.concatenate([shares * levels[0], shares * levels[-1]])


def encode_scaled(x, w, levels):
    return scaled_error(x, w, levels, halves(extremes(x) * net(levels))).min(axis=1)


def encode_affine(x, w, most):
    low, high = x.min(axis=1, keepdims=True), x.max(axis=1, keepdims=True)
    step = (high - low) / most
    cuts = np.linspace(-1, 2, 40)
    # Both ends move by themselves.
    lows = np.repeat(low + step * cuts, len(cuts), axis=1)
    highs = np.tile(high - step * cuts, (1, len(cuts)))
    return affine_error(x, w, most, halves((highs - lows) / most), halves(lows)).min(axis=1)


def encode_scaled_super(x, w, levels, size, codes):
    """For each of many super-scales the best of all codes of each group."""
    groups = x.reshape(-1, size)
    weights = w.reshape(groups.shape)
    candidates = extremes(groups) * net(levels)
    errors = scaled_error(groups, weights, levels, candidates)
    best = np.take_along_axis(candidates, errors.argmin(axis=1)[:, None], axis=1)
    largest = extremes(best.reshape(len(x), -1))
    found = np.full(len(x), np.inf)
    for place in np.linspace(0.7, 1.1, 25):
        for end in (codes[0], codes[-1]):
            super_scale = np.repeat(halves(largest / (place * end)), x.shape[1] // size, axis=0)
            errors = scaled_error(groups, weights, levels, super_scale * codes[None])
            found = np.minimum(found, errors.min(axis=1).reshape(len(x), -1).sum(axis=1))
    return found


def encode_affine_super(x, w, most, size, highest):
    """Likewise, for pairs of super-scales; offsets are at most zero."""
    groups = x.reshape(-1, size)
    weights = w.reshape(groups.shape)
    low, high = np.minimum(groups.min(axis=1, keepdims=True), 0), groups.max(axis=1, keepdims=True)
    cuts = np.linspace(-1, 1.5, 12)
    step = (high - low) / most
    lows = np.minimum(np.repeat(low + step * cuts, len(cuts), axis=1), 0)
    scales = np.maximum((np.tile(high - step * cuts, (1, len(cuts))) - lows) / most, 0)
    best = affine_error(groups, weights, most, scales, lows).argmin(axis=1)[:, None]
    tops = [np.take_along_axis(part, best, axis=1).reshape(len(x), -1).max(axis=1, keepdims=True)
            for part in (scales, -lows)]
    codes = np.arange(highest + 1)
    both = [part.ravel()[None] for part in np.meshgrid(codes, codes, indexing="ij")]
    found = np.full(len(x), np.inf)
    for scale_place in np.linspace(0.85, 1.05, 5):
        for low_place in np.linspace(0.85, 1.05, 5):
            scale, offset = (np.repeat(halves(top / (place * highest)), x.shape[1] // size, axis=0)
                             for top, place in zip(tops, (scale_place, low_place), strict=True))
            # In runs of groups, for memory.
            errors = [affine_error(groups[g:g + 1], weights[g:g + 1], most,
                                   scale[g:g + 1] * both[0], -offset[g:g + 1] * both[1]).min()
                      for g in range(len(groups))]
            found = np.minimum(found, np.array(errors).reshape(len(x), -1).sum(axis=1))
    return found


def whole(low, high):
    return np.arange(low, high + 1).astype(np.float64)


ENCODERS = {
    "Q4_0": lambda x, w: encode_scaled(x, w, whole(-8, 7)),
    "Q4_1": lambda x, w: encode_affine(x, w, 15),
    "Q5_0": lambda x, w: encode_scaled(x, w, whole(-16, 15)),
    "Q5_1": lambda x, w: encode_affine(x, w, 31),
    "Q8_0": lambda x, w: encode_scaled(x, w, whole(-127, 127)),
    "IQ4_NL": lambda x, w: encode_scaled(x, w, BOOK.astype(np.float64)),
    "Q2_K": lambda x, w: encode_affine_super(x, w, 3, 16, 15),
    "Q3_K": lambda x, w: encode_scaled_super(x, w, whole(-4, 3), 16, whole(-32, 31)),
    "Q4_K": lambda x, w: encode_affine_super(x, w, 15, 32, 63),
    "Q5_K": lambda x, w: encode_affine_super(x, w, 31, 32, 63),
    "Q6_K": lambda x, w: encode_scaled_super(x, w, whole(-32, 31), 16, whole(-128, 127)),
    "IQ4_XS": lambda x, w: encode_scaled_super(x, w, BOOK.astype(np.float64), 32, whole(-32, 31)),
}


class QuantizeBlocks(harness.BuildTest):
    def encoded(self, kind, weight, importance):
        """Blocks as rows of bytes, and the values that Ingot reads off them."""
        (self.folder / "weight").write_bytes(weight.tobytes())
        (self.folder / "importance").write_bytes(importance.tobytes())
        result = subprocess.run(
            [harness.tools / "run-quantize-method", kind, self.folder,
             f"columns={weight.shape[1]}"], capture_output=True, text=True,
            timeout=harness.LIMIT, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        if result.stdout == "unsupported\n":
            self.skipTest("this processor has no AVX2")
        blocks = np.frombuffer((self.folder / "blocks").read_bytes(), np.uint8)
        values = np.frombuffer((self.folder / "values").read_bytes(), np.float32)
        return blocks.reshape(-1, DECODERS[kind][0]), values.reshape(weight.shape)

    def test_bytes(self):
        """Any bytes that Ingot writes stand for the same numbers in numpy."""
        numbers = np.random.default_rng(3)
        weight = numbers.normal(size=(64, 512)) * np.exp(numbers.normal(size=(64, 1)) * 3)
        weight, none = weight.astype(np.float32), np.zeros(0, np.float32)
        for kind, (_, decode) in DECODERS.items():
            with self.subTest(kind=kind):
                blocks, values = self.encoded(kind, weight, none)
                np.testing.assert_array_equal(decode(blocks).ravel(), values.ravel())

    def test_errors(self):
        """With and without importance, for numbers that lie even and such that have outliers."""
        numbers = np.random.default_rng(4)
        even = numbers.normal(size=(4, 256)) / 50
        skewed = np.where(numbers.random((4, 256)) < 0.02, 8, 1) * (even + 0.01)
        for kind, encode in ENCODERS.items():
            for name, weight in (("even", even), ("skewed", skewed)):
                for importance in (np.ones(256), np.exp(numbers.normal(size=256) / 2)):
                    with self.subTest(kind=kind, weight=name):
                        self.compare(kind, encode, weight.astype(np.float32),
                                     importance.astype(np.float32))

    def compare(self, kind, encode, weight, importance):
        _, values = self.encoded(kind, weight, importance)
        ours = (importance * (weight - values.astype(np.float64))**2).sum()
        size = 256 if kind.endswith(("_K", "_XS")) else 32
        x = weight.astype(np.float64).reshape(-1, size)
        w = np.tile(importance.astype(np.float64), (len(weight), 1)).reshape(x.shape)
        theirs = encode(x, w).sum()
        print(f"{kind}: {ours / theirs:.4f} of the error of numpy", flush=True)
        self.assertLess(ours, (1 + PRECISION[kind]) * theirs)


if __name__ == "__main__":
    harness.main()
