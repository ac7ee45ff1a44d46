#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a 16-bit "original" of a quantized model: a Hugging Face directory that computes what a
GGUF file does, with weights that no longer lie on that file's grid.

Methods of quantization are compared on what they lose of an original. The dequantized weights of a
file would favour the method whose grid is the file's, so they are changed in ways that leave the
function as it is, in f64, by random numbers of a fixed seed:

- llama: the factors of norms become 1, multiplied into the matrices that read what is normed; the
  residual stream is rotated, and so are the heads of v with the columns of o that read them.
- gemma3, whose norms behind attention and feed-forward forbid to rotate the stream: its channels
  are permuted and change signs, heads of v are rotated, and factors move between each norm and the
  matrices that read it.
- both: inner channels of the feed-forward are permuted, and factors and signs move between the rows
  of up and the columns of down.

A rotated stream has no channels that stand out, so methods that scale or rotate channels find less
in such a llama than in one as trained; --keep-stream permutes the stream and changes its signs
instead.

Needs the packages numpy and gguf.
"""
import argparse
import json
import pathlib
import struct

import numpy
from gguf import GGUFReader, dequantize

FACTORS = (0.7, 1.4)  # Of what moves between two tensors; uniform in their logarithms.
TYPES = {"bf16": "BF16", "f32": "F32"}
SPECIAL, USER_DEFINED = 3, 4  # Types of tokens in GGUF.


class File:
    """A GGUF file: its metadata, and its tensors in f64."""

    def __init__(self, path):
        reader = GGUFReader(path)
        self.fields = {name: field.contents() for name, field in reader.fields.items()}
        self.tensors = {tensor.name: tensor for tensor in reader.tensors}
        self.family = self.fields["general.architecture"]

    def of_family(self, name, *default):
        """A number of the architecture."""
        key = f"{self.family}.{name}"
        return self.fields.get(key, *default) if default else self.fields[key]

    def of_tokenizer(self, name):
        return self.fields[f"tokenizer.ggml.{name}"]

    def tensor(self, name):
        tensor = self.tensors[f"{name}.weight"]
        return dequantize(tensor.data, tensor.tensor_type).astype(numpy.float64)


class Changes:
    """Random changes, in the order in which they are asked for."""

    def __init__(self, seed):
        self.random = numpy.random.default_rng(seed)

    def rotation(self, size):
        """A random orthogonal matrix, of all alike."""
        q, r = numpy.linalg.qr(self.random.standard_normal((size, size)))
        return q * numpy.sign(numpy.diag(r))

    def turn(self, size, keeps_channels):
        """A rotation, or one that only permutes channels and changes their signs."""
        if not keeps_channels:
            return self.rotation(size)
        return (numpy.eye(size) * self.signs(size))[:, self.permutation(size)]

    def permutation(self, size):
        return self.random.permutation(size)

    def signs(self, size):
        return self.random.choice([-1.0, 1.0], size)

    def factors(self, size):
        return numpy.exp(self.random.uniform(*numpy.log(FACTORS), size))


def bits16(values):
    """f64 as the bits of bf16, rounded to nearest even."""
    bits = values.astype(numpy.float32).view(numpy.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(numpy.uint16)


def rounded(values, kind):
    """f64 as a tensor of that type will have them."""
    if kind == "f32":
        return values.astype(numpy.float32).astype(numpy.float64)
    return (bits16(values).astype(numpy.uint32) << 16).view(numpy.float32).astype(numpy.float64)


def rotated_heads(v, o, heads, kv_heads, changes):
    """Rows of v and columns of o, each head rotated."""
    size = v.shape[0] // kv_heads
    turns = [changes.rotation(size) for _ in range(kv_heads)]
    v = numpy.concatenate([turn @ v[i * size:(i + 1) * size] for i, turn in enumerate(turns)])
    each = heads // kv_heads
    o = numpy.concatenate([o[:, i * size:(i + 1) * size] @ turns[i // each].T
                           for i in range(heads)], axis=1)
    return v, o


def changed_inside(gate, up, down, changes):
    """The matrices of a feed-forward with its inner channels in another order and scale."""
    order = changes.permutation(len(up))
    factors = changes.factors(len(up)) * changes.signs(len(up))
    return gate[order], up[order] * factors[:, None], down[:, order] / factors


def half_split(matrix, heads):
    """Rows of q or k in Hugging Face's order: what rotates together is half a head apart, and in a
    llama's GGUF side by side."""
    rows, columns = matrix.shape
    return (matrix.reshape(heads, rows // heads // 2, 2, columns).swapaxes(1, 2)
            .reshape(rows, columns))


def llama(file, changes, options):
    """(name, f64 tensor) of a llama."""
    heads, kv_heads = file.of_family("attention.head_count"), file.of_family(
        "attention.head_count_kv")
    hidden = file.of_family("embedding_length")
    turn, ones = changes.turn(hidden, options.keep_stream), numpy.ones(hidden)
    embedding = file.tensor("token_embd")
    yield "model.embed_tokens", embedding @ turn
    head = file.tensor("output") if "output.weight" in file.tensors else embedding
    yield "lm_head", head * file.tensor("output_norm") @ turn
    yield "model.norm", ones
    for layer in range(file.of_family("block_count")):
        def read(name, norm=None):
            matrix = file.tensor(f"blk.{layer}.{name}")
            return matrix if norm is None else matrix * file.tensor(f"blk.{layer}.{norm}") @ turn
        v, o = rotated_heads(read("attn_v", "attn_norm"), turn.T @ read("attn_output"), heads,
                             kv_heads, changes)
        gate, up, down = changed_inside(read("ffn_gate", "ffn_norm"), read("ffn_up", "ffn_norm"),
                                        turn.T @ read("ffn_down"), changes)
        for name, tensor in {
                "input_layernorm": ones, "post_attention_layernorm": ones,
                "self_attn.q_proj": half_split(read("attn_q", "attn_norm"), heads),
                "self_attn.k_proj": half_split(read("attn_k", "attn_norm"), kv_heads),
                "self_attn.v_proj": v, "self_attn.o_proj": o, "mlp.gate_proj": gate,
                "mlp.up_proj": up, "mlp.down_proj": down}.items():
            yield f"model.layers.{layer}.{name}", tensor


def gemma3(file, changes, options):
    """(name, f64 tensor) of a Gemma 3; norms are rounded already, and what that changes of their
    factors is in the matrices."""
    heads, kv_heads = file.of_family("attention.head_count"), file.of_family(
        "attention.head_count_kv")
    hidden = file.of_family("embedding_length")
    order, signs = changes.permutation(hidden), changes.signs(hidden)

    def scaled(norm):
        """A norm as it is stored, less 1, and the factors that its readers take."""
        norm = norm[order]
        small = numpy.abs(norm) < 1e-3
        stored = rounded(numpy.where(small, norm, norm / changes.factors(hidden)) - 1,
                         options.type)
        return stored, numpy.where(small, 1, norm / numpy.where(small, 1, stored + 1))

    yield "model.embed_tokens", file.tensor("token_embd")[:, order] * signs
    yield "model.norm", file.tensor("output_norm")[order] - 1
    for layer in range(file.of_family("block_count")):
        def read(name):
            return file.tensor(f"blk.{layer}.{name}")
        attention, to_attention = scaled(read("attn_norm"))
        feed_forward, to_feed_forward = scaled(read("ffn_norm"))
        v, o = rotated_heads(read("attn_v"), read("attn_output"), heads, kv_heads, changes)
        gate, up, down = changed_inside(read("ffn_gate"), read("ffn_up"), read("ffn_down"),
                                        changes)
        inputs = {"self_attn.q_proj": read("attn_q"), "self_attn.k_proj": read("attn_k"),
                  "self_attn.v_proj": v, "mlp.gate_proj": gate, "mlp.up_proj": up}
        for name, tensor in {
                "input_layernorm": attention, "pre_feedforward_layernorm": feed_forward,
                "post_attention_layernorm": read("post_attention_norm")[order] - 1,
                "post_feedforward_layernorm": read("post_ffw_norm")[order] - 1,
                "self_attn.q_norm": read("attn_q_norm") - 1,
                "self_attn.k_norm": read("attn_k_norm") - 1,
                "self_attn.o_proj": o[order] * signs[:, None],
                "mlp.down_proj": down[order] * signs[:, None],
                **{name: matrix[:, order] * (
                    (to_attention if name.startswith("self") else to_feed_forward) * signs)
                   for name, matrix in inputs.items()}}.items():
            yield f"model.layers.{layer}.{name}", tensor


def llama_config(file):
    hidden, heads = file.of_family("embedding_length"), file.of_family("attention.head_count")
    return {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
            "attention_bias": False, "mlp_bias": False, "head_dim": hidden // heads,
            "rope_theta": file.of_family("rope.freq_base"), "tie_word_embeddings": False}


def gemma3_config(file):
    layers, head = file.of_family("block_count"), file.of_family("attention.key_length")
    return {"architectures": ["Gemma3ForCausalLM"], "model_type": "gemma3_text",
            "hidden_activation": "gelu_pytorch_tanh", "attention_bias": False, "head_dim": head,
            "query_pre_attn_scalar": head, "rope_theta": file.of_family("rope.freq_base"),
            "rope_local_base_freq": file.of_family("rope.freq_base_swa", 10000.0),
            "sliding_window": file.of_family("attention.sliding_window"),
            "layer_types": ["full_attention" if layer % 6 == 5 else "sliding_attention"
                            for layer in range(layers)],
            "final_logit_softcapping": None, "attn_logit_softcapping": None,
            "tie_word_embeddings": True}


FAMILIES = {"llama": (llama, llama_config), "gemma3": (gemma3, gemma3_config)}


def config_of(file, kind):
    """config.json; numbers in f32 as they were before they became f32."""
    config = FAMILIES[file.family][1](file) | {
        "hidden_size": file.of_family("embedding_length"),
        "intermediate_size": file.of_family("feed_forward_length"),
        "num_hidden_layers": file.of_family("block_count"),
        "num_attention_heads": file.of_family("attention.head_count"),
        "num_key_value_heads": file.of_family("attention.head_count_kv"),
        "max_position_embeddings": file.of_family("context_length"),
        "rms_norm_eps": file.of_family("attention.layer_norm_rms_epsilon"),
        "vocab_size": len(file.of_tokenizer("tokens")),
        "torch_dtype": {"bf16": "bfloat16", "f32": "float32"}[kind],
        "bos_token_id": file.of_tokenizer("bos_token_id"),
        "eos_token_id": file.of_tokenizer("eos_token_id"),
        "pad_token_id": file.of_tokenizer("padding_token_id")}
    return {name: float(f"{value:.6g}") if isinstance(value, float) else value
            for name, value in config.items()}


def added_token(text, special):
    return {"content": text, "single_word": False, "lstrip": False, "rstrip": False,
            "normalized": False, "special": special}


def byte_level(file):
    """tokenizer.json of byte-level BPE that cuts off single digits first."""
    if file.of_tokenizer("pre") != "smollm":
        raise SystemExit(f"words of {file.of_tokenizer('pre')} are not known")
    tokens, types = file.of_tokenizer("tokens"), file.of_tokenizer("token_type")
    added = [{"id": token, **added_token(tokens[token], special=True)}
             for token, kind in enumerate(types) if kind == SPECIAL]
    step = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
            "normalizer": None,
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
                {"type": "Digits", "individual_digits": True}, step]},
            "post_processor": None, "decoder": step | {"add_prefix_space": True},
            "model": {"type": "BPE", "dropout": None, "unk_token": None,
                      "continuing_subword_prefix": None, "end_of_word_suffix": None,
                      "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                      "vocab": {token: number for number, token in enumerate(tokens)},
                      "merges": file.of_tokenizer("merges")}}


def message(*fields):
    """A message of protobuf, of (number, value): bytes, a float or a whole number."""
    def whole(value):
        encoded = bytearray()
        while value > 127:
            encoded.append(value & 127 | 128)
            value >>= 7
        return bytes([*encoded, value])
    text = b""
    for number, value in fields:
        if isinstance(value, bytes):
            text += whole(number << 3 | 2) + whole(len(value)) + value
        elif isinstance(value, float):
            text += whole(number << 3 | 5) + struct.pack("<f", value)
        else:
            text += whole(number << 3) + whole(int(value))
    return text


def sentencepiece(file):
    """tokenizer.model of sentencepiece BPE (its fields: SentencePiece.proto of the reader). GGUF
    has spaces in user-defined pieces, where sentencepiece has their mark."""
    unknown = file.of_tokenizer("unknown_token_id")
    columns = zip(file.of_tokenizer("tokens"), file.of_tokenizer("scores"),
                  file.of_tokenizer("token_type"))
    pieces = b"".join(message((1, message(
        (1, (text.replace(" ", "▁") if kind == USER_DEFINED else text).encode()),
        (2, float(score)), (3, 2 if number == unknown else kind))))
                      for number, (text, score, kind) in enumerate(columns))
    trainer = message((3, 2), (35, True), (40, unknown), (41, file.of_tokenizer("bos_token_id")),
                      (42, file.of_tokenizer("eos_token_id")),
                      (43, file.of_tokenizer("padding_token_id")))
    normalizer = message((1, b"identity"), (3, file.of_tokenizer("add_space_prefix")), (4, False),
                         (5, True))
    return pieces + message((2, trainer), (3, normalizer))


def tokenizer_config(file):
    tokens, types = file.of_tokenizer("tokens"), file.of_tokenizer("token_type")
    named = {f"{name}_token": tokens[file.of_tokenizer(f"{key}_token_id")]
             for name, key in (("bos", "bos"), ("eos", "eos"), ("unk", "unknown"),
                               ("pad", "padding"))}
    config = {"add_bos_token": file.of_tokenizer("add_bos_token"), "add_eos_token": False,
              "clean_up_tokenization_spaces": False, **named,
              "tokenizer_class": "PreTrainedTokenizerFast"}
    if file.of_tokenizer("model") == "llama":
        config["tokenizer_class"] = "GemmaTokenizer"
        config["added_tokens_decoder"] = {
            str(token): added_token(tokens[token], special=kind == SPECIAL)
            for token, kind in enumerate(types)
            if kind == SPECIAL or kind == USER_DEFINED and tokens[token].strip(" ")}
    template = file.fields.get("tokenizer.chat_template")
    return config | ({"chat_template": template} if template else {})


def write_tensors(path, shapes, tensors, kind):
    """A safetensors file of tensors that come one by one; `shapes` has them all."""
    size, at, header = {"bf16": 2, "f32": 4}[kind], 0, {"__metadata__": {"format": "pt"}}
    for name, shape in shapes.items():
        end = at + size * int(numpy.prod(shape))
        header[name] = {"dtype": TYPES[kind], "shape": list(shape), "data_offsets": [at, end]}
        at = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for name, tensor in tensors:
            entry = header[f"{name}.weight"]
            if list(tensor.shape) != entry["shape"]:
                raise SystemExit(f"{name} is of {tensor.shape}, not of {entry['shape']}")
            out.seek(8 + len(text) + entry["data_offsets"][0])
            out.write(bits16(tensor).tobytes() if kind == "bf16"
                      else tensor.astype(numpy.float32).tobytes())


def shapes_of(config):
    """Of every tensor, in the order of the file."""
    hidden, inner, head = (config[name] for name in ("hidden_size", "intermediate_size",
                                                     "head_dim"))
    heads = config["num_attention_heads"] * head
    kv_heads = config["num_key_value_heads"] * head
    layer = {"input_layernorm": (hidden,), "post_attention_layernorm": (hidden,),
             "self_attn.q_proj": (heads, hidden), "self_attn.k_proj": (kv_heads, hidden),
             "self_attn.v_proj": (kv_heads, hidden), "self_attn.o_proj": (hidden, heads),
             "mlp.gate_proj": (inner, hidden), "mlp.up_proj": (inner, hidden),
             "mlp.down_proj": (hidden, inner)}
    if config["model_type"] == "gemma3_text":
        layer |= {"pre_feedforward_layernorm": (hidden,), "post_feedforward_layernorm": (hidden,),
                  "self_attn.q_norm": (head,), "self_attn.k_norm": (head,)}
    shapes = {"model.embed_tokens": (config["vocab_size"], hidden)}
    for number in range(config["num_hidden_layers"]):
        shapes |= {f"model.layers.{number}.{name}": shape for name, shape in layer.items()}
    shapes["model.norm"] = (hidden,)
    if not config["tie_word_embeddings"]:
        shapes["lm_head"] = shapes["model.embed_tokens"]
    return {f"{name}.weight": shape for name, shape in shapes.items()}


def make(options):
    """Writes the directory of a GGUF file."""
    file, folder, kind = File(options.source), options.folder, options.type
    if file.family not in FAMILIES:
        raise SystemExit(f"{file.family} is none of {', '.join(FAMILIES)}")
    folder.mkdir(parents=True, exist_ok=True)
    config = config_of(file, kind)

    def write(name, data):
        (folder / name).write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n",
                                   encoding="utf-8")
    write("config.json", config)
    write("tokenizer_config.json", tokenizer_config(file))
    if file.of_tokenizer("model") == "gpt2":
        write("tokenizer.json", byte_level(file))
    else:
        (folder / "tokenizer.model").write_bytes(sentencepiece(file))
    tensors = FAMILIES[file.family][0](file, Changes(options.seed), options)
    write_tensors(folder / "model.safetensors", shapes_of(config), tensors, kind)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=pathlib.Path, help="GGUF file of a llama or a Gemma 3")
    parser.add_argument("folder", type=pathlib.Path, help="directory to write")
    parser.add_argument("--type", choices=TYPES, default="bf16", help="of the numbers stored")
    parser.add_argument("--seed", type=int, default=1, help="of the random changes (default: 1)")
    parser.add_argument("--keep-stream", action="store_true",
                        help="of a llama: do not rotate the residual stream")
    make(parser.parse_args())


if __name__ == "__main__":
    main()
