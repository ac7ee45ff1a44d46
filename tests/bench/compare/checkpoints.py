# SPDX-License-Identifier: Apache-2.0
"""GGUF models of published shapes: what they hold, and the files that programs measure.

Weights of most are normally distributed and the vocabulary is made up, so that a file says
everything of speed and nothing of quality; quality is measured on published files."""
import collections
import math
import struct
import subprocess

from model_layers import BF16, F32
from model_shapes import (ARRAY, BOOL, FLOAT32, INT32, PUBLISHED, SHAPES, STRING, UINT32)

ALIGNMENT = 32
BLOCK = 1 << 22
# Blocks of quantized formats, and how many a cycle of numbers has: more than a matrix has rows, and
# prime, so that no two rows come out the same.
QUANTIZED_BLOCK, CYCLE_BLOCKS = 32, 262147
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


def metadata(name, shape, file_type):
    tokens, types, merges = vocabulary(shape)
    a, t = shape.architecture, "tokenizer.ggml"
    return [
        ("general.architecture", STRING, a), ("general.name", STRING, name),
        ("general.file_type", UINT32, file_type), ("general.quantization_version", UINT32, 2),
        *((f"{a}.{key}", kind, value) for key, kind, value in shape.keys),
        (f"{a}.vocab_size", UINT32, shape.vocabulary),
        (f"{t}.model", STRING, "gpt2"), (f"{t}.pre", STRING, shape.tokenizer),
        (f"{t}.tokens", [STRING], tokens), (f"{t}.token_type", [INT32], types),
        (f"{t}.merges", [STRING], merges), (f"{t}.bos_token_id", UINT32, shape.bos),
        (f"{t}.eos_token_id", UINT32, shape.eos), (f"{t}.padding_token_id", UINT32, shape.eos),
        (f"{t}.add_bos_token", BOOL, False)]


def as_f32(values):
    return values


def as_bf16(values):
    """To the nearest, ties to even."""
    import numpy as np  # here, so that reports need no package
    bits = values.view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def as_q8_0(values):
    """Blocks of a scale in f16 and 32 bytes, as ggml makes them."""
    import numpy as np
    blocks = values.reshape(-1, QUANTIZED_BLOCK)
    scales = np.abs(blocks).max(1, keepdims=True) / np.float32(127)
    codes = np.rint(blocks / scales).astype(np.int8)
    return np.hstack([scales.astype(np.float16).view(np.uint8), codes.view(np.uint8)])


def as_q4_0(values):
    """Blocks of a scale in f16, by which the largest number becomes -8, and 32 codes of 4 bits, the
    first 16 in the lower halves of bytes."""
    import numpy as np
    blocks = values.reshape(-1, QUANTIZED_BLOCK)
    largest = np.abs(blocks).argmax(1, keepdims=True)
    scales = np.take_along_axis(blocks, largest, 1) / np.float32(-8)
    codes = np.minimum(blocks / scales + np.float32(8.5), 15).astype(np.uint8)
    half = QUANTIZED_BLOCK // 2
    return np.hstack([scales.astype(np.float16).view(np.uint8),
                      codes[:, :half] | codes[:, half:] << 4])


# GGUF's number of each type, of files that hold most tensors in it, and how it is written.
Form = collections.namedtuple("Form", "type file_type write")
FORMS = {"f32": Form(F32, 0, as_f32), "bf16": Form(BF16, 32, as_bf16),
         "q4_0": Form(2, 2, as_q4_0), "q8_0": Form(8, 7, as_q8_0)}
BITS = {"f32": 32.0, **FORMATS}


def form_of(tensor, model_format):
    """The name of the form that a tensor has in a file of this format."""
    stays = {F32: "f32", BF16: "bf16"}[tensor.type]
    return stays if tensor.type == F32 or tensor.kept else model_format


class Noise:
    """Writes normally distributed numbers."""

    def __init__(self):
        import numpy as np
        self.random = np.random.Generator(np.random.SFC64(1))

    def take(self, count):
        import numpy as np
        return self.random.standard_normal(count, np.float32)

    def write(self, out, count, sigma, form):
        import numpy as np
        for start in range(0, count, BLOCK):
            values = self.take(min(BLOCK, count - start)) * np.float32(sigma)
            out.write(FORMS[form].write(values).tobytes())


class Cycle(Noise):
    """Those of one block again and again, which is made once in each form."""

    def __init__(self):
        super().__init__()
        self.numbers = self.take(CYCLE_BLOCKS * QUANTIZED_BLOCK)
        self.made, self.place = {}, 0

    def write(self, out, count, sigma, form):
        import numpy as np
        if (form, sigma) not in self.made:
            values = FORMS[form].write(self.numbers * np.float32(sigma))
            self.made[form, sigma] = memoryview(values.tobytes())
        data = self.made[form, sigma]
        left, place = size_of(count, form), size_of(self.place, form)
        while left:
            part = data[place:place + left]
            out.write(part)
            left, place = left - len(part), 0
        self.place = (self.place + count) % len(self.numbers)


def size_of(count, form):
    """Bytes of so many numbers."""
    return int(count * BITS[form]) // 8


def write_model(path, name, shape, model_format="bf16"):
    """Writes the model of that shape in a format that is one of FORMS."""
    listed, keys = list(shape.tensors()), metadata(name, shape, FORMS[model_format].file_type)
    header = [b"GGUF", struct.pack("<IQQ", 3, len(listed), len(keys))]
    header += [text(key) + packed(kind, value) for key, kind, value in keys]
    offset = 0
    for tensor in listed:
        form = form_of(tensor, model_format)
        header.append(text(tensor.name) + struct.pack(
            f"<I{len(tensor.dims)}QIQ", len(tensor.dims), *tensor.dims, FORMS[form].type, offset))
        offset += -(-size_of(math.prod(tensor.dims), form) // ALIGNMENT) * ALIGNMENT
    noise = Cycle() if shape.cyclic else Noise()
    unfinished = path.with_suffix(".unfinished")
    with open(unfinished, "wb") as out:
        out.write(b"".join(header))
        out.write(bytes(-out.tell() % ALIGNMENT))
        for tensor in listed:
            count, form = math.prod(tensor.dims), form_of(tensor, model_format)
            if tensor.values or tensor.fill is not None:
                out.write(struct.pack(f"<{count}f", *(tensor.values or [tensor.fill] * count)))
            else:
                noise.write(out, count, tensor.sigma, form)
            out.write(bytes(-size_of(count, form) % ALIGNMENT))
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
    if model_format == "bf16" or SHAPES[name].cyclic and model_format in FORMS:
        write_model(path, name, SHAPES[name], model_format)
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
