# SPDX-License-Identifier: Apache-2.0
"""What a request asks for, under vLLM's names."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class StructuredOutputsParams:
    """What an answer looks like: one of these at most.

    `json`: it is a JSON text of this schema (draft 7 or 2020-12), a mapping or its text.
    `regex`: all of it matches this expression of ECMA-262.
    `choice`: it is one of these texts.
    `grammar`: it is a text of this grammar, in GBNF or Lark.
    `json_object`: it is any JSON object.
    """
    json: str | Mapping[str, Any] | None = None
    regex: str | None = None
    choice: Sequence[str] | None = None
    grammar: str | None = None
    json_object: bool = False


@dataclass(frozen=True, kw_only=True)
class SamplingParams:
    """How tokens are drawn, and when an answer ends.

    `temperature`, `top_p`, `top_k`, `min_p`, `typical_p` and `repetition_penalty` are the model's
    own where they are None: those of its generation_config.json, else vLLM's (temperature 1, no
    filter). Everything else has vLLM's defaults. Values outside their ranges are INGOT-E6006.
    """
    n: int = 1
    """Answers, at most 128; each has a seed of its own."""
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    repetition_penalty: float | None = None
    temperature: float | None = None
    """0: the likeliest token each time."""
    top_p: float | None = None
    top_k: int | None = None
    """0: all tokens."""
    min_p: float | None = None
    typical_p: float | None = None
    seed: int | None = None
    """0 to 2**64-1; None: one that nobody foresees."""
    stop: str | Sequence[str] | None = None
    """Texts that end the answer."""
    stop_token_ids: Sequence[int] | None = None
    ignore_eos: bool = False
    max_tokens: int | None = 16
    """Of an answer; None: up to the context."""
    min_tokens: int = 0
    """Before so many nothing ends the answer."""
    logprobs: int | None = None
    """Alternatives of each token, 0 to 20."""
    prompt_logprobs: int | None = None
    """The same for the prompt's tokens."""
    skip_special_tokens: bool = True
    """Leave special tokens out of the text."""
    include_stop_str_in_output: bool = False
    logit_bias: Mapping[int, float] | None = None
    """Added to the logits of tokens, at most 304."""
    allowed_token_ids: Sequence[int] | None = None
    """The only tokens that may come."""
    bad_words: Sequence[str] | None = None
    """Texts that may not come."""
    no_repeat_ngram_size: int = 0
    """Above 0: no run of so many tokens comes twice."""
    structured_outputs: StructuredOutputsParams | None = None
    priority: int = 0
    """Lower ones are served first."""
    deadline: float = 0.0
    """Seconds until the answer is ended; 0: none."""
    cache_salt: str | None = None
    """Prompts share cached work with those of an equal one alone."""
