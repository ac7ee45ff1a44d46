# SPDX-License-Identifier: Apache-2.0
"""Prompts as callers write them, and their pictures."""
from __future__ import annotations

import base64
import ctypes
import io
import os
import pathlib
import weakref
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Union

from . import _structures
from ._engine import Engine
from .errors import IngotError
from .params import SamplingParams

Prompt = Union[str, Sequence[int], Mapping[str, Any]]
"""A text; token ids; {"prompt": text}; {"prompt_token_ids": ids}; either of these with
"multi_modal_data": {"image": one or a list}, for which a text has the model's placeholders, and ids
what stands for them. An image is a path, a `data:` URL, the bytes of a file in PNG, JPEG or WebP,
or one of Pillow's."""


class Picture:
    """An `ingot_picture`: `handle` is its address while this object lives."""

    def __init__(self, engine: Engine, source: Any) -> None:
        data = _file_of(source)
        handle = ctypes.c_void_p()
        with engine:
            engine.library.call("ingot_picture_read", engine.handle, data, len(data),
                                ctypes.byref(handle))
        self.handle = handle.value
        weakref.finalize(self, engine.library.waiting.ingot_picture_close, handle)


class Start(NamedTuple):
    """What a request begins with; `pictures`: addresses, and what keeps them."""
    text: str | None
    ids: list[int]
    pictures: Sequence[int | None] = ()
    keeper: Any = None


def _file_of(source: Any) -> bytes:
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source)
    if isinstance(source, str) and source[:5].lower() == "data:":
        head, comma, data = source.partition(",")
        try:
            if comma and head.lower().endswith(";base64"):
                return base64.b64decode(data, validate=True)
        except ValueError:  # also of characters beyond ASCII
            pass
        raise IngotError("INGOT-E6815", "a data: URL of a picture is in base64; write "
                         "data:image/png;base64,...")
    if isinstance(source, (str, os.PathLike)):
        return pathlib.Path(source).read_bytes()
    if hasattr(source, "save"):
        file = io.BytesIO()
        source.save(file, format="PNG")
        return file.getvalue()
    raise TypeError("an image is a path, a data: URL, the bytes of a file, or one of Pillow's, not "
                    f"{type(source).__name__}")


def read_pictures(engine: Engine, data: Any) -> list[Picture]:
    """Those of a prompt's `multi_modal_data`."""
    if not isinstance(data, Mapping) or not set(data) <= {"image"}:
        raise TypeError('multi_modal_data has "image" and nothing else')
    images = data.get("image", [])
    return [Picture(engine, image)
            for image in (images if isinstance(images, (list, tuple)) else [images])]


def tokenize_request(engine: Engine, text: str, pictures: Sequence[Picture]) -> list[int]:
    """The ids of a text with what stands for its pictures; special tokens are recognised."""
    library, data = engine.library, text.encode()
    handles = (ctypes.c_void_p * len(pictures))(*(picture.handle for picture in pictures))
    request = library.initialised(_structures.Request, "ingot_request_init_v2")
    request.text, request.text_bytes = data, len(data)
    request.parse_special = True
    request.pictures, request.picture_count = handles, len(pictures)
    with engine:
        return library.ids(len(data) + 8, lambda room, size, count:
                           library.waiting.ingot_tokenize_request(
                               engine.handle, ctypes.byref(request), room, size, count))


def several(prompts: Prompt | Sequence[Prompt]) -> Sequence[Prompt]:
    """A list of prompts; one that is alone becomes a list."""
    if isinstance(prompts, (str, Mapping)) or (prompts and isinstance(prompts[0], int)):
        return [prompts]  # type: ignore[list-item]
    return prompts  # type: ignore[return-value]


def params_of_each(params: SamplingParams | Sequence[SamplingParams] | None, count: int,
                   default: SamplingParams) -> Sequence[SamplingParams]:
    """Parameters for each of so many requests."""
    if params is None or isinstance(params, SamplingParams):
        return [params or default] * count
    if len(params) != count:
        raise ValueError(f"{len(params)} sampling_params for {count} prompts; give one, or one "
                         "for each")
    return params
