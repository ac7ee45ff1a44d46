# SPDX-License-Identifier: Apache-2.0
"""What small models that see are made of: a tokenizer, weights by names and seeds, pictures."""
import dataclasses
import json
import pathlib
import struct
import zlib

FOLDER = pathlib.Path(__file__).parent
SEEDS = (1, 2)
TOKENS = 12  # That each prompt is answered with.
BYTES = 257  # Ids before those with a meaning: of bytes, and of one pair of them.
# Width and height of the pictures of each prompt: odd ones, one that is not resized, a narrow one.
PROMPTS = (((61, 47),), ((33, 90), (108, 84)), ((7, 190),))


@dataclasses.dataclass(frozen=True)
class Tower:
    """A model: its config.json, its processor_config.json, what its tokenizer knows."""
    config: dict
    processor: dict
    specials: tuple  # Contents of the ids from BYTES on; the first three pad, end and begin.
    placeholder: str  # That a prompt has for a picture.
    tokenizer: dict  # More for tokenizer_config.json.
    value: object  # The middle and the bound of a tensor by its name and shape; None: the usual.

    def prompts(self):
        """Texts and pictures, as arrays of bytes [height, width, 3]."""
        for number, sizes in enumerate(PROMPTS):
            text = self.specials[2] + "Say" + "".join(
                f" what {place}: {self.placeholder}," for place, _ in enumerate(sizes)) + " so?"
            yield text, [picture(10 * number + place, *size) for place, size in enumerate(sizes)]


def _random(numpy, name, seed):
    # RandomState keeps its numbers in all releases of numpy.
    return numpy.random.RandomState(zlib.crc32(f"{seed} {name}".encode()))


def picture(number, width, height):
    """Squares of 8 pixels in random colours, under random noise."""
    import numpy
    numbers = _random(numpy, f"picture {number}", 0)
    squares = numbers.randint(0, 200, (height // 8 + 1, width // 8 + 1, 3))
    large = numpy.repeat(numpy.repeat(squares, 8, axis=0), 8, axis=1)[:height, :width]
    return (large + numbers.randint(0, 56, large.shape)).astype(numpy.uint8)


def png(pixels):
    def chunk(name, data):
        return (struct.pack(">I", len(data)) + name + data
                + struct.pack(">I", zlib.crc32(name + data)))
    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    return (b"\x89PNG\r\n\x1a\n"
            + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def usual(name, shape):
    """Norms around 1, other numbers around 0."""
    if name.endswith("bias"):
        return 0.0, 0.3
    if len(shape) < 2 or "norm" in name:
        return 1.0, 0.4
    inputs = shape[-1] if len(shape) < 4 else shape[1] * shape[2] * shape[3]
    return 0.0, 1.5 * (3 / inputs) ** 0.5


def weights(tower, tensors, seed):
    """Name to array of f32 of all `tensors`, name to shape."""
    import numpy
    made = {}
    for name, shape in tensors.items():
        middle, bound = tower.value(name, shape) or usual(name, shape)
        numbers = _random(numpy, name, seed).uniform(-bound, bound, shape)
        if name.endswith(("embed_tokens.weight", "lm_head.weight")):
            numbers[BYTES:] *= 0.25  # So that answers have few tokens with a meaning.
        made[name] = numpy.asarray(middle + numbers, numpy.float32)
    return made


def letters():
    """The letter of each byte in vocabularies of bytes."""
    own = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in own]
    return {byte: chr(byte if byte in own else 256 + others.index(byte)) for byte in range(256)}


def tokenizer(specials):
    """A tokenizer.json with a token for each byte and for "so", and the specials."""
    side = {"add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {
        "version": "1.0", "truncation": None, "padding": None, "normalizer": None,
        "added_tokens": [
            {"id": BYTES + place, "content": content, "single_word": False, "lstrip": False,
             "rstrip": False, "normalized": False, "special": True}
            for place, content in enumerate(specials)],
        "pre_tokenizer": {"type": "ByteLevel", **side}, "post_processor": None,
        "decoder": {"type": "ByteLevel", **side},
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "fuse_unk": False,
                  "continuing_subword_prefix": None, "end_of_word_suffix": None,
                  "byte_fallback": False, "ignore_merges": False, "merges": [["s", "o"]],
                  "vocab": {**{letter: byte for byte, letter in letters().items()}, "so": 256}}}


def write_weights(path, tensors):
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, array in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(array.shape),
                        "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in tensors.values():
            file.write(array.astype("<f4").tobytes())


def write(folder, tower, tensors, seed):
    """The whole checkpoint; without `tensors` everything but the weights."""
    pad, end, begin = tower.specials[:3]
    files = {"config.json": tower.config, "processor_config.json": tower.processor,
             "tokenizer.json": tokenizer(tower.specials),
             "tokenizer_config.json": {
                 "tokenizer_class": "TokenizersBackend", "backend": "tokenizers",
                 "pad_token": pad, "eos_token": end, "bos_token": begin,
                 "clean_up_tokenization_spaces": False, **tower.tokenizer}}
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content))
    if tensors:
        write_weights(folder / "model.safetensors", weights(tower, tensors, seed))


def stored(name):
    """`tensors.json` or `goldens.json`: of each model."""
    path = FOLDER / name
    return json.loads(path.read_text()) if path.exists() else {}
