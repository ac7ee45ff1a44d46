# SPDX-License-Identifier: Apache-2.0
"""A model that generates: blocking, streaming and for asyncio."""
from __future__ import annotations

import itertools
import json
import os
import pathlib
import re
import weakref
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Literal, overload

from . import _programs, _structures
from ._answers import Answers, TokenTexts
from ._engine import Engine
from ._library import load
from ._logits import logits_of
from ._mailbox import Mailbox
from ._prompts import Prompt, Start, params_of_each, read_pictures, several, tokenize_request
from ._requests import NativeRequest, set_integer
from ._turns import Turn
from .chat import ChatRequest, ChatStream, completion
from .errors import IngotError
from .facts import EngineInfo, MemoryPlan, Statistics
from .outputs import RequestOutput, Score
from .params import SamplingParams
from .stream import Stream

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

Message = Mapping[str, Any]
"""As in OpenAI's API: "role", "content", ..."""

_FLAGS = {"simulate_strictly": "strict"}  # of ingot-server, where it has another name
_QUEUE_LIMIT = 1 << 20  # A list of prompts is queued at once.


class LLM:
    """An opened engine. Its methods may be called from any threads and asyncio loops.

    `model`: an engine file, as `ingot build` makes; or a model's folder, its GGUF file, or its name
    on a Hub, as "ORG/REPO" or "ORG/REPO:Q4_K_M", which the program `ingot` fetches. Of these it
    builds an engine where that was not done yet, with `build_options`, as ["--recipe", "int4"],
    and keeps it. `library`: another libingot.so than the package's.
    `queue_limit`: answers that may wait (INGOT-E6030). All else are the limits of `ingot_options`
    in `ingot.h`, under its names; None leaves a choice to the engine and the machine. `memory` is
    in bytes and holds weights, activations and KV cache together.

    It is a context manager; the end of `with` is `close()`. In the child of a fork it is of no use
    (INGOT-E6081).
    """

    def __init__(self, model: str | os.PathLike[str], *,
                 memory: int | None = None,
                 max_sequences: int | None = None,
                 max_context: int | None = None,
                 max_batch_tokens: int | None = None,
                 max_logit_rows: int | None = None,
                 threads: int | None = None,
                 target: str | None = None,
                 verify_weights: bool = False,
                 simulate: str | None = None,
                 simulated_sms: int | None = None,
                 simulate_strictly: bool = False,
                 guaranteed_no_evict: bool = False,
                 memory_fraction: float | None = None,
                 kv_blocks: int | None = None,
                 max_step_ms: int | None = None,
                 queue_limit: int = _QUEUE_LIMIT,
                 build_options: Sequence[str] = (),
                 library: str | os.PathLike[str] | None = None) -> None:
        limits = {
            "memory": memory, "max_sequences": max_sequences, "max_context": max_context,
            "max_batch_tokens": max_batch_tokens, "max_logit_rows": max_logit_rows,
            "threads": threads, "target": target, "verify_weights": verify_weights,
            "simulate": simulate, "simulated_sms": simulated_sms,
            "simulate_strictly": simulate_strictly, "guaranteed_no_evict": guaranteed_no_evict,
            "memory_fraction": memory_fraction, "kv_blocks": kv_blocks, "max_step_ms": max_step_ms}
        self._library = load(library)
        self._limits = {name: value for name, value in limits.items() if value}
        self._options = self._read_limits()
        self.path, self.name = _engine_of(model, build_options)
        self._engine = Engine(self._library, self.path, self._options, queue_limit)
        self._texts = TokenTexts(self._engine)
        self._numbers = itertools.count()
        # Also at the end of the program, and of this object.
        self._close = weakref.finalize(self, self._engine.close)

    def close(self) -> None:
        """Ends all requests and gives the memory back. Again: nothing."""
        self._close()

    def __enter__(self) -> LLM:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read_limits(self) -> _structures.Options:
        options = self._library.initialised(_structures.Options, "ingot_options_init_v2")
        for name, value in self._limits.items():
            if isinstance(value, str):
                setattr(options, name, value.encode())
            elif isinstance(value, float):
                setattr(options, name, value)
            else:
                set_integer(options, name, value)
        return options

    # ---- What it is --------------------------------------------------------------------------

    @property
    def info(self) -> EngineInfo:
        """Names and tokens of the engine."""
        with self._engine as engine:
            info = self._library.filled(_structures.Info, "ingot_get_info_v2", engine.handle)
            return EngineInfo(info.name.decode(), info.architecture.decode(),
                              info.target.decode(), info.compiler.decode(), info.vocabulary,
                              info.bos if info.bos >= 0 else None,
                              tuple(info.eos[:info.eos_count]), info.has_tokenizer)

    @property
    def memory_plan(self) -> MemoryPlan:
        """Bytes that are allocated, and limits."""
        with self._engine as engine:
            plan = self._library.filled(_structures.MemoryPlan, "ingot_get_memory_plan_v2",
                                        engine.handle)
        return MemoryPlan(**{field.name: getattr(plan, field.name)
                             for field in fields(MemoryPlan)})

    def statistics(self) -> Statistics:
        """Of the engine's requests, now."""
        found = self._engine.statistics()
        return Statistics(**{field.name: getattr(found, field.name)
                             for field in fields(Statistics)})

    # ---- Tokens and text ---------------------------------------------------------------------

    def tokenize(self, text: str, *, add_special: bool = True,
                 parse_special: bool = False) -> list[int]:
        """The ids of a text.

        `add_special`: with the model's prefix. `parse_special`: special tokens that the text
        spells out are recognised.
        """
        data = text.encode()
        with self._engine as engine:
            write = self._library.waiting.ingot_tokenize
            return self._library.ids(len(data) + 8, lambda room, size, count: write(
                engine.handle, data, len(data), add_special, parse_special, room, size, count))

    def detokenize(self, token_ids: Sequence[int], *, skip_special: bool = False) -> str:
        """The text of ids. INGOT-E6007 for one that stands for none."""
        return self._texts.of(token_ids, skip_special)

    def apply_chat_template(self, messages: Sequence[Message], *, template: str | None = None,
                            **fields_: Any) -> str:
        """The prompt that a conversation becomes. `fields_`: others of a chat request, as `tools`,
        `add_generation_prompt`, `chat_template_kwargs`. `template`: which of the engine's."""
        body = json.dumps({"messages": messages, **fields_}).encode()
        name = template.encode() if template is not None else None
        with self._engine as engine:
            write = self._library.waiting.ingot_apply_chat_template
            return self._library.text(2 * len(body) + 4096, lambda room, size, count: write(
                engine.handle, body, len(body), name, room, size, count))

    def tokenize_chat(self, messages: Sequence[Message], *, template: str | None = None,
                      **fields_: Any) -> list[int]:
        """The ids of that prompt; what the conversation spells out is text, never a special
        token."""
        body = json.dumps({"messages": messages, **fields_}).encode()
        name = template.encode() if template is not None else None
        with self._engine as engine:
            write = self._library.waiting.ingot_tokenize_chat
            return self._library.ids(len(body) + 1024, lambda room, size, count: write(
                engine.handle, body, len(body), name, room, size, count))

    # ---- Answers -----------------------------------------------------------------------------

    def generate(self, prompts: Prompt | Sequence[Prompt],
                 sampling_params: SamplingParams | Sequence[SamplingParams] | None = None
                 ) -> list[RequestOutput]:
        """Answers one prompt or many, which run together; in their order.

        `sampling_params`: for all, or one for each. A text gets the model's prefix, and its special
        tokens are recognised. Raises the error of the first request that is refused or fails, and
        ends the others.
        """
        starts = [self._read_prompt(prompt) for prompt in several(prompts)]
        return self._all(starts, params_of_each(sampling_params, len(starts), SamplingParams()))

    def stream(self, prompt: Prompt, sampling_params: SamplingParams | None = None) -> Stream:
        """Answers one prompt token by token, for `for` and for `async for`."""
        return self._start(self._read_prompt(prompt), sampling_params or SamplingParams())

    def chat(self, messages: Sequence[Message] | Sequence[Sequence[Message]],
             sampling_params: SamplingParams | Sequence[SamplingParams] | None = None, *,
             tools: Sequence[Mapping[str, Any]] | None = None,
             template: str | None = None, **fields_: Any) -> list[RequestOutput]:
        """Answers one conversation or many, as `generate` does prompts. Without `sampling_params`
        nothing but the model and the context ends an answer. All else: as apply_chat_template."""
        conversations: Sequence[Any] = messages
        if messages and isinstance(messages[0], Mapping):
            conversations = [messages]
        if tools is not None:
            fields_["tools"] = tools
        starts = [self._read_conversation(one, template, fields_) for one in conversations]
        return self._all(starts, params_of_each(sampling_params, len(starts),
                                                SamplingParams(max_tokens=None)))

    @overload
    def create_chat_completion(self, messages: Sequence[Message], *, stream: Literal[False] = False,
                               model: str | None = None, **fields_: Any) -> dict[str, Any]: ...

    @overload
    def create_chat_completion(self, messages: Sequence[Message], *, stream: Literal[True],
                               model: str | None = None, **fields_: Any) -> ChatStream: ...

    def create_chat_completion(self, messages: Sequence[Message], *, stream: bool = False,
                               model: str | None = None, **fields_: Any
                               ) -> dict[str, Any] | ChatStream:
        """Answers a conversation in the form of OpenAI's API: its `chat.completion`, or with
        `stream` its chunks, for `for` and for `async for`.

        `fields_`: others of the request's body, as `max_tokens`, `temperature`, `stop`, `tools`,
        `response_format`, `logprobs`, and vLLM's, as `min_p`, `chat_template_kwargs`. `model`: what
        the answer calls the model.
        """
        request = ChatRequest(fields_)
        turn = Turn(self._engine,
                    json.dumps({"messages": messages, **request.conversation}).encode())
        answer = self._start(turn, request.params, whole=not stream)
        name = model or self.name
        if stream:
            return ChatStream(answer, turn, name, request.includes_usage)
        return completion(answer.result(), turn, name)

    # ---- Measuring ---------------------------------------------------------------------------

    def score(self, prompt: str | Sequence[int], continuation: str | Sequence[int]) -> Score:
        """How likely `continuation` is behind `prompt`, both texts or both ids.

        Texts are split into tokens together, so that a space at the prompt's end may belong to the
        continuation's first token. Both together have
        at most `max_context` tokens.
        """
        return self.scores([(prompt, continuation)])[0]

    def scores(self, pairs: Sequence[tuple[str | Sequence[int], str | Sequence[int]]]
               ) -> list[Score]:
        """The same of many, which run together."""
        split = [self._continuation_of(*pair) for pair in pairs]
        outputs = self._all([Start(None, ids) for _, ids in split],
                            [SamplingParams(max_tokens=1, prompt_logprobs=1)] * len(split))
        found = []
        for (begin, ids), output in zip(split, outputs):
            scored = output.prompt_logprobs or []
            entries = [entry[token] for token, entry in zip(ids[begin:], scored[begin:])
                       if entry is not None]
            values = [one.logprob for one in entries]
            found.append(Score(sum(values), values, ids[begin:],
                               all(one.rank == 1 for one in entries)))
        return found

    def _continuation_of(self, prompt: str | Sequence[int], continuation: str | Sequence[int]
                         ) -> tuple[int, list[int]]:
        """Where the continuation begins in the ids of both."""
        if isinstance(prompt, str) and isinstance(continuation, str):
            known = self.tokenize(prompt, parse_special=True)
            ids = self.tokenize(prompt + continuation, parse_special=True)
        elif isinstance(prompt, str) or isinstance(continuation, str):
            raise TypeError("prompt and continuation are both texts or both token ids")
        else:
            known = list(prompt)
            ids = [*known, *continuation]
        if not known:
            raise IngotError("INGOT-E6003", "the prompt has no tokens; give one, or the model's "
                             "first token")
        return len(known), ids

    def logits(self, prompt: Prompt) -> NDArray[numpy.float32]:
        """The logits behind each token of the prompt: numpy, [tokens, vocabulary], f32.

        The engine is opened once more meanwhile, for one sequence: on a CPU with the same mapped
        weights. Needs numpy.
        """
        start = self._read_prompt(prompt)
        if start.pictures:
            raise TypeError("logits are of prompts without pictures")
        options = self._read_limits()
        options.memory = options.kv_blocks = 0
        options.max_sequences = 1
        return logits_of(self._library, self.path, options, self.info.vocabulary,
                         start.ids)

    # ---- Serving -----------------------------------------------------------------------------

    def serve(self, *, host: str = "127.0.0.1", port: int = 8000,
              options: Sequence[str] = ()) -> AbstractContextManager[str]:
        """Starts the program `ingot-server` with this engine and its limits, for the time of a
        `with`, which gets the URL. At its end the server finishes what it has accepted.

        `port`: 0 for one that is free. `options`: more of the program's. It has memory of its own.
        """
        words = [self.path, "--host", host, "--port", str(port)]
        if "--served-model-name" not in options:
            words += ["--served-model-name", self.name]
        for name, value in self._limits.items():
            flag = "--" + _FLAGS.get(name, name.replace("_", "-"))
            words += [flag] if value is True else [flag, str(value)]
        return _programs.serving([*words, *options])

    def _read_prompt(self, prompt: Prompt) -> Start:
        pictures = []
        if isinstance(prompt, Mapping):
            fields_ = dict(prompt)
            if "multi_modal_data" in fields_:
                pictures = read_pictures(self._engine, fields_.pop("multi_modal_data"))
            if set(fields_) == {"prompt"}:
                prompt = fields_["prompt"]
            elif set(fields_) == {"prompt_token_ids"}:
                prompt = fields_["prompt_token_ids"]
            else:
                raise TypeError('a prompt has "prompt" or "prompt_token_ids", maybe '
                                '"multi_modal_data", and nothing else')
        text = prompt if isinstance(prompt, str) else None
        handles = [picture.handle for picture in pictures]
        if text is None:
            ids: Sequence[int] = prompt  # type: ignore[assignment]
            return Start(None, list(ids), handles, pictures)
        if pictures:
            return Start(text, tokenize_request(self._engine, text, pictures), handles, pictures)
        return Start(text, self.tokenize(text, parse_special=True))

    def _read_conversation(self, messages: Sequence[Message], template: str | None,
                           fields_: Mapping[str, Any]) -> Start:
        body = json.dumps({"messages": messages, **fields_}).encode()
        turn = Turn(self._engine, body, template)
        return Start(self.apply_chat_template(messages, template=template, **fields_),
                     turn.token_ids(), turn.pictures(), turn)

    def _all(self, starts: Sequence[Start],
             params: Sequence[SamplingParams]) -> list[RequestOutput]:
        streams: list[Stream] = []
        try:
            for start, own in zip(starts, params):
                streams.append(self._start(start, own, whole=True))
            return [stream.result() for stream in streams]
        except BaseException:
            for stream in streams:
                stream.close()
            raise

    def _start(self, start: Start | Turn, params: SamplingParams, whole: bool = False) -> Stream:
        """`whole`: who reads it waits for its end."""
        with self._engine as engine:
            request = NativeRequest(self._library, engine.handle, params)
        if isinstance(start, Turn):
            text, ids, native = None, start.token_ids(), request.take_turn(start)
        else:
            text, ids, native = start.text, start.ids, request.take(start)
        answers = Answers(str(next(self._numbers)), text, ids, params, self._texts)
        mailbox = Mailbox(params.n, whole)
        self._engine.submit(native, mailbox)
        return Stream(self, self._engine, mailbox, answers)


def _engine_of(model: str | os.PathLike[str], build_options: Sequence[str]) -> tuple[str, str]:
    """The path of a model's engine, built where it is none yet, and what the model is called."""
    path = pathlib.Path(model)
    if isinstance(model, str) and _is_name(model):
        return _programs.keep(model, build_options), model
    if path.is_dir() or _is_gguf(path):
        name = path.resolve().name if path.is_dir() else path.stem
        return _programs.keep(os.fspath(path), build_options), name
    if build_options:
        raise ValueError("build_options are for models, and this is an engine")
    return os.fspath(path), path.stem


def _is_name(model: str) -> bool:
    """Whether it is no path but a model's name, as `ingot` would have it."""
    name = re.fullmatch(r"([\w.-]+)/([\w.-]+)(@[^:]+)?(:.+)?", model, re.ASCII)
    return model.startswith("https://") or name is not None and not (
        os.path.exists(model) or os.path.isdir(name[1]) or model.endswith(".ingot"))


def _is_gguf(path: pathlib.Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) == b"GGUF"
    except OSError:  # the library says more of it
        return False
