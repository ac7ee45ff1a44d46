# SPDX-License-Identifier: Apache-2.0
"""Chats in the form of OpenAI's API."""
from __future__ import annotations

import copy
import time
import uuid
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

from . import _structures
from ._turns import AnswerReader, Part, Turn
from .errors import out_of_range
from .outputs import CompletionOutput, Logprob, RequestOutput
from .params import SamplingParams, StructuredOutputsParams
from .stream import Stream

Body = dict[str, Any]

# Fields that are the same in a SamplingParams.
_SAME = ("temperature", "top_p", "top_k", "min_p", "presence_penalty", "frequency_penalty",
         "repetition_penalty", "stop", "seed", "logit_bias", "n", "min_tokens", "ignore_eos",
         "stop_token_ids", "deadline", "priority", "cache_salt")
# Fields that the template is given.
_CONVERSATION = ("documents", "add_generation_prompt", "continue_final_message",
                 "chat_template_kwargs", "reasoning_effort", "parallel_tool_calls")


class ChatRequest:
    """The fields of a request, read. A field that is not known is a TypeError."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        left = {name: value for name, value in fields.items() if value is not None}
        self.conversation = {name: left.pop(name) for name in _CONVERSATION if name in left}
        tools, choice = left.pop("tools", None), left.pop("tool_choice", "auto")
        if choice not in ("auto", "none"):
            raise out_of_range("tool_choice", choice, '"auto" or "none"')
        if tools and choice == "auto":
            self.conversation["tools"] = tools
        chosen = {name: left.pop(name) for name in _SAME if name in left}
        chosen["max_tokens"] = left.pop("max_tokens", None)
        chosen["max_tokens"] = left.pop("max_completion_tokens", chosen["max_tokens"])
        if "logit_bias" in chosen:
            chosen["logit_bias"] = {int(token): value
                                    for token, value in chosen["logit_bias"].items()}
        self.logprobs, top = left.pop("logprobs", False), left.pop("top_logprobs", 0)
        if top and not self.logprobs:
            raise out_of_range("top_logprobs", top, "0 where logprobs is not true")
        if self.logprobs:
            chosen["logprobs"] = top
        chosen["structured_outputs"] = _form_of(left.pop("response_format", {"type": "text"}))
        self.includes_usage = left.pop("stream_options", {}).get("include_usage", False)
        if left:
            raise TypeError(f"a chat has no field {next(iter(left))}")
        self.params = SamplingParams(**chosen)


def _form_of(form: Mapping[str, Any]) -> StructuredOutputsParams | None:
    """What `response_format` asks for."""
    if form.get("type") == "json_object":
        return StructuredOutputsParams(json_object=True)
    if form.get("type") == "json_schema":
        return StructuredOutputsParams(json=form["json_schema"]["schema"])
    if form.get("type") != "text":
        raise out_of_range("response_format", form, '"text", "json_object" or "json_schema"')
    return None


def _head(kind: str, model: str) -> Body:
    return {"id": f"chatcmpl-{uuid.uuid4().hex}", "object": kind, "created": int(time.time()),
            "model": model}


class _Answer:
    """One answer, as it is taken apart."""

    def __init__(self, turn: Turn, streamed: bool) -> None:
        self._reader = AnswerReader(turn, streamed)
        self._message: Body = {"role": "assistant", "content": "", "refusal": None}
        self._has_call = False

    def take(self, piece: CompletionOutput) -> list[Body]:
        """What a piece adds to the message."""
        return [delta for part in self._reader.take(piece.text, piece.finished())
                if (delta := self._delta(part))]

    def _delta(self, part: Part) -> Body:
        message, kind = self._message, part.kind
        if kind == _structures.PART_TEXT:
            message["content"] += part.text
            return {"content": part.text}
        if kind == _structures.PART_REASONING:
            # Clients know it by either name.
            names = ("reasoning", "reasoning_content")
            for name in names:
                message[name] = message.get(name, "") + part.text
            return dict.fromkeys(names, part.text)
        calls = message.setdefault("tool_calls", [])
        if kind == _structures.PART_CALL:
            calls.append({"id": part.id, "type": "function",
                          "function": {"name": part.text, "arguments": ""}})
            return {"tool_calls": [{"index": part.call, **copy.deepcopy(calls[-1])}]}
        if kind == _structures.PART_ARGUMENTS:
            calls[part.call]["function"]["arguments"] += part.text
            return {"tool_calls": [{"index": part.call, "function": {"arguments": part.text}}]}
        self._has_call |= part.whole
        return {}

    def message(self) -> Body:
        """All of it."""
        if not self._message["content"] and "tool_calls" in self._message:
            return {**self._message, "content": None}
        return self._message

    def finish_reason(self, answer: CompletionOutput) -> str | None:
        """As OpenAI's API names it. Whatever ended it: a call that is cut must not be taken for
        all that the model had to say."""
        if answer.finish_reason == "deadline":
            return "error"
        if answer.finish_reason != "stop":
            return answer.finish_reason
        return "length" if self._reader.is_cut() else "tool_calls" if self._has_call else "stop"


def _logprob(token: Logprob) -> Body:
    # A part of a character has no text of its own.
    data = None if "\N{REPLACEMENT CHARACTER}" in token.decoded_token \
        else list(token.decoded_token.encode())
    return {"token": token.decoded_token, "logprob": token.logprob, "bytes": data}


def _logprobs(answer: CompletionOutput) -> Body | None:
    """Those of an answer or a piece; a token's own stand first."""
    if answer.logprobs is None:
        return None
    content = []
    for tokens in answer.logprobs:
        top = [token for token in tokens.values() if token.rank is not None]
        top.sort(key=lambda token: token.rank or 0)
        content.append({**_logprob(next(iter(tokens.values()))),
                        "top_logprobs": [_logprob(token) for token in top]})
    return {"content": content, "refusal": None}


def _usage(output: RequestOutput) -> Body:
    prompt = len(output.prompt_token_ids)
    answers = sum(len(answer.token_ids) for answer in output.outputs)
    return {"prompt_tokens": prompt, "completion_tokens": answers,
            "total_tokens": prompt + answers}


def _choice(turn: Turn, answer: CompletionOutput) -> Body:
    read = _Answer(turn, False)
    read.take(answer)
    return {"index": answer.index, "message": read.message(), "logprobs": _logprobs(answer),
            "finish_reason": read.finish_reason(answer)}


def completion(output: RequestOutput, turn: Turn, model: str) -> Body:
    """A `chat.completion`."""
    return {**_head("chat.completion", model),
            "choices": [_choice(turn, answer) for answer in output.outputs],
            "usage": _usage(output)}


class ChatStream:
    """The `chat.completion.chunk`s of a chat, for `for` and for `async for`; it ends as a Stream
    does."""

    def __init__(self, stream: Stream, turn: Turn, model: str, includes_usage: bool) -> None:
        self._stream = stream
        self._turn = turn
        self._base = _head("chat.completion.chunk", model)
        self._includes_usage = includes_usage
        self._answers: dict[int, _Answer] = {}
        self._ready: deque[Body] = deque()
        self._end = self._last_chunks()

    def _chunk(self, index: int, delta: Body, logprobs: Body | None = None,
               finish: str | None = None) -> Body:
        return {**self._base, "choices": [{"index": index, "delta": delta, "logprobs": logprobs,
                                           "finish_reason": finish}],
                **({"usage": None} if self._includes_usage else {})}

    def _add(self, piece: CompletionOutput) -> None:
        if piece.index not in self._answers:
            self._answers[piece.index] = _Answer(self._turn, True)
            self._ready.append(self._chunk(piece.index, {"role": "assistant", "content": ""}))
        answer, logprobs = self._answers[piece.index], _logprobs(piece)
        deltas = answer.take(piece) or ([{}] if logprobs else [])
        for delta in deltas:
            self._ready.append(self._chunk(piece.index, delta, logprobs))
            logprobs = None  # They are told once.
        if piece.finished():
            self._ready.append(self._chunk(piece.index, {}, None, answer.finish_reason(piece)))

    def _last_chunks(self) -> Iterator[Body]:
        if self._includes_usage:
            yield {**self._base, "choices": [], "usage": _usage(self._stream.output)}

    def close(self) -> None:
        """Ends the request, if it has not ended."""
        self._stream.close()

    async def aclose(self) -> None:
        """As close()."""
        self.close()

    def __iter__(self) -> ChatStream:
        return self

    def __next__(self) -> Body:
        while not self._ready:
            piece = next(self._stream, None)
            if piece is None:
                return next(self._end)
            self._add(piece)
        return self._ready.popleft()

    def __aiter__(self) -> ChatStream:
        return self

    async def __anext__(self) -> Body:
        while not self._ready:
            piece = await anext(self._stream, None)
            if piece is None:
                for chunk in self._end:
                    return chunk
                raise StopAsyncIteration
            self._add(piece)
        return self._ready.popleft()
