# SPDX-License-Identifier: Apache-2.0
"""What transformers makes of pictures, in numpy: the resizing of torch in 8 bits, and the sizes and
orders of the processors. For tests of encoders, which are given the very numbers of the goldens."""
import math

import harness

np = harness.numpy()


def bilinear(x):
    return max(0.0, 1 - abs(x))


def bicubic(x, a=-0.5):
    x = abs(x)
    if x < 1:
        return ((a + 2) * x - (a + 3)) * x * x + 1
    return (((x - 5) * x + 8) * x - 4) * a if x < 2 else 0.0


def lanczos(x):
    def sinc(y):
        return 1.0 if y == 0 else math.sin(math.pi * y) / (math.pi * y)
    return sinc(x) * sinc(x / 3) if abs(x) < 3 else 0.0


FILTERS = {"bilinear": (bilinear, 1), "bicubic": (bicubic, 2), "lanczos": (lanczos, 3)}


def weights(size, out, name):
    """For each result the first input, and 16-bit weights of as many bits as the largest allows."""
    function, radius = FILTERS[name]
    scale = size / out
    support = radius * max(scale, 1)
    inverse = 1 / max(scale, 1)
    rows, largest = [], 0
    for i in range(out):
        center = scale * (i + 0.5)
        first = max(int(center - support + 0.5), 0)
        last = min(int(center + support + 0.5), size)
        row = np.array([function((j + first - center + 0.5) * inverse)
                        for j in range(last - first)])
        row /= row.sum()
        rows.append((first, row))
        largest = max(largest, row.max())
    bits = 0
    while bits < 22 and int(0.5 + largest * (1 << (bits + 1))) < 1 << 15:
        bits += 1
    scaled = [(first, np.trunc(row * (1 << bits) + np.copysign(0.5, row)).astype(np.int64))
              for first, row in rows]
    return scaled, bits


def resize_width(picture, out, name):
    if picture.shape[1] == out:
        return picture
    rows, bits = weights(picture.shape[1], out, name)
    result = np.empty((picture.shape[0], out, 3), np.int64)
    for i, (first, row) in enumerate(rows):
        part = picture[:, first:first + len(row)].astype(np.int64)
        result[:, i] = (np.einsum("hwc,w->hc", part, row) + (1 << (bits - 1))) >> bits
    return np.clip(result, 0, 255).astype(np.uint8)


def resize(picture, height, width, name):
    """Of [height, width, 3], width first."""
    wide = resize_width(picture, width, name)
    return resize_width(wide.transpose(1, 0, 2), height, name).transpose(1, 0, 2)


def normalised(picture, mean, deviation):
    """[3, height, width] as the processors' f32."""
    shift = np.array(mean, np.float32) * np.float32(255)
    scale = np.array(deviation, np.float32) * np.float32(255)
    return ((picture.astype(np.float32) - shift) / scale).transpose(2, 0, 1)


def smart_size(height, width, factor, least, most):
    high, wide = round(height / factor) * factor, round(width / factor) * factor
    if high * wide > most:
        beta = math.sqrt(height * width / most)
        high = max(factor, math.floor(height / beta / factor) * factor)
        wide = max(factor, math.floor(width / beta / factor) * factor)
    elif high * wide < least:
        beta = math.sqrt(least / (height * width))
        high = math.ceil(height * beta / factor) * factor
        wide = math.ceil(width * beta / factor) * factor
    return high, wide


def tiles(picture, longest, tile, name):
    """The tiles of a picture, row by row, and the whole last."""
    height, width = picture.shape[:2]
    ratio = width / height
    if width >= height:
        width = longest
        height = int(width / ratio)
        height += height % 2
    else:
        height = longest
        width = int(height * ratio)
        width += width % 2
    scaled = resize(picture, max(height, 1), max(width, 1), name)
    ratio = width / height
    up = lambda side: math.ceil(side / tile) * tile
    if width >= height:
        width = up(width)
        height = up(int(width / ratio))
    else:
        height = up(height)
        width = up(int(height * ratio))
    scaled = resize(scaled, height, width, name)
    parts = [scaled[y:y + tile, x:x + tile] for y in range(0, height, tile)
             for x in range(0, width, tile)]
    return parts + [resize(scaled, tile, tile, name)]


def patches(pixels, side, merge):
    """Of [3, height, width]: rows [channel, y, x], those of a square of `merge` x `merge` together,
    and the place of each on the grid."""
    high, wide = pixels.shape[1] // side, pixels.shape[2] // side
    split = pixels.reshape(3, high // merge, merge, side, wide // merge, merge, side)
    rows = split.transpose(1, 4, 2, 5, 0, 3, 6).reshape(high * wide, 3 * side * side)
    grid = np.stack(np.meshgrid(range(high), range(wide), indexing="ij"), -1)
    places = grid.reshape(high // merge, merge, wide // merge, merge, 2).transpose(0, 2, 1, 3, 4)
    return np.ascontiguousarray(rows), places.reshape(-1, 2).astype(np.int32)
