# SPDX-License-Identifier: Apache-2.0
"""What requests give, under vLLM's names."""
from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Logprob:
    """Of one token.

    `logprob`: natural logarithm of the model's probability, before any sampling parameter.
    `rank`: 1 for the likeliest token; None where it is not among the alternatives.
    """
    logprob: float
    rank: int | None
    decoded_token: str


@dataclass(slots=True)
class CompletionOutput:
    """An answer, or in a stream what a token adds to it.

    `index`: which of the `n` answers.
    `cumulative_logprob`: of its tokens so far; None where no log-probabilities were asked for.
    `logprobs`: for each token its own and its alternatives, by token id.
    `finish_reason`: None while it goes on; "stop" (end token, stop token or stop text), "length"
    (`max_tokens`, or the context is full), "abort" (cancelled), "deadline".
    `stop_reason`: the stop text or the stop token of the request that ended it; else None.
    """
    index: int
    text: str
    token_ids: list[int]
    cumulative_logprob: float | None
    logprobs: list[dict[int, Logprob]] | None
    finish_reason: str | None = None
    stop_reason: int | str | None = None

    def finished(self) -> bool:
        return self.finish_reason is not None


@dataclass(slots=True)
class RequestMetrics:
    """Times in seconds since the epoch; None: not yet."""
    arrival_time: float
    first_token_time: float | None = None
    finished_time: float | None = None


@dataclass(slots=True)
class RequestOutput:
    """A request with its answers, `outputs`, in the order of their `index`.

    `prompt`: None where it was given as token ids.
    `prompt_logprobs`: where asked for; None for the first token, which has none before it.
    """
    request_id: str
    prompt: str | None
    prompt_token_ids: list[int]
    prompt_logprobs: list[dict[int, Logprob] | None] | None
    outputs: list[CompletionOutput]
    finished: bool
    metrics: RequestMetrics = field(repr=False)


@dataclass(slots=True)
class Score:
    """How likely a continuation is behind its prompt.

    `logprob`: the sum of `token_logprobs`, natural logarithms.
    `token_logprobs`: of each of `token_ids`, the continuation's, given all before it.
    `is_greedy`: each of them is the likeliest token at its place.
    """
    logprob: float
    token_logprobs: list[float]
    token_ids: list[int]
    is_greedy: bool
