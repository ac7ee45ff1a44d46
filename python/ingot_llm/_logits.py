# SPDX-License-Identifier: Apache-2.0
"""Logits of a text: what the loop's engine does not give, from a second opening of its file."""
from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _structures
from ._library import Library
from ._requests import token_ids

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray


def logits_of(library: Library, path: str, options: _structures.Options, vocabulary: int,
              tokens: Sequence[int]) -> NDArray[numpy.float32]:
    """[tokens, vocabulary], in f32. `options`: of an engine for one sequence."""
    import numpy
    ids = token_ids("the prompt", tokens)
    rows = numpy.empty((len(ids), vocabulary), numpy.float32)

    def take(_user: Any, _tap: int, position: int, values: Any, count: int) -> None:
        found = numpy.ctypeslib.as_array(values, (count // vocabulary, vocabulary))
        rows[position:position + len(found)] = found

    engine = ctypes.c_void_p()
    library.call("ingot_open_v2", os.fsencode(path), ctypes.byref(options), ctypes.byref(engine))
    try:
        taps = (ctypes.c_char_p * 1)(b"logits")
        library.call("ingot_record", engine, ids, len(ids), None, 0, taps, 1,
                     _structures.TapCallback(take), None)
    finally:
        library.waiting.ingot_close(engine)
    return rows
