# SPDX-License-Identifier: Apache-2.0
"""Parameters as the structures of `ingot.h`."""
from __future__ import annotations

import ctypes
import json
from collections.abc import Sequence
from typing import Any

from . import _structures
from ._library import Library
from ._prompts import Start
from ._turns import Turn
from .errors import IngotError, out_of_range
from .params import SamplingParams, StructuredOutputsParams


def set_integer(structure: ctypes.Structure, name: str, value: int) -> None:
    """Sets a field, which ctypes would cut silently. INGOT-E6006."""
    setattr(structure, name, value)
    if getattr(structure, name) != value:
        raise out_of_range(name, value, "an integer that the library's field holds")


def token_ids(name: str, ids: Sequence[int]) -> Any:
    """An array of them."""
    array = (ctypes.c_int32 * len(ids))(*ids)
    if any(array[i] != token for i, token in enumerate(ids)):
        raise IngotError("INGOT-E6007", f"{name} has an id that no vocabulary has; give ids of "
                         "this model's tokenizer")
    return array


def zero_terminated(name: str, text: str) -> bytes:
    """The text in UTF-8, which must not end early."""
    if "\0" in text:
        raise out_of_range(name, text, "a text without a zero character")
    return text.encode()


class NativeRequest:
    """An `ingot_request` with everything it points to, and a seed of its own."""

    def __init__(self, library: Library, engine: int, params: SamplingParams) -> None:
        self.kept: list[Any] = []
        self.sampling = library.initialised(_structures.Sampling, "ingot_sampling_init_v2", engine)
        self.request = library.initialised(_structures.Request, "ingot_request_init_v2")
        self._set_sampling(params)
        self._set_lists(params)
        self._set_request(params)

    def take(self, start: Start) -> Any:
        """Makes it a request for the answers of this prompt."""
        tokens = token_ids("the prompt", start.ids)
        self._point(self.request, "pictures", "picture_count", ctypes.c_void_p, start.pictures)
        self.kept.append(start.keeper)
        self.kept.append(tokens)
        self.request.tokens = ctypes.cast(tokens, ctypes.POINTER(ctypes.c_int32))
        self.request.token_count = len(tokens)
        return ctypes.byref(self.request)

    def take_turn(self, turn: Turn) -> Any:
        """The same for the answers to a turn."""
        self.kept.append(turn)
        self.request.turn = turn.handle
        return ctypes.byref(self.request)

    def _set_sampling(self, params: SamplingParams) -> None:
        sampling = self.sampling
        for name in ("temperature", "top_p", "min_p", "typical_p", "repetition_penalty",
                     "presence_penalty", "frequency_penalty"):
            if getattr(params, name) is not None:
                setattr(sampling, name, getattr(params, name))
        if params.top_k is not None:
            # -1 is another way to say so in vLLM.
            set_integer(sampling, "top_k", 0 if params.top_k == -1 else params.top_k)
        if params.seed is not None:
            set_integer(sampling, "seed", params.seed)
        for name in ("logprobs", "prompt_logprobs"):
            count = getattr(params, name)
            if count is not None and count < 0:
                raise out_of_range(name, count, "0 to 20, or None")
            set_integer(sampling, name, -1 if count is None else count)
        if params.max_tokens is not None and params.max_tokens < 1:
            raise out_of_range("max_tokens", params.max_tokens, "at least 1, or None")
        set_integer(sampling, "max_tokens", params.max_tokens or 0)
        set_integer(sampling, "min_tokens", params.min_tokens)
        set_integer(sampling, "no_repeat_ngram_size", params.no_repeat_ngram_size)
        sampling.ignore_eos = params.ignore_eos
        sampling.include_stop = params.include_stop_str_in_output

    def _set_lists(self, params: SamplingParams) -> None:
        bias = params.logit_bias or {}
        tokens = token_ids("logit_bias", [int(token) for token in bias])
        pairs = zip(tokens, bias.values())
        self._point(self.sampling, "bias", "bias_count", _structures.Bias,
                    [_structures.Bias(token, value) for token, value in pairs])
        for field, count, name in (("allowed", "allowed_count", "allowed_token_ids"),
                                   ("stop_tokens", "stop_token_count", "stop_token_ids")):
            self._point(self.sampling, field, count, ctypes.c_int32,
                        token_ids(name, getattr(params, name) or ()))
        stop = [params.stop] if isinstance(params.stop, str) else params.stop
        self._set_texts(self.sampling, "stop_strings", "stop_string_count", "stop", stop)
        self._set_texts(self.sampling, "bad_words", "bad_word_count", "bad_words",
                        params.bad_words)

    def _set_request(self, params: SamplingParams) -> None:
        request = self.request
        request.sampling = ctypes.pointer(self.sampling)
        request.skip_special = params.skip_special_tokens
        set_integer(request, "choices", params.n)
        set_integer(request, "priority", params.priority)
        request.deadline = params.deadline
        if params.cache_salt is not None:
            request.cache_salt = zero_terminated("cache_salt", params.cache_salt)
        if params.structured_outputs is not None:
            self._set_form(params.structured_outputs)

    def _set_form(self, form: StructuredOutputsParams) -> None:
        schema = {"type": "object"} if form.json_object else form.json
        if form.json_object and form.json is not None:
            raise IngotError("INGOT-E6006", "json and json_object are two forms of an answer; set "
                             "one of them")
        if schema is not None:
            text = schema if isinstance(schema, str) else json.dumps(schema)
            self.request.json_schema = zero_terminated("json", text)
        if form.regex is not None:
            self.request.regex = zero_terminated("regex", form.regex)
        if form.grammar is not None:
            self.request.grammar = zero_terminated("grammar", form.grammar)
        if form.choice is not None:
            if not form.choice:
                raise out_of_range("choice", form.choice, "at least one text")
            self._set_texts(self.request, "choice_texts", "choice_text_count", "choice",
                            form.choice)

    def _set_texts(self, structure: Any, field: str, count: str, name: str,
                   texts: Sequence[str] | None) -> None:
        if isinstance(texts, str):
            raise TypeError(f"{name} is a list of texts")
        self._point(structure, field, count, ctypes.c_char_p,
                    [zero_terminated(name, text) for text in texts or ()])

    def _point(self, structure: Any, field: str, count: str, kind: Any, items: Any) -> None:
        """Lets a field point to an array of the items, and another hold their number."""
        if not len(items):
            return
        array = (kind * len(items))(*items)
        self.kept.append(array)
        setattr(structure, field, ctypes.cast(array, ctypes.POINTER(kind)))
        setattr(structure, count, len(items))
