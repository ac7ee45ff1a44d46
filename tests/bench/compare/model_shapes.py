# SPDX-License-Identifier: Apache-2.0
"""The published shapes that are measured, whole or cut to few layers, and what their steps read and
multiply."""
import dataclasses

import model_layers as kinds
from model_layers import BF16, Layer, Tensor, matrix, norm

# Types of metadata values in GGUF.
UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9
# Positions in the cache at the mean of generation as it is measured here.
DEPTH = 16


@dataclasses.dataclass(frozen=True)
class Shape:
    """A model: its `layers`, the tensors `outside` of them beside embedding, last norm and head,
    and `keys`: the metadata behind "ARCHITECTURE." of a file. A token goes through `used` of
    `experts`. `cyclic`: its numbers are those of one block again and again, so that files of all
    formats are made at once and without a larger one of bf16."""
    architecture: str
    tokenizer: str
    width: int
    vocabulary: int
    tied: bool
    bos: int
    eos: int
    layers: tuple
    keys: tuple
    experts: int = 0
    used: int = 0
    outside: tuple = ()
    last_norm: str = "output_norm"
    cyclic: bool = False

    def tensors(self):
        """All, in the file's order."""
        yield matrix("token_embd", self.vocabulary, self.width)
        yield from self.outside
        for number, layer in enumerate(self.layers):
            for tensor in layer.tensors:
                yield dataclasses.replace(tensor, name=f"blk.{number}.{tensor.name}")
        yield norm(self.last_norm, self.width)
        if not self.tied:
            yield matrix("output", self.vocabulary, self.width)

    def products(self):
        """The tensors that every token is multiplied with, without the head. Tables of which a
        token reads a row are as high as the vocabulary."""
        return [tensor for tensor in (*self.outside, *(t for l in self.layers for t in l.tensors))
                if tensor.type == BF16 and tensor.dims[1] != self.vocabulary]

    def linear(self):
        """Weights of the products of all layers that each token of a prompt meets once."""
        return sum(tensor.count(self.used) for tensor in self.products())

    def multiplied(self, length=0):
        """Multiplications a token: of layers, where so many positions are looked at in the mean of
        a prompt; the head is left out."""
        return self.linear() + sum(
            layer.updates + (layer.looks * layer.looked(length) if length else 0)
            for layer in self.layers)

    def generated(self):
        """Multiplications of a token of generation: also those of the head."""
        return self.multiplied() + self.vocabulary * self.width + sum(
            layer.looks * layer.positions(DEPTH) for layer in self.layers)

    def read(self, sequences, bits):
        """Bytes that one step of generation moves: weights once, of experts those that any of the
        sequences goes through, as many as chance makes of them; and for each sequence rows of
        tables, what attention looks back at, and states, read and written."""
        missed = (1 - self.used / self.experts) ** sequences if self.experts else 0
        weights = (*self.outside, *(t for layer in self.layers for t in layer.tensors))
        tables = [t for t in weights if len(t.dims) > 1 and t.dims[1] == self.vocabulary]
        once = sum(tensor.bytes(self.experts * (1 - missed), bits)
                   for tensor in weights if tensor not in tables)
        once += self.vocabulary * self.width * bits / 8
        each = sum(tensor.dims[0] * bits / 8 for tensor in tables) + sum(
            2 * layer.cached * layer.positions(DEPTH) + 2 * layer.state for layer in self.layers)
        return once + sequences * each


def decoder(architecture, tokenizer, count, width, inner, heads, kv_heads, head, vocabulary, tied,
            bias, context, rope_base, epsilon, bos, eos, experts=0, used=0, normed=False,
            shared=False, norms=("attn_norm", "ffn_norm"), vectors=(), more=()):
    """Of `count` equal layers. `bias`: of the query, key and value products; `inner`: of the
    feed-forward, or of each of `experts`, of which a token goes through `used`, and of one more
    that all go through where it has a `shared` one; `normed`: heads of q and k are; `norms`: of a
    layer; `vectors` (name, length) and `more`: what else a layer has, and the metadata."""
    tensors = [norm(name, width) for name in norms]
    tensors += [norm(name, head) for name in ("attn_q_norm", "attn_k_norm") if normed]
    tensors += [Tensor(name, tuple(dims)) for name, *dims in vectors]
    stacks = [*kinds.experts(width, inner, experts)] if experts else []
    tensors += stacks[:1]
    for tensor in kinds.attention(width, heads, kv_heads, head, normed=False):
        tensors.append(tensor)
        if bias and tensor.name != "attn_output.weight":
            tensors.append(Tensor(tensor.name.replace("weight", "bias"), tensor.dims[1:]))
    tensors += stacks[1:] or kinds.feed_forward(width, inner)
    tensors += kinds.feed_forward(width, inner, "_shexp") if shared else ()
    keys = [*sizes(count, context, width, inner, heads, kv_heads, epsilon),
            ("rope.freq_base", FLOAT32, rope_base)]
    if all(key != "rope.dimension_count" for key, *_ in more):
        keys.append(("rope.dimension_count", UINT32, head))
    window = next((value for key, _, value in more if key == "attention.sliding_window"), 0)
    whole = Layer(tuple(tensors), **kinds.looking(heads, kv_heads, head))
    sliding = dataclasses.replace(whole, window=window)
    return Shape(architecture, tokenizer, width, vocabulary, tied, bos, eos,
                 tuple(whole if number % 2 else sliding for number in range(count)),
                 (*keys, *more, *lengths(head),
                  *(expert_keys(experts, used, inner) if experts else ())), experts, used)


def sizes(count, context, width, inner, heads, kv_heads, epsilon):
    """Keys that all have; lists are of layers."""
    def kind(value):
        return [UINT32] if isinstance(value, (list, tuple)) else UINT32
    return (("block_count", UINT32, count), ("context_length", UINT32, context),
            ("embedding_length", UINT32, width), ("feed_forward_length", kind(inner), inner),
            ("attention.head_count", UINT32, heads),
            ("attention.head_count_kv", kind(kv_heads), kv_heads),
            ("attention.layer_norm_rms_epsilon", FLOAT32, epsilon))


def lengths(head, ending=""):
    return (("attention.key_length" + ending, UINT32, head),
            ("attention.value_length" + ending, UINT32, head))


def expert_keys(count, used, inner):
    return (("expert_count", UINT32, count), ("expert_used_count", UINT32, used),
            ("expert_feed_forward_length", UINT32, inner))


# Gemma 4's heads, of layers that slide and of full ones.
GEMMA4_HEAD, GEMMA4_FULL_HEAD = 256, 512
GEMMA4_VOCABULARY = 262144


def gemma4(count, period, width, inner, heads, kv_heads, full_kv_heads, window, *, sharing=0,
           inputs=0, experts=0, used=0, expert_inner=0):
    """Gemma 4: every `period`-th layer is full. The last `sharing` layers read keys and values of
    others and have feed-forwards twice as wide; tokens have so many `inputs` of every layer; full
    layers' k is their v unless layers share; `experts` stand beside feed-forwards."""
    slides = [(number + 1) % period != 0 for number in range(count)]
    inners = [inner * (2 if number >= count - sharing else 1) for number in range(count)]

    def layer(number):
        head = GEMMA4_HEAD if slides[number] else GEMMA4_FULL_HEAD
        own_kv = kv_heads if slides[number] else full_kv_heads
        tensors = [*(norm(name, width) for name in ("attn_norm", "post_attention_norm", "ffn_norm",
                                                    "post_ffw_norm")),
                   Tensor("layer_output_scale.weight", (1,), fill=1.0),
                   # Scores are not scaled, so that factors of published models are small.
                   *kinds.attention(width, heads, own_kv, head, norm_fill=head ** -0.5,
                                     value=slides[number] or bool(sharing),
                                     own=number < count - sharing),
                   *kinds.feed_forward(width, inners[number])]
        if experts:
            tensors += [*(norm(name, width) for name in ("pre_ffw_norm_2", "post_ffw_norm_1",
                                                         "post_ffw_norm_2")),
                        Tensor("ffn_gate_inp.scale", (width,), fill=1.0),
                        Tensor("ffn_down_exps.scale", (experts,), fill=1.0),
                        *kinds.experts(width, expert_inner, experts, fused=True)]
        if inputs:
            tensors += [norm("post_norm", width), matrix("inp_gate", inputs, width),
                        matrix("proj", width, inputs)]
        return Layer(tuple(tensors), **kinds.looking(heads, own_kv, head,
                                                      slides[number] and window))

    turning = GEMMA4_FULL_HEAD // 8  # a quarter of the pairs
    outside = [Tensor("rope_freqs.weight", (GEMMA4_FULL_HEAD // 2,), values=(
        *[1.0] * turning, *[1e30] * (GEMMA4_FULL_HEAD // 2 - turning)))]
    if inputs:
        outside += [matrix("per_layer_token_embd", GEMMA4_VOCABULARY, inputs * count),
                    matrix("per_layer_model_proj", inputs * count, width, kept=True),
                    norm("per_layer_proj_norm", inputs)]
    keys = (*sizes(count, 131072, width, inners, heads,
                   [kv_heads if own else full_kv_heads for own in slides], 1e-6),
            ("rope.freq_base", FLOAT32, 1e6), ("rope.freq_base_swa", FLOAT32, 1e4),
            ("rope.dimension_count", UINT32, GEMMA4_FULL_HEAD),
            ("rope.dimension_count_swa", UINT32, GEMMA4_HEAD), *lengths(GEMMA4_FULL_HEAD),
            *lengths(GEMMA4_HEAD, "_swa"), ("attention.sliding_window", UINT32, window),
            ("attention.sliding_window_pattern", [BOOL], slides),
            ("attention.shared_kv_layers", UINT32, sharing),
            ("embedding_length_per_layer_input", UINT32, inputs),
            ("final_logit_softcapping", FLOAT32, 30.0),
            *(expert_keys(experts, used, expert_inner) if experts else ()))
    return Shape("gemma4", "llama-bpe", width, GEMMA4_VOCABULARY, True, 2, 1,
                 tuple(map(layer, range(count))), keys, experts, used, tuple(outside), cyclic=True)


def qwen35(count, width, inner, heads, kv_heads, *, experts=0, used=0):
    """Qwen 3.5 and 3.6: three gated delta nets, then attention with a gate of its results. `inner`:
    of the feed-forward, or of each expert and the shared one."""
    head, rotated, key_heads, value_heads, state, taps, vocabulary = 256, 64, 16, 32, 128, 4, 248320
    period = 4

    def layer(number):
        if (number + 1) % period == 0:
            mixer = kinds.attention(width, heads, kv_heads, head, gate=True)
            keeps = kinds.looking(heads, kv_heads, head)
        else:
            mixer, keeps = kinds.delta_net(width, key_heads, value_heads, state, taps)
        mlp = kinds.feed_forward(width, inner)
        if experts:
            mlp = (*kinds.experts(width, inner, experts),
                   Tensor("ffn_gate_inp_shexp.weight", (width,)),
                   *kinds.feed_forward(width, inner, "_shexp"))
        return Layer((norm("attn_norm", width), norm("post_attention_norm", width), *mixer, *mlp),
                     **keeps)

    keys = (*(key for key in sizes(count, 262144, width, inner, heads, kv_heads, 1e-6)
              if not (experts and key[0] == "feed_forward_length")),
            ("rope.freq_base", FLOAT32, 1e7), ("rope.dimension_count", UINT32, rotated),
            ("rope.dimension_sections", [INT32], [11, 11, 10, 0]), *lengths(head),
            ("ssm.conv_kernel", UINT32, taps), ("ssm.state_size", UINT32, state),
            ("ssm.group_count", UINT32, key_heads), ("ssm.time_step_rank", UINT32, value_heads),
            ("ssm.inner_size", UINT32, value_heads * state),
            ("full_attention_interval", UINT32, period),
            *((*expert_keys(experts, used, inner),
               ("expert_shared_feed_forward_length", UINT32, inner)) if experts else ()))
    return Shape("qwen35moe" if experts else "qwen35", "qwen2", width, vocabulary, False, 248044,
                 248046, tuple(map(layer, range(count))), keys, experts, used, cyclic=True)


def lfm2(count, attending, width, inner, heads, kv_heads):
    """LFM2: short convolutions, and attention in the layers `attending`."""
    head, taps = width // heads, 3

    def layer(number):
        if number in attending:
            mixer = kinds.attention(width, heads, kv_heads, head)
            keeps = kinds.looking(heads, kv_heads, head)
        else:
            mixer, keeps = kinds.short_convolution(width, taps)
        return Layer((norm("attn_norm", width), norm("ffn_norm", width), *mixer,
                      *kinds.feed_forward(width, inner)), **keeps)

    keys = (*sizes(count, 128000, width, inner, heads,
                   [kv_heads if number in attending else 0 for number in range(count)], 1e-5),
            ("rope.freq_base", FLOAT32, 1e6), ("shortconv.l_cache", UINT32, taps))
    return Shape("lfm2", "lfm2", width, 65536, True, 1, 7, tuple(map(layer, range(count))), keys,
                 last_norm="token_embd_norm", cyclic=True)


def latent(count, width, dense_inner, inner, heads, plain, value, query_rank, experts, used, shared,
           vocabulary, rope_base, epsilon, *, more):
    """DeepSeek's: latent attention in all layers, and experts in all but the first. `inner`: of an
    expert, of which `shared` ones are for all tokens."""
    rotary, rank = 64, 512
    mixer, keeps = kinds.latent_attention(width, heads, plain, rotary, value, rank, query_rank)

    def layer(number):
        mlp = kinds.feed_forward(width, dense_inner) if number == 0 else (
            *kinds.experts(width, inner, experts),
            *([Tensor("exp_probs_b.bias", (experts,))] if query_rank else []),
            *kinds.feed_forward(width, shared * inner, "_shexp"))
        return Layer((norm("attn_norm", width), norm("ffn_norm", width), *mixer, *mlp), **keeps)

    keys = (*sizes(count, 131072, width, dense_inner, heads, 1, epsilon),
            ("rope.freq_base", FLOAT32, rope_base), ("rope.dimension_count", UINT32, rotary),
            ("attention.kv_lora_rank", UINT32, rank),
            *([("attention.q_lora_rank", UINT32, query_rank)] if query_rank else []),
            ("attention.key_length", UINT32, rank + rotary),
            ("attention.value_length", UINT32, rank),
            ("attention.key_length_mla", UINT32, plain + rotary),
            ("attention.value_length_mla", UINT32, value),
            ("leading_dense_block_count", UINT32, 1), *expert_keys(experts, used, inner),
            ("expert_shared_count", UINT32, shared), *more)
    return Shape("deepseek2", "qwen2", width, vocabulary, False, 0, 1,
                 tuple(map(layer, range(count))), keys, experts, used, cyclic=True)


def granite_hybrid(count, attending, width, inner, shared, heads, kv_heads, experts, used):
    """Granite 4: state spaces, and attention without positions in the layers `attending`; experts
    of `inner` and a feed-forward of `shared` in all."""
    head, space_heads, space_head, groups, state, taps = 128, 2 * width // 64, 64, 1, 128, 4

    def layer(number):
        if number in attending:
            mixer = kinds.attention(width, heads, kv_heads, head, normed=False)
            keeps = kinds.looking(heads, kv_heads, head)
        else:
            mixer, keeps = kinds.state_space(width, space_heads, space_head, groups, state, taps)
        return Layer((norm("attn_norm", width), norm("ffn_norm", width), *mixer,
                      *kinds.experts(width, inner, experts),
                      *kinds.feed_forward(width, shared, "_shexp")), **keeps)

    keys = (*sizes(count, 131072, width, inner, heads,
                   [kv_heads if number in attending else 0 for number in range(count)], 1e-5),
            ("rope.freq_base", FLOAT32, 1e4), ("rope.dimension_count", UINT32, head),
            ("rope.scaling.finetuned", BOOL, False), *lengths(head),
            ("attention.scale", FLOAT32, 1 / head), ("embedding_scale", FLOAT32, 12.0),
            ("residual_scale", FLOAT32, 0.22), ("logit_scale", FLOAT32, 6.0),
            ("ssm.conv_kernel", UINT32, taps), ("ssm.state_size", UINT32, state),
            ("ssm.group_count", UINT32, groups), ("ssm.time_step_rank", UINT32, space_heads),
            ("ssm.inner_size", UINT32, space_heads * space_head),
            ("expert_count", UINT32, experts), ("expert_used_count", UINT32, used),
            ("expert_shared_feed_forward_length", UINT32, shared))
    return Shape("granitehybrid", "qwen2", width, 100352, True, 0, 1,
                 tuple(map(layer, range(count))), keys, experts, used, cyclic=True)


SHAPES = {
    "llama-3.2-1b": decoder("llama", "llama-bpe", 16, 2048, 8192, 32, 8, 64, 128256, True, False,
                            8192, 5e5, 1e-5, 128000, 128001),
    "qwen2.5-0.5b": decoder("qwen2", "qwen2", 24, 896, 4864, 14, 2, 64, 151936, True, True,
                            32768, 1e6, 1e-6, 151643, 151645),
    "llama-3-8b": decoder("llama", "llama-bpe", 32, 4096, 14336, 32, 8, 128, 128256, False, False,
                          8192, 5e5, 1e-5, 128000, 128001),
    # Cut to 4 of 48 and 36 layers.
    "qwen3-30b-a3b-cut": decoder("qwen3moe", "qwen2", 4, 2048, 768, 32, 4, 128, 151936, False,
                                 False, 32768, 1e6, 1e-6, 151643, 151645, 128, 8, True),
    # Cut to two of 24 and 92 layers; llama.cpp computes the last one for the last token alone.
    "gpt-oss-20b-cut": decoder(
        "gpt-oss", "gpt-4o", 2, 2880, 2880, 64, 8, 64, 201088, False, True, 131072, 1.5e5, 1e-5,
        199998, 200002, 32, 4, norms=("attn_norm", "post_attention_norm"),
        vectors=(("attn_output.bias", 2880), ("attn_sinks.weight", 64), ("ffn_gate_inp.bias", 32),
                 ("ffn_gate_exps.bias", 2880, 32), ("ffn_up_exps.bias", 2880, 32),
                 ("ffn_down_exps.bias", 2880, 32)),
        more=(("attention.sliding_window", UINT32, 128), ("rope.scaling.type", STRING, "yarn"),
              ("rope.scaling.factor", FLOAT32, 32.0),
              ("rope.scaling.original_context_length", UINT32, 4096))),
    "glm-4.7-cut": decoder(
        "glm4moe", "gpt-2", 2, 5120, 1536, 96, 8, 128, 151552, False, True, 131072, 1e6, 1e-5,
        151331, 151329, 160, 8, True, True, norms=("attn_norm", "post_attention_norm"),
        vectors=(("exp_probs_b.bias", 160),),
        more=(("expert_shared_count", UINT32, 1), ("expert_gating_func", UINT32, 2),
              ("expert_weights_norm", BOOL, True), ("expert_weights_scale", FLOAT32, 2.5),
              ("leading_dense_block_count", UINT32, 0), ("rope.dimension_count", UINT32, 64))),
    "smollm3-3b-cut": decoder("smollm3", "smollm", 4, 2048, 11008, 16, 4, 128, 128256, True, False,
                              32768, 2e6, 1e-6, 128000, 128001),
    "smollm2-135m": decoder("llama", "smollm", 30, 576, 1536, 9, 3, 64, 49152, True, False,
                            8192, 1e5, 1e-5, 1, 2),
    "gemma-3-270m": decoder("gemma3", "", 18, 640, 2048, 4, 1, 256, 262144, True, False,
                            32768, 1e6, 1e-6, 2, 1),
    # Cut to 10 of 35 layers, half of which share (of the whole 20 of 35); 6 of 48; 6 of 30.
    "gemma-4-e2b-cut": gemma4(10, 5, 1536, 6144, 8, 1, 1, 512, sharing=5, inputs=256),
    "gemma-4-12b-cut": gemma4(6, 6, 3840, 15360, 16, 8, 1, 1024),
    "gemma-4-26b-a4b-cut": gemma4(6, 6, 2816, 2112, 16, 8, 2, 1024, experts=128, used=8,
                                  expert_inner=704),
    # Cut to 4 of 40 and of 32 layers.
    "qwen3.6-35b-a3b-cut": qwen35(4, 2048, 512, 16, 2, experts=256, used=8),
    "qwen3.5-9b-cut": qwen35(4, 4096, 12288, 16, 4),
    # All of it: with fewer layers other programs take it for a model with a latent of q.
    "deepseek-v2-lite": latent(27, 2048, 10944, 1408, 16, 128, 128, 0, 64, 6, 2, 102400, 1e4, 1e-6,
                               more=(("expert_gating_func", UINT32, 1),
                                     ("expert_weights_norm", BOOL, False),
                                     ("expert_weights_scale", FLOAT32, 1.0),
                                     ("rope.scaling.type", STRING, "yarn"),
                                     ("rope.scaling.factor", FLOAT32, 40.0),
                                     ("rope.scaling.original_context_length", UINT32, 4096),
                                     ("rope.scaling.yarn_log_multiplier", FLOAT32, 0.0707))),
    # Cut to 6 of 47 and 10 of 40 layers.
    "glm-4.7-flash-cut": latent(6, 2048, 10240, 1536, 20, 192, 256, 768, 64, 4, 1, 154880, 1e6,
                                1e-5, more=(("expert_gating_func", UINT32, 2),
                                            ("expert_weights_norm", BOOL, True),
                                            ("expert_weights_scale", FLOAT32, 1.8))),
    "granite-4.0-h-tiny-cut": granite_hybrid(10, (5,), 1536, 512, 1024, 12, 4, 64, 6),
    "lfm2-1.2b": lfm2(16, (2, 5, 8, 10, 12, 14), 2048, 8192, 32, 8),
}
# Published models: the format of the file that is measured.
PUBLISHED = {"smollm2-135m": "q4_1", "gemma-3-270m": "q4_k_m"}
