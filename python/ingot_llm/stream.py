# SPDX-License-Identifier: Apache-2.0
"""A request under way."""
from __future__ import annotations

from collections import deque

from ._answers import Answers
from ._engine import Engine
from ._mailbox import Event, Mailbox
from .outputs import CompletionOutput, RequestOutput


class Stream:
    """What the tokens of a request add to its answers, one after another: for `for` and for
    `async for`, in any thread or asyncio loop, by one of them at a time.

    A stream that is closed, dropped, left by an exception, or whose task is cancelled ends its
    request. A request that fails raises IngotError.
    """

    def __init__(self, owner: object, engine: Engine, mailbox: Mailbox, answers: Answers) -> None:
        self._owner = owner  # lives, and with it the engine, as long as this
        self._engine = engine
        self._mailbox = mailbox
        self._answers = answers
        self._ready: deque[Event] = deque()
        self._closed = False

    @property
    def output(self) -> RequestOutput:
        """The request as far as the stream was read; `outputs[i].text` stands when it has ended."""
        return self._answers.request

    def result(self) -> RequestOutput:
        """Waits for all that has not been read; the whole request."""
        for _ in self:
            pass
        return self.output

    def close(self) -> None:
        """Ends the request, if it has not ended."""
        if not self._closed:
            self._closed = True
            self._engine.cancel(self._mailbox)

    async def aclose(self) -> None:
        """As close()."""
        self.close()

    def _next(self) -> CompletionOutput | None:
        """The next piece of what is there."""
        while self._ready:
            piece = self._answers.add(self._ready.popleft())
            if piece is not None:
                return piece
        return None

    def _is_over(self) -> bool:
        return self._closed or self.output.finished

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> CompletionOutput:
        try:
            while not self._closed:
                piece = self._next()
                if piece is not None:
                    return piece
                if self._is_over():
                    break
                self._ready.extend(self._mailbox.take())
        except BaseException:
            self.close()
            raise
        raise StopIteration

    def __aiter__(self) -> Stream:
        return self

    async def __anext__(self) -> CompletionOutput:
        try:
            while not self._closed:
                piece = self._next()
                if piece is not None:
                    return piece
                if self._is_over():
                    break
                self._ready.extend(await self._mailbox.take_async())
        except BaseException:
            self.close()
            raise
        raise StopAsyncIteration

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Stream:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()
