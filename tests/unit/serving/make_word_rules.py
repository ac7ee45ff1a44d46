# SPDX-License-Identifier: Apache-2.0
"""How Hugging Face's tokenizers cuts texts by the rules that GGUF files name, as lengths in bytes.

Writes word_rules.json beside it; run it where the package tokenizers is installed. The expressions
are those of the models' own tokenizer.json, as `src/llama-vocab.cpp` of llama.cpp quotes them.
"""
import json
import pathlib

from tokenizers import Regex, pre_tokenizers

TEXTS = [
    "Hello World", "  two  spaces ", "it's WE'RE They'll don'T", "camelCaseWord HTTPServer ABCdef",
    "1 22 333 4444 55555 x1y22", "a\n\nb\r\nc \n d\t\te", "end with spaces   ", "\n \n\n \n",
    "!!?? ...;; x=y+z*(1-2)", "\u00e9t\u00e9 \u00c9COLE na\u00efve", "\u4f60\u597d\u4e16\u754c abc",
    "\u3053\u3093\u306b\u3061\u306f \u30ab\u30bf\u30ab\u30ca\u3002", "\ud55c\uad6d\uc5b4 \ud14d",
    "\u0440\u0443\u0441\u0441\u043a\u0438\u0439 \u042f\u0417\u042b\u041a",
    "e\u0301a\u0300 \u0938\u094d\u0924\u0947",
    "\uff01\uff08\uff41\uff09 \u2018q\u2019 \u3001",
    "\U0001f999 llama \U0001d400\U0001d41a \u01c5x",
    "path/to/file.py // comment", "$5.00 \u20ac7 \u00bd \u0663\u0664",
    "#include <a.h>\n  int x;\n",
    "\u2126\u212a \u10d0\u1c90 \ua64a\uab70", "@user_name [link](url) {a:b}",
    "\u00a0nbsp\u3000wide", "abc\u4f60\u597dDef \u6f22\u5b57\u4eee\u540dX \u4e2d'll",
]
CASED = ("A-Za-z\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u01bc-\u01bf\u01c4-\u0293"
         "\u0295-\u02af\u0370-\u0373\u0376\u0377\u037b-\u037d\u037f\u0386\u0388-\u038a\u038c"
         "\u038e-\u03a1\u03a3-\u03f5\u03f7-\u0481\u048a-\u052f\u0531-\u0556\u10a0-\u10c5"
         "\u13a0-\u13f5\u13f8-\u13fd\u1c90-\u1cba\u1cbd-\u1cbf\u1d00-\u1d2b\u1d6b-\u1d77"
         "\u1d79-\u1d9a\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f59"
         "\u1f5b\u1f5d\u1f5f-\u1f7d\u1f80-\u1fb4\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc"
         "\u1fd0-\u1fd3\u1fd6-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-\u1ffc\u2102\u2107"
         "\u210a-\u2113\u2115\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2134\u2139"
         "\u213c-\u213f\u2145-\u2149\u214e\u2183\u2184\u2c00-\u2c7b\u2c7e-\u2ce4\u2ceb-\u2cee"
         "\u2cf2\u2cf3\ua640-\ua66d\ua680-\ua69b\ua722-\ua76f\ua771-\ua787\ua78b-\ua78e"
         "\uab70-\uabbf\ufb00-\ufb06\ufb13-\ufb17\uff21-\uff3a\uff41-\uff5a\U00010400-\U0001044f"
         "\U000104b0-\U000104d3\U000104d8-\U000104fb\U00010c80-\U00010cb2\U00010cc0-\U00010cf2"
         "\U000118a0-\U000118df\U0001e900-\U0001e943")
LARGE, SMALL = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
TEKKEN = (rf"[^\r\n\p{{L}}\p{{N}}]?{LARGE}*{SMALL}+|[^\r\n\p{{L}}\p{{N}}]?{LARGE}+{SMALL}*|\p{{N}}|"
          r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
DEEPSEEK_V3 = (r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?"""
               r"[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
KIMI_LARGE, KIMI_SMALL = (rf"{letters[:-1]}&&[^\p{{Han}}]]" for letters in (LARGE, SMALL))
SHORT = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
KIMI = (rf"[\p{{Han}}]+|[^\r\n\p{{L}}\p{{N}}]?{KIMI_LARGE}*{KIMI_SMALL}+{SHORT}|"
        rf"[^\r\n\p{{L}}\p{{N}}]?{KIMI_LARGE}+{KIMI_SMALL}*{SHORT}|\p{{N}}{{1,3}}|"
        r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
SEED_CODER = (rf"{CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1}}|"
              r" ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+")
EXAONE_MOE = (rf"{CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?(?:\p{{L}}\p{{M}}*(?: \p{{L}}\p{{M}}*)*)+|"
              r"\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+")
EAST_ASIAN = "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"


def cut(*regexes, gpt2=False):
    return pre_tokenizers.Sequence([
        *(pre_tokenizers.Split(Regex(regex), "isolated") for regex in regexes),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=gpt2)])


def digits():
    """Single digits are steps of their own in these models' files."""
    return pre_tokenizers.Digits(individual_digits=True)


def with_digits(rule, gpt2=False):
    return pre_tokenizers.Sequence([
        rule, digits(), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=gpt2)])


RULES = {
    "tekken": cut(TEKKEN),
    "kimi-k2": cut(KIMI),
    "seed-coder": cut(SEED_CODER),
    "exaone-moe": cut(EXAONE_MOE),
    "refact": pre_tokenizers.Sequence([
        digits(), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)]),
    "deepseek-llm": with_digits(pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(regex), "isolated") for regex in (
            r"[\r\n]", rf"\s?[{CASED}]+",
            "\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+", r"\s+$",
            EAST_ASIAN)])),
    "deepseek-coder": with_digits(pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(regex), "isolated") for regex in (
            r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", EAST_ASIAN)])),
    "deepseek-v3": cut(r"\p{N}{1,3}", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+", DEEPSEEK_V3),
}


def main():
    """Of a byte-level step, every character stands for a byte."""
    lengths = {name: [[len(piece) for piece, _ in rule.pre_tokenize_str(text)] for text in TEXTS]
               for name, rule in RULES.items()}
    for rows in lengths.values():
        for text, row in zip(TEXTS, rows):
            assert sum(row) == len(text.encode()), text
    rows = ",\n".join(f' "{name}": {json.dumps(row)}' for name, row in lengths.items())
    path = pathlib.Path(__file__).with_name("word_rules.json")
    path.write_text(f'{{"texts": {json.dumps(TEXTS)},\n{rows}}}\n')


if __name__ == "__main__":
    main()
