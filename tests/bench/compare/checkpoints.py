# SPDX-License-Identifier: Apache-2.0
"""GGUF models of published shapes: what they hold, and the files that programs measure.

Weights of most are normally distributed and the vocabulary is made up, so that a file says
everything of speed and nothing of quality; quality is measured on published files."""
import math
import struct
import subprocess

from layers import BF16, BYTES
from shapes import (ARRAY, BOOL, FLOAT32, INT32, PUBLISHED, SHAPES, STRING, UINT32)

ALIGNMENT = 32
BLOCK = 1 << 22
# Between the places where a cyclic block begins again: no two rows of a matrix come out the same.
STRIDE = 1031
NORMAL_TOKEN, CONTROL_TOKEN = 1, 3
# Bits of a weight in the file; of published ones the mean of all that a step reads.
FORMATS = {"q4_0": 4.5, "q8_0": 8.5, "bf16": 16.0, "mxfp4": 4.25, "q4_1": 5.85, "q4_k_m": 7.55}
# The names that the peers' quantizer has for the types it makes from bf16.
QUANTIZER_NAMES = {"q4_0": "Q4_0", "q8_0": "Q8_0", "f16": "F16", "mxfp4": "MXFP4_MOE"}


def byte_letters():
    """The letter that stands for each byte in vocabularies like GPT-2's."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(byte) if byte in plain else chr(next(others)) for byte in range(256)]


def vocabulary(shape):
    """Tokens, their types and merges: bytes, pairs of small letters, then names without a rule."""
    letters = [chr(c) for c in range(ord("a"), ord("z") + 1)]
    pairs = [(first, second) for first in letters for second in letters]
    tokens = byte_letters() + [first + second for first, second in pairs]
    tokens += [f"unused{number}" for number in range(shape.vocabulary - len(tokens))]
    types = [NORMAL_TOKEN] * len(tokens)
    for place, text in ((shape.bos, "<|begin_of_text|>"), (shape.eos, "<|end_of_text|>")):
        tokens[place], types[place] = text, CONTROL_TOKEN
    return tokens, types, [f"{first} {second}" for first, second in pairs]


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def packed(kind, value):
    """A metadata value; `kind` of an array is [kind of its items]."""
    if isinstance(kind, list):
        items = b"".join(packed(kind[0], item)[4:] for item in value)
        return struct.pack("<IIQ", ARRAY, kind[0], len(value)) + items
    form = {UINT32: "<I", INT32: "<i", FLOAT32: "<f", BOOL: "<?"}
    data = text(value) if kind == STRING else struct.pack(form[kind], value)
    return struct.pack("<I", kind) + data


def metadata(name, shape):
    tokens, types, merges = vocabulary(shape)
    a, t = shape.architecture, "tokenizer.ggml"
    return [
        ("general.architecture", STRING, a), ("general.name", STRING, name),
        ("general.file_type", UINT32, 32), ("general.quantization_version", UINT32, 2),
        *((f"{a}.{key}", kind, value) for key, kind, value in shape.keys),
        (f"{a}.vocab_size", UINT32, shape.vocabulary),
        (f"{t}.model", STRING, "gpt2"), (f"{t}.pre", STRING, shape.tokenizer),
        (f"{t}.tokens", [STRING], tokens), (f"{t}.token_type", [INT32], types),
        (f"{t}.merges", [STRING], merges), (f"{t}.bos_token_id", UINT32, shape.bos),
        (f"{t}.eos_token_id", UINT32, shape.eos), (f"{t}.padding_token_id", UINT32, shape.eos),
        (f"{t}.add_bos_token", BOOL, False)]


class Noise:
    """Normally distributed numbers: always new ones, or those of one block from other places."""

    def __init__(self, cyclic):
        import numpy as np  # here, so that reports need no package
        self.random = np.random.Generator(np.random.SFC64(1))
        self.start = 0
        self.block = np.tile(self.drawn(BLOCK), 2) if cyclic else None

    def drawn(self, count):
        import numpy as np
        return self.random.standard_normal(count, np.float32)

    def take(self, count):
        """At most BLOCK of them."""
        if self.block is None:
            return self.drawn(count)
        self.start = (self.start + STRIDE) % BLOCK
        return self.block[self.start:self.start + count]


def rounded(values):
    """As bf16, to the nearest, ties to even."""
    import numpy as np
    bits = values.view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def write_values(out, tensor, noise):
    """The numbers of one tensor."""
    import numpy as np
    count = math.prod(tensor.dims)
    if tensor.values or tensor.fill is not None:
        values = np.array(tensor.values or [tensor.fill] * count, np.float32)
        out.write(values.tobytes())
        return
    for start in range(0, count, BLOCK):
        values = noise.take(min(BLOCK, count - start)) * np.float32(tensor.sigma)
        out.write((rounded(values) if tensor.type == BF16 else values).tobytes())


def write_model(path, name, shape):
    """Writes the bf16 model of that shape."""
    listed, keys = list(shape.tensors()), metadata(name, shape)
    header = [b"GGUF", struct.pack("<IQQ", 3, len(listed), len(keys))]
    header += [text(key) + packed(kind, value) for key, kind, value in keys]
    offset = 0
    sizes = []
    for tensor in listed:
        header.append(text(tensor.name) + struct.pack(
            f"<I{len(tensor.dims)}QIQ", len(tensor.dims), *tensor.dims, tensor.type, offset))
        sizes.append(math.prod(tensor.dims) * BYTES[tensor.type])
        offset += -(-sizes[-1] // ALIGNMENT) * ALIGNMENT
    noise = Noise(shape.cyclic)
    unfinished = path.with_suffix(".unfinished")
    with open(unfinished, "wb") as out:
        out.write(b"".join(header))
        out.write(bytes(-out.tell() % ALIGNMENT))
        for tensor, size in zip(listed, sizes):
            write_values(out, tensor, noise)
            out.write(bytes(-size % ALIGNMENT))
    unfinished.rename(path)


def model_file(folder, name, model_format, quantizer):
    """The GGUF file of a shape and a format, made where there is none. `quantizer`: a peer's
    llama-quantize, which makes the same file for all programs."""
    path = folder / f"{name}-{model_format}.gguf"
    if path.exists():
        return path
    if name in PUBLISHED:
        raise RuntimeError(f"{name}: no file was given")
    print(f"making {path.name}", flush=True)
    if model_format == "bf16":
        write_model(path, name, SHAPES[name])
        return path
    source = model_file(folder, name, "bf16", quantizer)
    unfinished = path.with_suffix(".unfinished")
    pure = [] if model_format == "mxfp4" else ["--pure"]  # That is of experts alone.
    result = subprocess.run([quantizer, *pure, source, unfinished, QUANTIZER_NAMES[model_format]],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if result.returncode != 0:
        raise RuntimeError(f"{quantizer}:\n{result.stdout.decode(errors='replace')[-2000:]}")
    unfinished.rename(path)
    return path
