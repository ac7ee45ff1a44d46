# SPDX-License-Identifier: Apache-2.0
"""GGUF models of published shapes: what they hold, and the files that programs measure.

Weights of most are normally distributed and the vocabulary is made up, so that a file says
everything of speed and nothing of quality; quality is measured on published files."""
import dataclasses
import math
import struct
import subprocess

SIGMA = 0.02
ALIGNMENT = 32
BLOCK = 1 << 22
F32, BF16 = 0, 30
# Types of metadata values in GGUF.
UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9
NORMAL_TOKEN, CONTROL_TOKEN = 1, 3


@dataclasses.dataclass(frozen=True)
class Shape:
    """The numbers of a published model. `bias`: of the query, key and value products; `inner`: of
    the feed-forward, or of each of `experts`, of which a token goes through `used`, and of one more
    that all go through where it has a `shared` one; `normed`: heads of q and k are; `norms`: of a
    layer; `vectors` (name, length) and `more`: what else a layer has, and the metadata."""
    architecture: str
    tokenizer: str
    layers: int
    width: int
    inner: int
    heads: int
    kv_heads: int
    head: int
    vocabulary: int
    tied: bool
    bias: bool
    context: int
    rope_base: float
    epsilon: float
    bos: int
    eos: int
    experts: int = 0
    used: int = 0
    normed: bool = False
    shared: bool = False
    norms: tuple = ("attn_norm", "ffn_norm")
    vectors: tuple = ()
    more: tuple = ()

    def matrices(self):
        """(name, rows, columns) of the matrices of one layer, of experts those of one."""
        q, kv = self.heads * self.head, self.kv_heads * self.head
        suffix = "_exps" if self.experts else ""
        return [("attn_q", q, self.width), ("attn_k", kv, self.width), ("attn_v", kv, self.width),
                ("attn_output", self.width, q), ("ffn_gate" + suffix, self.inner, self.width),
                ("ffn_up" + suffix, self.inner, self.width),
                ("ffn_down" + suffix, self.width, self.inner),
                *(("ffn_gate_shexp", self.inner, self.width),
                  ("ffn_up_shexp", self.inner, self.width),
                  ("ffn_down_shexp", self.width, self.inner))[:3 * self.shared]]

    def linear(self, experts=None):
        """Weights of the products of all layers that each token of a prompt meets once; or with so
        many of the experts."""
        experts = self.used if experts is None else experts
        return self.layers * sum(rows * columns * (experts if name.endswith("_exps") else 1)
                                 for name, rows, columns in self.matrices())

    def multiplied(self):
        """Weights that a token of generation meets: those of the layers and the head."""
        return self.linear() + self.vocabulary * self.width

    def read(self, sequences):
        """Weights that one step of generation reads: experts that any of the sequences goes
        through, as many as chance makes of them."""
        missed = (1 - self.used / self.experts) ** sequences if self.experts else 0
        return self.linear(self.experts * (1 - missed)) + self.vocabulary * self.width


SHAPES = {
    "llama-3.2-1b": Shape("llama", "llama-bpe", 16, 2048, 8192, 32, 8, 64, 128256, True, False,
                          8192, 5e5, 1e-5, 128000, 128001),
    "qwen2.5-0.5b": Shape("qwen2", "qwen2", 24, 896, 4864, 14, 2, 64, 151936, True, True,
                          32768, 1e6, 1e-6, 151643, 151645),
    "llama-3-8b": Shape("llama", "llama-bpe", 32, 4096, 14336, 32, 8, 128, 128256, False, False,
                        8192, 5e5, 1e-5, 128000, 128001),
    # Cut to 4 of 48 and 36 layers.
    "qwen3-30b-a3b-cut": Shape("qwen3moe", "qwen2", 4, 2048, 768, 32, 4, 128, 151936, False, False,
                               32768, 1e6, 1e-6, 151643, 151645, 128, 8, True),
    # Cut to two of 24 and 92 layers; llama.cpp computes the last one for the last token alone.
    "gpt-oss-20b-cut": Shape(
        "gpt-oss", "gpt-4o", 2, 2880, 2880, 64, 8, 64, 201088, False, True, 131072, 1.5e5, 1e-5,
        199998, 200002, 32, 4, norms=("attn_norm", "post_attention_norm"),
        vectors=(("attn_output.bias", 2880), ("attn_sinks.weight", 64), ("ffn_gate_inp.bias", 32),
                 ("ffn_gate_exps.bias", 2880, 32), ("ffn_up_exps.bias", 2880, 32),
                 ("ffn_down_exps.bias", 2880, 32)),
        more=(("attention.sliding_window", UINT32, 128), ("rope.scaling.type", STRING, "yarn"),
              ("rope.scaling.factor", FLOAT32, 32.0),
              ("rope.scaling.original_context_length", UINT32, 4096))),
    "glm-4.7-cut": Shape(
        "glm4moe", "gpt-2", 2, 5120, 1536, 96, 8, 128, 151552, False, True, 131072, 1e6, 1e-5,
        151331, 151329, 160, 8, True, True, norms=("attn_norm", "post_attention_norm"),
        vectors=(("exp_probs_b.bias", 160),),
        more=(("expert_shared_count", UINT32, 1), ("expert_gating_func", UINT32, 2),
              ("expert_weights_norm", BOOL, True), ("expert_weights_scale", FLOAT32, 2.5),
              ("leading_dense_block_count", UINT32, 0), ("rope.dimension_count", UINT32, 64))),
    "smollm3-3b-cut": Shape("smollm3", "smollm", 4, 2048, 11008, 16, 4, 128, 128256, True, False,
                            32768, 2e6, 1e-6, 128000, 128001),
    "smollm2-135m": Shape("llama", "smollm", 30, 576, 1536, 9, 3, 64, 49152, True, False,
                          8192, 1e5, 1e-5, 1, 2),
    "gemma-3-270m": Shape("gemma3", "", 18, 640, 2048, 4, 1, 256, 262144, True, False,
                          32768, 1e6, 1e-6, 2, 1),
}
# Published models: the format of the file that is measured.
PUBLISHED = {"smollm2-135m": "q4_1", "gemma-3-270m": "q4_k_m"}
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


def expert_metadata(shape):
    a = shape.architecture
    if not shape.experts:
        return []
    return [(f"{a}.expert_count", UINT32, shape.experts),
            (f"{a}.expert_used_count", UINT32, shape.used),
            (f"{a}.expert_feed_forward_length", UINT32, shape.inner)]


def metadata(name, shape):
    tokens, types, merges = vocabulary(shape)
    a, t = shape.architecture, "tokenizer.ggml"
    return [
        ("general.architecture", STRING, a), ("general.name", STRING, name),
        ("general.file_type", UINT32, 32), ("general.quantization_version", UINT32, 2),
        (f"{a}.block_count", UINT32, shape.layers), (f"{a}.context_length", UINT32, shape.context),
        (f"{a}.embedding_length", UINT32, shape.width),
        (f"{a}.feed_forward_length", UINT32, shape.inner),
        (f"{a}.attention.head_count", UINT32, shape.heads),
        (f"{a}.attention.head_count_kv", UINT32, shape.kv_heads),
        (f"{a}.attention.layer_norm_rms_epsilon", FLOAT32, shape.epsilon),
        (f"{a}.rope.freq_base", FLOAT32, shape.rope_base),
        *((f"{a}.rope.dimension_count", UINT32, shape.head) for _ in range(
            all(key != "rope.dimension_count" for key, *_ in shape.more))),
        *((f"{a}.{key}", kind, value) for key, kind, value in shape.more),
        (f"{a}.attention.key_length", UINT32, shape.head),
        (f"{a}.attention.value_length", UINT32, shape.head), *expert_metadata(shape),
        (f"{a}.vocab_size", UINT32, shape.vocabulary),
        (f"{t}.model", STRING, "gpt2"), (f"{t}.pre", STRING, shape.tokenizer),
        (f"{t}.tokens", [STRING], tokens), (f"{t}.token_type", [INT32], types),
        (f"{t}.merges", [STRING], merges), (f"{t}.bos_token_id", UINT32, shape.bos),
        (f"{t}.eos_token_id", UINT32, shape.eos), (f"{t}.padding_token_id", UINT32, shape.eos),
        (f"{t}.add_bos_token", BOOL, False)]


def tensors(shape):
    """(name, numbers per dimension, the inner one first, type) of every tensor."""
    yield "token_embd.weight", (shape.width, shape.vocabulary), BF16
    for layer in range(shape.layers):
        for norm in shape.norms:
            yield f"blk.{layer}.{norm}.weight", (shape.width,), F32
        for norm in ("attn_q_norm", "attn_k_norm") if shape.normed else ():
            yield f"blk.{layer}.{norm}.weight", (shape.head,), F32
        for name, *dims in shape.vectors:
            yield f"blk.{layer}.{name}", tuple(dims), F32
        if shape.experts:
            yield f"blk.{layer}.ffn_gate_inp.weight", (shape.width, shape.experts), F32
        for name, rows, columns in shape.matrices():
            stack = (shape.experts,) if name.endswith("_exps") else ()
            yield f"blk.{layer}.{name}.weight", (columns, rows, *stack), BF16
            if shape.bias and name in ("attn_q", "attn_k", "attn_v"):
                yield f"blk.{layer}.{name}.bias", (rows,), F32
    yield "output_norm.weight", (shape.width,), F32
    if not shape.tied:
        yield "output.weight", (shape.width, shape.vocabulary), BF16


def write_values(out, name, count, kind, random):
    """The numbers of one tensor: ones for a norm, else normally distributed."""
    import numpy as np
    if name.endswith("norm.weight"):
        out.write(np.ones(count, np.float32).tobytes())
        return
    for start in range(0, count, BLOCK):
        values = random.standard_normal(min(BLOCK, count - start), np.float32) * np.float32(SIGMA)
        if kind == BF16:
            bits = values.view(np.uint32)
            bits += 0x7FFF + ((bits >> 16) & 1)  # to the nearest, ties to even
            values = (bits >> 16).astype(np.uint16)
        out.write(values.tobytes())


def write_model(path, name, shape):
    """Writes the bf16 model of that shape."""
    import numpy as np  # here, so that reports need no package
    listed = list(tensors(shape))
    header = [b"GGUF", struct.pack("<IQQ", 3, len(listed), len(metadata(name, shape)))]
    header += [text(key) + packed(kind, value) for key, kind, value in metadata(name, shape)]
    offset = 0
    sizes = []
    for tensor, dims, kind in listed:
        header.append(text(tensor) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, kind,
                                                 offset))
        sizes.append(math.prod(dims) * (2 if kind == BF16 else 4))
        offset += -(-sizes[-1] // ALIGNMENT) * ALIGNMENT
    random = np.random.Generator(np.random.SFC64(1))
    unfinished = path.with_suffix(".unfinished")
    with open(unfinished, "wb") as out:
        out.write(b"".join(header))
        out.write(bytes(-out.tell() % ALIGNMENT))
        for (tensor, dims, kind), size in zip(listed, sizes):
            write_values(out, tensor, math.prod(dims), kind, random)
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
