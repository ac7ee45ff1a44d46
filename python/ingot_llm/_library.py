# SPDX-License-Identifier: Apache-2.0
"""The shared library: found, checked and declared once, with its errors as exceptions."""
from __future__ import annotations

import ctypes
import functools
import os
import pathlib
from collections.abc import Callable
from typing import Any, TypeVar

from . import _structures
from .errors import IngotError

# Where the wheel has it.
PACKED = pathlib.Path(__file__).resolve().parent / "lib" / "libingot.so"

S = TypeVar("S", bound=ctypes.Structure)


class Library:
    """The functions of `ingot.h`. Calls of `waiting` release the GIL; those of `prompt` keep it,
    for what is over before another thread could take it."""

    def __init__(self, path: str) -> None:
        try:
            self.waiting = ctypes.CDLL(path)
            self.prompt = ctypes.PyDLL(path)
        except OSError as error:
            raise IngotError("INGOT-E6082", f"libingot.so cannot be loaded: {error}; install the "
                             "wheel of this platform, or name the library by library=") from None
        self._declare(path)

    def _declare(self, path: str) -> None:
        try:
            version = self.waiting.ingot_api_version()
        except AttributeError:
            version = None
        if version != _structures.API_VERSION:
            raise IngotError("INGOT-E6082", f"{path} has version {version} of the interface, and "
                             f"this package needs {_structures.API_VERSION}; take both from one "
                             "release")
        for name, (result, arguments) in _structures.FUNCTIONS.items():
            for functions in (self.waiting, self.prompt):
                function = getattr(functions, name)
                function.restype, function.argtypes = result, arguments

    def check(self, error: int | None) -> None:
        """Raises what a function returned, if it is an error."""
        if error is None:
            return
        try:
            code = self.prompt.ingot_error_code(error).decode()
            message = self.prompt.ingot_error_message(error).decode(errors="replace")
        finally:
            self.prompt.ingot_error_free(error)
        raise IngotError(code, message)

    def call(self, name: str, *arguments: Any) -> None:
        """Calls a function that returns an error."""
        self.check(getattr(self.waiting, name)(*arguments))

    def filled(self, kind: type[S], name: str, *arguments: Any) -> S:
        """A structure that the function `name`, given those arguments before it, fills."""
        structure = kind()
        setattr(structure, "size", ctypes.sizeof(kind))
        self.call(name, *arguments, ctypes.byref(structure))
        return structure

    def initialised(self, kind: type[S], name: str, *arguments: Any) -> S:
        """A structure with the defaults that the function `name` sets."""
        structure = kind()
        self.call(name, *arguments, ctypes.byref(structure), ctypes.sizeof(kind))
        return structure

    def ids(self, guess: int, write: Callable[[Any, int, Any], int | None]) -> list[int]:
        """The token ids that `write`, given room, its size and where to put the count, writes."""
        count = ctypes.c_size_t(guess)
        while True:
            room = (ctypes.c_int32 * count.value)()
            self.check(write(room, count.value, ctypes.byref(count)))
            if count.value <= len(room):
                return room[:count.value]

    def text(self, guess: int, write: Callable[[Any, int, Any], int | None]) -> str:
        """The same of a text."""
        count = ctypes.c_size_t(guess)
        while True:
            room = ctypes.create_string_buffer(count.value)
            self.check(write(room, count.value, ctypes.byref(count)))
            if count.value <= len(room):
                return room.raw[:count.value].decode(errors="replace")


@functools.cache
def _load(path: str) -> Library:
    return Library(path)


def load(path: str | os.PathLike[str] | None = None) -> Library:
    """The library of this package, or the one at `path`. INGOT-E6082."""
    return _load(os.fspath(path if path is not None else PACKED))
