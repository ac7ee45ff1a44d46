# SPDX-License-Identifier: Apache-2.0
"""Writes golden.json: what the transformers library says about the model.

The stored bf16 weights are computed with in float64.  Two parts of the
library that would fall back to float32, the norm and the rotary angles, are
replaced by float64 ones here, so the file is free of rounding one could see.
"""

import argparse
import json
import math
import os

import tokenizers
import torch
import transformers
from transformers import AutoTokenizer, LlamaForCausalLM
from transformers.models.llama import modeling_llama

HERE = os.path.dirname(os.path.abspath(__file__))
MODEL = os.path.join(HERE, "model")
EOT = "<|endoftext|>"
NEW_TOKENS = 160
WINDOWS = (512, 2048)

TOKENIZER_TEXTS = [
    "", " ", "a", "Hello", "hello world", " leading space", "trailing space ", "two  spaces", "   three before",
    "tab\tand\ttabs\t\t", "line\nbreak", "blank\n\nline", "windows\r\nline\r\n", " \n \n  end", "\n\n\n", "     ",
    "Once upon a time, there lived a sly fox named Iris.", '"Of course," said Bram. "Gladly!"',
    "It's Iris' turn; we'll see what they've got, I'm sure.", "IT'S SHOUTING, THEY'LL HEAR",
    "0", "12", "1234567890", "3.14159 and -42", "in 2024, 1000000 foxes", "٣ ½ Ⅷ",
    "naïve café, Ærøskøbing, Straße", "e\u0301 is not \u00e9", "Жили-были дед да баба", "昔々、あるところに狐がいました。",
    "狐和葡萄", "여우와 포도", "שועל וענבים", "الثعلب والعنب", "लोमड़ी और अंगूर", "🦊🍇", "a 🦊 and a 👩‍🌾, then 🇳🇱",
    "non\u00a0breaking\u2003em space", "zero\u200bwidth\ufeff", "smart “quotes” — and… dots", "a_b-c/d\\e|f~g`h^i",
    "def f(x):\n    return x  # {'k': [1, 2]}\n", "https://example.org/?q=a+b&c=%20", "!!!???...---***", "\x00\x01\x7f",
    EOT, f"one{EOT}two", f" {EOT} \n{EOT}{EOT}", "<|user|>\nHi!<|endoftext|><|assistant|>\n", "<|pad|><|assistant|><|user|>",
    "<|endoftext|", "<|system|> is no special token", "antidisestablishmentarianism", "x" * 40, "ab " * 12,
]  # fmt: skip


def exact_norm(self, x):
    return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)


def exact_rope(self, x, position_ids):
    half = self.config.head_dim // 2
    theta = torch.tensor(self.config.rope_parameters["rope_theta"], dtype=x.dtype)
    inverse = theta ** (-torch.arange(half, dtype=x.dtype) / half)
    angles = (position_ids[..., None].to(x.dtype) * inverse).repeat(1, 1, 2)
    return angles.cos(), angles.sin()


def load():
    modeling_llama.LlamaRMSNorm.forward = exact_norm
    modeling_llama.LlamaRotaryEmbedding.forward = exact_rope
    model = LlamaForCausalLM.from_pretrained(MODEL, dtype=torch.float64).eval()
    assert all(p.dtype == torch.float64 for p in model.parameters())
    return model, AutoTokenizer.from_pretrained(MODEL)


def heldout():
    with open(os.path.join(HERE, "heldout.txt"), encoding="utf-8", newline="") as f:
        return f.read()


def prompts(tokenizer):
    """Name and text of each prompt; a chat prompt also has its messages."""
    documents = heldout().split(EOT)
    fables = [d for d in documents if d and not d.startswith("<|")]
    cut = fables[2].index("\n\n", len(fables[2]) // 3)
    questions = [d for d in documents if d.startswith("<|user|>\n") and "\n\n" in d]
    texts = {
        "opening": "Once upon a time",
        "character": "Long ago, in a quiet valley, there lived a lazy hedgehog named Victor.",
        "unfamiliar": "On 14 July 1789 a naïve robot 🤖 met a fox.",
        "long": fables[0] + EOT + fables[1] + EOT + fables[2][:cut],
    }
    chats = {
        "chat request": [{"role": "user", "content": "Tell me a fable about a fox who is greedy."}],
        "chat question": [{"role": "user", "content": questions[0].removeprefix("<|user|>\n")}],
    }
    for name, text in texts.items():
        yield {"name": name, "text": text, "ids": tokenizer(text)["input_ids"]}
    for name, messages in chats.items():
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        yield {"name": name, "messages": messages, "text": text, "ids": ids}


@torch.no_grad()
def continuation(model, tokenizer, prompt):
    ids, new, margins, cache = prompt["ids"], [], [], transformers.DynamicCache()
    for step in range(NEW_TOKENS):
        logits = model(torch.tensor([ids]), past_key_values=cache).logits[0, -1]
        top = logits.topk(16)
        if step == 0:
            first = {"ids": top.indices.tolist(), "logits": top.values.tolist(), "logsumexp": logits.logsumexp(-1).item()}
        margins.append((top.values[0] - top.values[1]).item())
        new.append(top.indices[0].item())
        ids = new[-1:]
        if new[-1] == tokenizer.eos_token_id:
            break
    return {**prompt, "first_step_top16": first, "greedy_ids": new, "greedy_margins": margins, "greedy_text": tokenizer.decode(new)}


@torch.no_grad()
def perplexity(model, stream, window):
    nll, scored = 0.0, 0
    for start in range(0, len(stream), window):
        ids = torch.tensor(stream[start : start + window])
        if len(ids) > 1:
            logp = model(ids[None], use_cache=False).logits[0, :-1].log_softmax(-1)
            nll -= logp.gather(1, ids[1:, None]).sum().item()
            scored += len(ids) - 1
    return {"window": window, "scored_tokens": scored, "nll_nats": nll, "perplexity": math.exp(nll / scored)}


def tokenizer_cases(tokenizer):
    core = tokenizer.backend_tokenizer
    encode, decode = [], []
    for text in TOKENIZER_TEXTS:
        ids = core.encode(text, add_special_tokens=False).ids
        encode.append({"text": text, "ids": ids, "decoded": core.decode(ids, skip_special_tokens=False)})
    fox = core.encode("🦊", add_special_tokens=False).ids
    for ids in [fox[:1], fox[:-1], fox[1:], fox[:2] + fox, [0, *fox, 0]]:
        decode.append({"ids": ids, "decoded": core.decode(ids, skip_special_tokens=False)})
    return encode, decode


def lines(cases):
    return "[\n  " + ",\n  ".join(json.dumps(c, ensure_ascii=False) for c in cases) + "\n ]"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    torch.set_num_threads(parser.parse_args().threads)
    model, tokenizer = load()
    stream = tokenizer.backend_tokenizer.encode(heldout()).ids
    encode, decode = tokenizer_cases(tokenizer)
    about = {
        "made_by": f"make_golden.py, transformers {transformers.__version__}, tokenizers {tokenizers.__version__}, torch {torch.__version__}",
        "precision": "bf16 weights as stored, all computation in float64",
        "generations": f"ids: the prompt, from text by the tokenizer, which adds the leading BOS to a text prompt; the chat "
        f"template writes it itself. greedy_ids: the arg-max tokens, at most {NEW_TOKENS}, the eos included where it was "
        "reached. greedy_margins: the best logit minus the second, per greedy token. logsumexp is over all logits.",
        "perplexities": "heldout.txt is encoded as one text, special tokens in it included and one BOS in front. The stream "
        "is cut from its start into windows that do not overlap, the last one shorter; nothing is put in front of a window. "
        "A window is run on its own from position 0 and its first token is not scored, every other is. "
        "perplexity = exp(nll_nats / scored_tokens).",
        "encode": "ids are without the leading BOS that the post-processor adds; decoded keeps special tokens.",
        "decode": "ids that cut characters apart; each maximal part of a broken character decodes to one U+FFFD.",
        "heldout_stream_tokens": len(stream),
    }
    generations = [continuation(model, tokenizer, p) for p in prompts(tokenizer)]
    perplexities = [perplexity(model, stream, w) for w in WINDOWS]
    with open(os.path.join(HERE, "golden.json"), "w", encoding="utf-8") as f:
        f.write('{\n "about": ' + json.dumps(about, indent=2) + ",\n")
        f.write(f' "generations": {lines(generations)},\n "perplexities": {lines(perplexities)},\n')
        f.write(f' "encode": {lines(encode)},\n "decode": {lines(decode)}\n}}\n')
    for g in generations:
        print(f"{g['name']}: {len(g['ids'])} + {len(g['greedy_ids'])} tokens, least margin {min(g['greedy_margins']):.4f}")
        print(g["greedy_text"], end="\n\n")
    for p in perplexities:
        print(p)


if __name__ == "__main__":
    main()
