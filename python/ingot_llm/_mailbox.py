# SPDX-License-Identifier: Apache-2.0
"""Events on their way from the thread that reads them to whoever waits for them."""
from __future__ import annotations

import asyncio
import struct
import threading
from collections.abc import Iterable
from ctypes import string_at
from typing import Any, NamedTuple

from . import _structures
from .errors import IngotError


class Event(NamedTuple):
    """An `ingot_event`, copied. `top`: (token, log-probability), best first."""
    choice: int
    token: int
    text: str
    logprob: float
    top: list[tuple[int, float]]
    finish: int
    error: IngotError | None
    prompt_logprobs: list[tuple[int, float, list[tuple[int, float]]]]
    time: float


# The fields of an `ingot_event` at once: one by one they take as long as all else together.
FIELDS = struct.Struct("@NQiiPNfPNqiPPPN")


_NOTHING: list[Any] = []  # of all events that have none; nobody changes it


class EventCopier:
    """Copies what an array of structures, which the library fills again and again, says."""

    def __init__(self, capacity: int) -> None:
        self.events = (_structures.Event * capacity)()
        self._bytes = memoryview(self.events).cast("B")

    def copy(self, count: int, time: float) -> dict[int, list[Event]]:
        """The first so many, by request. `time`: of now, seconds."""
        copied: dict[int, list[Event]] = {}
        for place, (_, request, choice, token, text, length, logprob, _, top, _, finish, failed, _,
                    _, prompt) in enumerate(FIELDS.iter_unpack(self._bytes[:count * FIELDS.size])):
            event = Event(
                choice, token, string_at(text, length).decode("utf-8", "replace") if length else "",
                logprob, _top_of(self.events[place]) if top else _NOTHING, finish, None, _NOTHING,
                time)
            if failed or prompt:
                event = self._with_the_rest(event, self.events[place])
            if request in copied:
                copied[request].append(event)
            else:
                copied[request] = [event]
        return copied

    @staticmethod
    def _with_the_rest(event: Event, given: _structures.Event) -> Event:
        """With what few have."""
        error = None
        if given.error_code is not None:
            error = IngotError(given.error_code.decode(),
                               (given.error_message or b"").decode(errors="replace"))
        prompt = [(one.token, one.logprob, _top_of(one))
                  for one in given.prompt_logprobs[:given.prompt_logprob_count]] \
            if given.prompt_logprob_count else _NOTHING
        return event._replace(error=error, prompt_logprobs=prompt)


def _top_of(entry: _structures.Event | _structures.PromptLogprob) -> list[tuple[int, float]]:
    return [(one.token, one.logprob) for one in entry.top[:entry.top_count]]


class Mailbox:
    """The events of one request, for threads and for tasks of any asyncio loop.

    `choices`: of the request, each of which has a last event. `wakes_at_end`: nobody waits for
    less than all of them.
    """

    def __init__(self, choices: int, wakes_at_end: bool) -> None:
        self.id = 0  # as the library calls the request
        self.unended = choices  # for the thread that delivers
        self._wakes_at_end = wakes_at_end
        self._lock = threading.Lock()
        self._filled = threading.Condition(self._lock)  # which is slower to take
        self._events: list[Event] = []
        self._waiters: list[asyncio.Future[None]] = []

    def deliver(self, events: Iterable[Event]) -> list[asyncio.Future[None]]:
        """Adds events and wakes threads; the futures of tasks, each to be set in its own loop."""
        with self._lock:
            self._events.extend(events)
            if self._wakes_at_end and self.unended:
                return []
            self._filled.notify_all()
            waiters, self._waiters = self._waiters, []
            return waiters

    def take(self) -> list[Event]:
        """The events that came since the last call, waiting for the first."""
        with self._filled:
            self._filled.wait_for(lambda: self._events and not self._incomplete())
            events, self._events = self._events, []
            return events

    async def take_async(self) -> list[Event]:
        """The same for a task."""
        while True:
            with self._filled:
                if self._events and not self._incomplete():
                    events, self._events = self._events, []
                    return events
                future = asyncio.get_running_loop().create_future()
                self._waiters.append(future)
            await future

    def _incomplete(self) -> bool:
        return self._wakes_at_end and self.unended > 0


def wake(futures: Iterable[asyncio.Future[None]]) -> None:
    """Wakes tasks, each loop once."""
    loops: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}
    for future in futures:
        loops.setdefault(future.get_loop(), []).append(future)
    for loop, own in loops.items():
        try:
            loop.call_soon_threadsafe(_set_all, own)
        except RuntimeError:  # it was closed, and its tasks with it
            pass


def _set_all(futures: list[asyncio.Future[None]]) -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)
