# SPDX-License-Identifier: Apache-2.0
"""From the events of a request to its answers."""
from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence

from . import _structures
from ._engine import Engine
from ._mailbox import Event
from .outputs import CompletionOutput, Logprob, RequestMetrics, RequestOutput
from .params import SamplingParams

FINISH_REASONS = {
    _structures.FINISH_NONE: None,
    _structures.FINISH_END_TOKEN: "stop",
    _structures.FINISH_STOP_STRING: "stop",
    _structures.FINISH_LENGTH: "length",
    _structures.FINISH_CONTEXT: "length",
    _structures.FINISH_CANCELLED: "abort",
    _structures.FINISH_DEADLINE: "deadline",
}


class TokenTexts:
    """Texts of token ids, alone and in a row."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._known: dict[int, str] = {}

    def of(self, ids: Sequence[int], skip_special: bool) -> str:
        array = (ctypes.c_int32 * len(ids))(*ids)
        with self._engine as engine:
            write = engine.library.waiting.ingot_detokenize
            return engine.library.text(8 * len(ids) + 16, lambda room, size, count: write(
                engine.handle, array, len(ids), skip_special, room, size, count))

    def of_one(self, token: int) -> str:
        """As within a text: with the space that some tokenizers drop from the first token."""
        known = self._known.get(token)
        if known is None:
            alone = self.of([token], False)
            known = self.of([token, token], False).removeprefix(alone)
            self._known[token] = known
        return known


class Answers:
    """The answers of a request, as they grow."""

    def __init__(self, request_id: str, prompt: str | None, prompt_ids: list[int],
                 params: SamplingParams, texts: TokenTexts) -> None:
        self._params = params
        self._texts = texts
        self._pieces: list[list[str]] = [[] for _ in range(params.n)]
        self._unended = params.n
        measured = params.logprobs is not None
        self.request = RequestOutput(
            request_id, prompt, prompt_ids, None,
            [CompletionOutput(index, "", [], 0.0 if measured else None, [] if measured else None)
             for index in range(params.n)], False, RequestMetrics(time.time()))

    def add(self, event: Event) -> CompletionOutput | None:
        """What the event adds to its answer, if anything. Raises the error of one that failed."""
        if event.error is not None:
            raise event.error
        if event.prompt_logprobs:
            self.request.prompt_logprobs = [None] + [
                self._logprobs(*entry) for entry in event.prompt_logprobs[1:]]
        finish = FINISH_REASONS[event.finish]
        if event.token < 0 and not event.text and finish is None:
            return None
        whole = self.request.outputs[event.choice]
        piece = CompletionOutput(event.choice, event.text, [], None, None, finish)
        if event.token >= 0:
            self._add_token(event, whole, piece)
        if event.text:
            self._pieces[event.choice].append(event.text)
        piece.cumulative_logprob = whole.cumulative_logprob
        if finish is not None:
            self._end(event, whole, piece)
        return piece

    def _add_token(self, event: Event, whole: CompletionOutput, piece: CompletionOutput) -> None:
        if self.request.metrics.first_token_time is None:
            self.request.metrics.first_token_time = event.time
        piece.token_ids.append(event.token)
        whole.token_ids.append(event.token)
        if whole.logprobs is not None and whole.cumulative_logprob is not None:
            piece.logprobs = [self._logprobs(event.token, event.logprob, event.top)]
            whole.logprobs += piece.logprobs
            whole.cumulative_logprob += event.logprob

    def _end(self, event: Event, whole: CompletionOutput, piece: CompletionOutput) -> None:
        whole.text = "".join(self._pieces[event.choice])
        whole.finish_reason = piece.finish_reason
        whole.stop_reason = piece.stop_reason = self._stop_reason(event, whole)
        self._unended -= 1
        if not self._unended:
            self.request.finished = True
            self.request.metrics.finished_time = event.time

    def _stop_reason(self, event: Event, whole: CompletionOutput) -> int | str | None:
        if event.finish == _structures.FINISH_END_TOKEN:
            ended_by = whole.token_ids[-1] if whole.token_ids else None
            return ended_by if ended_by in (self._params.stop_token_ids or ()) else None
        if event.finish != _structures.FINISH_STOP_STRING:
            return None
        stops = self._params.stop
        stops = [stops] if isinstance(stops, str) else stops or []
        if len(stops) == 1:
            return stops[0]
        if self._params.include_stop_str_in_output:
            found = [stop for stop in stops if whole.text.endswith(stop)]
        else:
            text = self._texts.of(whole.token_ids, self._params.skip_special_tokens)
            found = [stop for stop in stops if text.startswith(stop, len(whole.text))]
        return max(found, key=len, default=None)

    def _logprobs(self, token: int, logprob: float,
                  top: list[tuple[int, float]]) -> dict[int, Logprob]:
        """The token's own first, then its alternatives."""
        found = {token: Logprob(logprob, None, self._texts.of_one(token))}
        for rank, (other, value) in enumerate(top, 1):
            found[other] = Logprob(value, rank, self._texts.of_one(other))
        return found
