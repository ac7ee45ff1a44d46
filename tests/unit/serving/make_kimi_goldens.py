# SPDX-License-Identifier: Apache-2.0
"""How tiktoken takes random texts apart as Kimi's tokenizer calls it, with a small vocabulary.

Writes kimi_goldens.json beside it; run it where the packages tiktoken and tokenizers are. The ranks
are pairs of a few hundred words, merged as training would; the last is that of Kimi's files.
"""
import base64
import collections
import json
import pathlib
import random

import tiktoken
from make_word_rules import KIMI

LAST = 163583
POOLS = ["abcdefghij", "ABCDEFGH", "0123456789", "\u4f60\u597d\u4e16\u754c\u6f22\u5b57\u4e2d",
         "\u3042\u3044\u30ab\u30bf", "\ud55c\uad6d\uc5b4", "\u0431\u0434\u0416\u042f",
         "\u00e9\u00c9\u00df\u01c5", "e\u0301a\u0300", "    ", "\t \u3000", "\r\n", "!?.,;'\"()",
         "\U0001f999\u20ac\u2126"]
PHRASES = ["'s", "'LL", "n't", " the", "ing", "\u3002", "\u3006\u3007", "iPhone", "HTTPServer"]


def text(numbers):
    parts = []
    for _ in range(numbers.randint(1, 9)):
        pool = numbers.choice(POOLS)
        parts.append(numbers.choice(PHRASES) if numbers.random() < 0.2 else
                     "".join(numbers.choices(pool, k=numbers.randint(1, 5))))
    return "".join(parts)


def trained(words, count):
    """The bytes, and `count` tokens that the most frequent pairs of neighbours become."""
    ranks = [bytes([byte]) for byte in range(256)]
    split = [[bytes([byte]) for byte in word] for word in words]
    for _ in range(count):
        pairs = collections.Counter(pair for word in split for pair in zip(word, word[1:]))
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        merged = b"".join(best)
        ranks.append(merged)
        for word in split:
            at = 0
            while at + 1 < len(word):
                if (word[at], word[at + 1]) == best:
                    word[at:at + 2] = [merged]
                at += 1
    return ranks


def main():
    numbers = random.Random(60)
    words = [text(numbers).encode() for _ in range(400)]
    tokens = trained(words, 199)
    ranks = {token: rank for rank, token in enumerate(tokens[:-1])}
    ranks[tokens[-1]] = LAST
    assert len(ranks) == len(tokens)
    encoding = tiktoken.Encoding("kimi", pat_str=KIMI, mergeable_ranks=ranks, special_tokens={})
    texts = [text(numbers) for _ in range(120)]
    assert all(encoding.decode(encoding.encode(case)) == case for case in texts)
    rows = [json.dumps([case, encoding.encode(case)]) for case in texts]
    spelled = [base64.b64encode(token).decode() for token in tokens[256:]]
    body = ",\n".join(rows)
    pathlib.Path(__file__).with_name("kimi_goldens.json").write_text(
        f'{{"tokens": {json.dumps(spelled)},\n "cases": [\n{body}]}}\n')


if __name__ == "__main__":
    main()
