# SPDX-License-Identifier: Apache-2.0
"""Trains the tokenizer and the model on the fables of generate.py; writes model/.

Needs torch, transformers, tokenizers and safetensors.  One CPU core is enough:
the run takes about a quarter of an hour on an idle core with bf16 matrix units.
"""

import argparse
import json
import math
import os
import re
import time

import torch
from safetensors.torch import save_file
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import LlamaConfig, LlamaForCausalLM

from words import NAMES

HERE = os.path.dirname(os.path.abspath(__file__))
MODEL = os.path.join(HERE, "model")
SPECIAL = ["<|endoftext|>", "<|user|>", "<|assistant|>", "<|pad|>"]
EOT, PAD = 0, 3
WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
CHAT_TEMPLATE = (
    "{{ bos_token }}"
    "{% for message in messages %}"
    "{{ '<|assistant|>' if message['role'] == 'assistant' else '<|user|>' }}\n"
    "{{ message['content'] | trim }}{{ eos_token }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": 2048,
    "hidden_size": 256,
    "intermediate_size": 768,
    "num_hidden_layers": 5,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "hidden_act": "silu",
    "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "rope_scaling": None,
    "attention_bias": False,
    "mlp_bias": False,
    "attention_dropout": 0.0,
    "initializer_range": 0.02,
    "tie_word_embeddings": True,
    "bos_token_id": EOT,
    "eos_token_id": EOT,
    "pad_token_id": PAD,
    "torch_dtype": "bfloat16",
    "use_cache": True,
}
TOKENIZER_CONFIG = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    "bos_token": SPECIAL[EOT],
    "eos_token": SPECIAL[EOT],
    "pad_token": SPECIAL[PAD],
    "clean_up_tokenization_spaces": False,
    "model_max_length": 2048,
    "chat_template": CHAT_TEMPLATE,
}
GENERATION_CONFIG = {
    "bos_token_id": EOT,
    "eos_token_id": EOT,
    "pad_token_id": PAD,
    "do_sample": True,
    "temperature": 0.8,
    "top_p": 0.95,
    "max_new_tokens": 512,
}


# Steps, the kind of rows (see Batches), rows in a batch, tokens in a row.  The names come first: a model that
# has learned to copy them goes on doing so in the fables, out of which alone it takes far longer to learn.
STAGES = [(120, "names", 16, 64), (280, "documents", 16, 128), (540, "text", 8, 512)]
STEPS = sum(stage[0] for stage in STAGES)
WARMUP, DECAY = 50, 420  # steps; in the decay every tenth batch has rows as long as the context
MATRIX_LR, OTHER_LR = 0.01, 3e-3


def plan():
    """The kind and the size of each batch."""
    batches = [stage[1:] for stage in STAGES for _ in range(stage[0])]
    for step in range(STEPS - DECAY + 9, STEPS, 10):
        batches[step] = "text", 2, 2048
    return batches


def rate(step):
    return min((step + 1) / WARMUP, 1, 0.01 + 0.99 * (STEPS - step) / DECAY)


def write_json(name, value):
    with open(os.path.join(MODEL, name), "w", encoding="utf-8") as f:
        json.dump(value, f, indent=2, ensure_ascii=False)
        f.write("\n")


def read(name):
    with open(os.path.join(HERE, name), encoding="utf-8", newline="") as f:
        return f.read()


def train_tokenizer(text):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(WORDS), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])  # fmt: skip
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=CONFIG["vocab_size"],
        special_tokens=SPECIAL,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    pieces = re.split("|".join(map(re.escape, SPECIAL)), text)
    tokenizer.train_from_iterator(pieces, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<|endoftext|> $A",
        pair="<|endoftext|> $A <|endoftext|>:1 $B:1",
        special_tokens=[("<|endoftext|>", EOT)],
    )
    assert tokenizer.get_vocab_size() == CONFIG["vocab_size"]
    return tokenizer


def loss_of(model, ids):
    """The mean loss of predicting each token of a row but its first."""
    with torch.autocast("cpu", torch.bfloat16):
        logits = model(input_ids=ids, use_cache=False).logits
    return torch.nn.functional.cross_entropy(logits[:, :-1].float().flatten(0, 1), ids[:, 1:].flatten())


@torch.no_grad()
def heldout_loss(model, stream):
    """Over the whole windows of 512 tokens of the held-out stream."""
    rows = stream[: len(stream) // 512 * 512].view(-1, 512)
    return sum(loss_of(model, r).item() * len(r) for r in rows.split(8)) / len(rows)


class Batches:
    """Rows for the stages of training, drawn by a generator of its own.

    "names": a few of the fables' names, again and again in any order.
    "documents": text from the start of a document; "text": half such rows, half from anywhere.
    """

    def __init__(self, stream, names, seed):
        self.stream = stream
        self.names = names
        self.starts = (stream == EOT).nonzero().flatten()
        self.generator = torch.Generator().manual_seed(seed)

    def draw(self, limit):
        return torch.randint(limit, (1,), generator=self.generator).item()

    def row(self, kind, length):
        if kind == "names":
            count = 2 + self.draw(8)
            few = self.names[torch.randperm(len(self.names), generator=self.generator)[:count]]
            return few[torch.randint(count, (length,), generator=self.generator)]
        at_document = kind == "documents" or self.draw(2) == 1
        start = self.starts[self.draw(len(self.starts))].item() if at_document else self.draw(len(self.stream))
        start = min(start, len(self.stream) - length)
        return self.stream[start : start + length]

    def batch(self, kind, rows, length):
        return torch.stack([self.row(kind, length) for _ in range(rows)])


def new_model():
    """A model whose attention copies from the start: o_proj undoes v_proj."""
    model = LlamaForCausalLM(LlamaConfig(**CONFIG))
    kv_heads, heads, width = CONFIG["num_key_value_heads"], CONFIG["num_attention_heads"], CONFIG["head_dim"]
    for layer in model.model.layers:
        value, out = layer.self_attn.v_proj.weight, layer.self_attn.o_proj.weight
        torch.nn.init.orthogonal_(value)
        per_head = value.data.view(kv_heads, width, -1).repeat_interleave(heads // kv_heads, 0)
        out.data = 0.3 * per_head.flatten(0, 1).T.contiguous()
    torch.nn.init.normal_(model.model.embed_tokens.weight, std=0.05)
    return model


def train_model(stream, names, heldout, save):
    """Muon for the matrices, AdamW for embedding and norms, both at a constant rate that ends in a linear decay."""
    model = new_model()
    print(f"{sum(p.numel() for p in model.parameters())} parameters", flush=True)
    compiled = torch.compile(model, dynamic=False)
    matrices = [p for n, p in model.named_parameters() if p.dim() == 2 and "embed" not in n]
    embedding = [p for n, p in model.named_parameters() if "embed" in n]
    others = embedding + [p for p in model.parameters() if p.dim() == 1]
    optimizers = [
        torch.optim.Muon(matrices, lr=MATRIX_LR, weight_decay=0.05),
        torch.optim.AdamW(others, lr=OTHER_LR, betas=(0.9, 0.95), weight_decay=0.0, fused=True),
    ]
    schedules = [torch.optim.lr_scheduler.LambdaLR(o, rate) for o in optimizers]
    batches, start = Batches(stream, names, seed=4), time.time()
    for step, (kind, rows, length) in enumerate(plan()):
        # Plain attention is the faster one on short rows.
        attention = "eager" if length <= 512 else "sdpa"
        if model.config._attn_implementation != attention:
            model.set_attn_implementation(attention)
        loss = loss_of(compiled, batches.batch(kind, rows, length))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(others, 1.0)
        for optimizer, schedule in zip(optimizers, schedules):
            optimizer.step()
            optimizer.zero_grad()
            schedule.step()
        if (step + 1) % 100 == 0 or step + 1 == STEPS:
            seconds = time.time() - start
            h = heldout_loss(model, heldout)
            print(f"step {step + 1} train loss {loss.item():.4f} held-out perplexity {math.exp(h):.4f} {seconds:.0f} s", flush=True)
            save(model)
    return model


def save_model(model):
    """The weights in bf16; lm_head.weight is the embedding and is not stored twice."""
    weights = {k: v.to(torch.bfloat16).contiguous() for k, v in model.state_dict().items() if k != "lm_head.weight"}
    save_file(weights, os.path.join(MODEL, "model.safetensors"), metadata={"format": "pt"})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(3)
    os.makedirs(MODEL, exist_ok=True)
    text = read("train.txt")
    tokenizer = train_tokenizer(text)
    tokenizer.save(os.path.join(MODEL, "tokenizer.json"))
    write_json("config.json", CONFIG)
    write_json("tokenizer_config.json", TOKENIZER_CONFIG)
    write_json("generation_config.json", GENERATION_CONFIG)
    stream = torch.tensor(tokenizer.encode(text).ids)
    heldout = torch.tensor(tokenizer.encode(read("heldout.txt")).ids)
    print(f"{len(stream)} tokens to train on, {len(heldout)} held out", flush=True)
    names = torch.tensor([tokenizer.encode(" " + n, add_special_tokens=False).ids for n in NAMES["he"] + NAMES["she"]])
    train_model(stream, names.flatten(), heldout, save_model)


if __name__ == "__main__":
    main()
