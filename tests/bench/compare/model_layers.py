# SPDX-License-Identifier: Apache-2.0
"""What the layers of models hold, by kind: tensors under the names of GGUF files, and what a
sequence keeps. Sizes and names are those of published files and of llama.cpp's loaders."""
import dataclasses
import math

F32, BF16 = 0, 30
BYTES = {F32: 4, BF16: 2}
SIGMA = 0.02
# Of the few taps of a convolution: those of published models are so large.
TAP_SIGMA = 0.3


@dataclasses.dataclass(frozen=True)
class Tensor:
    """`dims`: numbers per dimension, the inner one first; the third is of experts, or of heads
    where all are `whole`. `type`: in the bf16 file; matrices of BF16 are quantized from it unless
    they are `kept`. Numbers are normally distributed by `sigma`, or those of `values`, or all
    `fill`."""
    name: str
    dims: tuple
    type: int = F32
    kept: bool = False
    sigma: float = SIGMA
    fill: float | None = None
    values: tuple = ()
    whole: bool = False

    def count(self, experts):
        """Numbers of the tensor, of so many experts where it is a stack of theirs."""
        return math.prod(self.dims) if self.whole or len(self.dims) < 3 else (
            math.prod(self.dims[:2]) * experts)

    def bytes(self, experts, bits):
        """What a step reads of it where quantized matrices have so many bits a number."""
        width = 8 * BYTES[self.type] if self.kept or self.type == F32 else bits
        return self.count(experts) * width / 8


@dataclasses.dataclass(frozen=True)
class Layer:
    """One layer. A token looks back at `window` positions, or all where it is 0, and reads `cached`
    numbers of bf16 at each, which it multiplies by `looks` others; `state`: bytes that a sequence
    keeps and each step reads and writes, of which `updates` multiplications a token are made."""
    tensors: tuple
    window: int = 0
    cached: int = 0
    looks: int = 0
    state: int = 0
    updates: int = 0

    def positions(self, length):
        """How many a token with so many before it looks at."""
        return min(length, self.window) if self.window else length

    def looked(self, length):
        """How many a token looks at in the mean of a prompt of that length."""
        within = min(length, self.window or length)
        return (within * (within + 1) / 2 + (length - within) * within) / length


def norm(name, width, fill=1.0):
    return Tensor(name + ".weight", (width,), fill=fill)


def matrix(name, rows, columns, *stack, **more):
    return Tensor(name + ".weight", (columns, rows, *stack), BF16, **more)


def attention(width, heads, kv_heads, head, *, normed=True, value=True, gate=False, own=True,
              norm_fill=1.0):
    """Tensors of softmax attention. `gate`: q has one for each of its numbers; without a `value` k
    is v; layers that are not their `own` have neither."""
    q, kv = heads * head, kv_heads * head
    norms = [norm("attn_q_norm", head, norm_fill), norm("attn_k_norm", head)][:1 + own] if normed \
        else []
    matrices = [("attn_q", q * (1 + gate)), *[("attn_k", kv), ("attn_v", kv)][:own * (1 + value)]]
    return (*norms, *(matrix(name, rows, width) for name, rows in matrices),
            matrix("attn_output", width, q))


def looking(heads, kv_heads, head, window=0):
    """What a token of such a layer looks back at: arguments of Layer."""
    return {"window": window, "cached": 2 * kv_heads * head, "looks": 2 * heads * head}


def feed_forward(width, inner, ending=""):
    return (matrix("ffn_gate" + ending, inner, width), matrix("ffn_up" + ending, inner, width),
            matrix("ffn_down" + ending, width, inner))


def experts(width, inner, count, fused=False):
    """A router and stacks of experts, with gates and ups in one where they are `fused`."""
    both = [matrix("ffn_gate_up_exps", 2 * inner, width, count)] if fused else [
        matrix("ffn_gate_exps", inner, width, count), matrix("ffn_up_exps", inner, width, count)]
    return (Tensor("ffn_gate_inp.weight", (width, count)), *both,
            matrix("ffn_down_exps", width, inner, count))


def delta_net(width, key_heads, value_heads, head, taps):
    """Tensors of a gated delta net, and what a sequence keeps of it."""
    values = value_heads * head
    mixed = 2 * key_heads * head + values
    # Decays of a token from 7 to 94 %, as where the softplus of a is ln 2.
    decays = tuple(-0.1 - 3.9 * i / (value_heads - 1) for i in range(value_heads))
    tensors = (matrix("attn_qkv", mixed, width), matrix("attn_gate", values, width),
               Tensor("ssm_conv1d.weight", (taps, mixed), sigma=TAP_SIGMA),
               Tensor("ssm_dt.bias", (value_heads,)),
               Tensor("ssm_a", (value_heads,), values=decays),
               matrix("ssm_beta", value_heads, width), matrix("ssm_alpha", value_heads, width),
               norm("ssm_norm", head), matrix("ssm_out", width, values))
    # The state of f32 is multiplied by k, by k and u, and by q.
    return tensors, {"state": 4 * values * head + 2 * (taps - 1) * mixed,
                     "updates": 3 * values * head}


def short_convolution(width, taps):
    """Tensors of LFM2's convolution, and what a sequence keeps of it."""
    return ((Tensor("shortconv.conv.weight", (taps, width), sigma=TAP_SIGMA),
             matrix("shortconv.in_proj", 3 * width, width),
             matrix("shortconv.out_proj", width, width)), {"state": 2 * (taps - 1) * width})


def latent_attention(width, heads, plain, rotary, value, rank, query_rank):
    """Tensors of multi-head latent attention, and what a token looks back at: latents, that all
    heads are multiplied with and whose first numbers are values."""
    q = heads * (plain + rotary)
    query = (norm("attn_q_a_norm", query_rank), matrix("attn_q_a", query_rank, width),
             matrix("attn_q_b", q, query_rank)) if query_rank else (matrix("attn_q", q, width),)
    # llama.cpp ends on those of heads in q4_0.
    return ((*query, norm("attn_kv_a_norm", rank), matrix("attn_kv_a_mqa", rank + rotary, width),
             matrix("attn_k_b", rank, plain, heads, whole=True, kept=True),
             matrix("attn_v_b", value, rank, heads, whole=True, kept=True),
             matrix("attn_output", width, heads * value)),
            {"cached": rank + rotary, "looks": heads * (2 * rank + rotary)})


def state_space(width, heads, head, groups, state, taps):
    """Tensors of Mamba-2, and what a sequence keeps of it."""
    values = heads * head
    mixed = values + 2 * groups * state
    # Steps of softplus(0), of which states keep 7 to 94 %.
    decays = tuple(-0.1 - 3.9 * i / (heads - 1) for i in range(heads))
    return ((matrix("ssm_in", values + mixed + heads, width),
             Tensor("ssm_conv1d.weight", (taps, mixed), sigma=TAP_SIGMA),
             Tensor("ssm_conv1d.bias", (mixed,)), Tensor("ssm_dt.bias", (heads,)),
             Tensor("ssm_a", (1, heads), values=decays), Tensor("ssm_d", (1, heads), fill=1.0),
             Tensor("ssm_norm.weight", (values // groups, groups), fill=1.0),
             matrix("ssm_out", width, values)),
            {"state": 4 * values * state + 2 * (taps - 1) * mixed, "updates": 3 * values * state})
