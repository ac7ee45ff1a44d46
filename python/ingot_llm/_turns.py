# SPDX-License-Identifier: Apache-2.0
"""Turns of conversations, and their answers as text, reasoning and calls."""
from __future__ import annotations

import ctypes
import weakref
from typing import NamedTuple

from . import _structures
from ._engine import Engine


class Part(NamedTuple):
    """An `ingot_part`, copied."""
    kind: int
    call: int
    text: str
    id: str
    whole: bool


class Turn:
    """The next turn of the conversation that the body of a chat request has."""

    def __init__(self, engine: Engine, body: bytes, template: str | None = None) -> None:
        self._library = engine.library
        handle = ctypes.c_void_p()
        name = template.encode() if template is not None else None
        with engine:
            self._library.call("ingot_turn_begin", engine.handle, body, len(body), name,
                               ctypes.byref(handle))
        self.handle = handle.value
        weakref.finalize(self, self._library.waiting.ingot_turn_close, handle)

    def token_ids(self) -> list[int]:
        """Of the prompt."""
        count = ctypes.c_size_t()
        ids = self._library.prompt.ingot_turn_tokens(self.handle, ctypes.byref(count))
        return list(ids[:count.value])

    def pictures(self) -> list[int | None]:
        """Addresses of its pictures, which live as long as this object."""
        count = ctypes.c_size_t()
        found = self._library.prompt.ingot_turn_pictures(self.handle, ctypes.byref(count))
        return list(found[:count.value])


class AnswerReader:
    """Takes one answer to a turn apart; see `ingot_answer_begin`."""

    def __init__(self, turn: Turn, streamed: bool) -> None:
        self._library = turn._library
        self._handle = ctypes.c_void_p()
        self._library.call("ingot_answer_begin", turn.handle, streamed,
                           ctypes.byref(self._handle))
        weakref.finalize(self, self._library.waiting.ingot_answer_close, self._handle)

    def take(self, text: str, ends: bool) -> list[Part]:
        """What the next piece of the answer's text makes certain; `ends`: it is the last."""
        data = text.encode()
        library, found, taken = self._library, _structures.Part(), ctypes.c_bool()
        setattr(found, "size", ctypes.sizeof(found))
        library.check(library.prompt.ingot_answer_feed(self._handle, data, len(data), ends))
        parts: list[Part] = []
        while True:
            library.check(library.prompt.ingot_answer_next(
                self._handle, ctypes.byref(found), ctypes.byref(taken)))
            if not taken.value:
                return parts
            piece = ctypes.string_at(found.text, found.text_bytes).decode()
            parts.append(Part(found.kind, found.call, piece, (found.id or b"").decode(),
                              found.whole))

    def is_cut(self) -> bool:
        """Whether the answer has ended within a call."""
        return bool(self._library.prompt.ingot_answer_is_cut(self._handle))
