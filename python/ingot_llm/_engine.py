# SPDX-License-Identifier: Apache-2.0
"""An opened engine whose loop the library steps, and the one thread that reads what comes of it."""
from __future__ import annotations

import asyncio
import ctypes
import os
import threading
import time
from typing import Any

from . import _structures
from ._library import Library
from ._mailbox import Event, EventCopier, Mailbox, wake
from .errors import IngotError

_WAIT = 1.0  # Seconds for which the reader waits in the library while requests are under way.
_BATCH = 512  # Events that are taken at once.


class Engine:
    """Its methods may be called from any thread of the process that opened it.

    `with engine:` keeps it open inside: that is how every function of the library is called.
    """

    def __init__(self, library: Library, path: str, options: _structures.Options,
                 queue_limit: int) -> None:
        self.library = library
        self._process = os.getpid()
        self.handle, self._loop = self._open(path, options, queue_limit)
        self._state = threading.Condition()  # of all below
        self._users = 0
        self._closing = False
        self._mailboxes: dict[int, Mailbox] = {}  # of requests that have not ended
        self._early: dict[int, list[Event]] = {}  # that came before the submitter had the id
        self._copier = EventCopier(_BATCH)  # for the reader
        self._reader = threading.Thread(target=self._read, name="ingot events", daemon=True)
        self._reader.start()

    def _open(self, path: str, options: _structures.Options,
              queue_limit: int) -> tuple[int, int]:
        library = self.library
        engine, loop = ctypes.c_void_p(), ctypes.c_void_p()
        library.call("ingot_open_v2", os.fsencode(path), ctypes.byref(options),
                     ctypes.byref(engine))
        try:
            loop_options = library.initialised(_structures.LoopOptions, "ingot_loop_options_init")
            loop_options.queue_limit = queue_limit
            library.call("ingot_loop_start", engine, ctypes.byref(loop_options),
                         ctypes.byref(loop))
        except BaseException:
            library.waiting.ingot_close(engine)
            raise
        assert engine.value is not None and loop.value is not None
        return engine.value, loop.value

    def __enter__(self) -> Engine:
        self._check_process()
        with self._state:
            if self._closing:
                raise IngotError("INGOT-E6080", "the engine was closed; open it again")
            self._users += 1
        return self

    def __exit__(self, *_: object) -> None:
        with self._state:
            self._users -= 1
            if self._closing:
                self._state.notify_all()

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise IngotError("INGOT-E6081", f"the engine was opened by process {self._process}, "
                             "whose threads a fork does not have; open it in each process, or "
                             "start processes by multiprocessing's \"spawn\"")

    def submit(self, request: Any, mailbox: Mailbox) -> None:
        """Queues an `ingot_request` whose events go to `mailbox`."""
        with self:
            id_ = ctypes.c_uint64()
            self.library.call("ingot_loop_submit", self._loop, request, None, None,
                              ctypes.sizeof(_structures.Event), ctypes.byref(id_))
            with self._state:
                mailbox.id = id_.value
                self._mailboxes[mailbox.id] = mailbox
                waiters = self._deliver(mailbox, self._early.pop(mailbox.id, []))
                self._state.notify_all()
        wake(waiters)

    def cancel(self, mailbox: Mailbox) -> None:
        """Ends a request; its last events say so. Nothing where it has ended, or the engine has."""
        if os.getpid() != self._process:
            return
        with self._state:
            if self._closing or mailbox.id not in self._mailboxes:
                return
            self._users += 1
        try:
            self.library.call("ingot_loop_cancel", self._loop, mailbox.id)
        finally:
            self.__exit__()

    def statistics(self) -> _structures.LoopStatistics:
        with self:
            return self.library.filled(_structures.LoopStatistics, "ingot_loop_get_statistics",
                                       self._loop)

    def close(self) -> None:
        """Ends all requests and gives the memory back. In the child of a fork nothing: it has a
        copy of the memory alone."""
        if os.getpid() != self._process:
            return
        with self._state:
            self._closing = True
            self._state.wait_for(lambda: not self._users)
            for id_ in self._mailboxes:
                self.library.call("ingot_loop_cancel", self._loop, id_)
            self._state.notify_all()
        # The collector of garbage may have called this on the reader.
        if threading.current_thread() is not self._reader:
            self._reader.join()

    def _read(self) -> None:
        """The reader thread: until the engine is closed and its requests have ended."""
        while True:
            with self._state:
                self._state.wait_for(lambda: self._mailboxes or self._closing)
                if not self._mailboxes:
                    break
            try:
                events = self._next_events()
            except IngotError as error:  # out of memory; nothing more is known of any request
                events = self._failures(error)
            with self._state:
                waiters = [waiter for id_, own in events.items()
                           for waiter in self._route(id_, own)]
            wake(waiters)
        self.library.waiting.ingot_loop_close(self._loop)

    def _next_events(self) -> dict[int, list[Event]]:
        """All that are there, by request, waiting for the first."""
        copier, count = self._copier, ctypes.c_size_t()
        self.library.check(self.library.waiting.ingot_loop_next_events(
            self._loop, _WAIT, copier.events, ctypes.sizeof(_structures.Event), _BATCH,
            ctypes.byref(count)))
        return copier.copy(count.value, time.time())

    def _failures(self, error: IngotError) -> dict[int, list[Event]]:
        """A last event for each answer that goes on."""
        failed = Event(0, -1, "", 0.0, [], _structures.FINISH_FAILED, error, [], time.time())
        with self._state:
            return {id_: [failed] * mailbox.unended for id_, mailbox in self._mailboxes.items()}

    def _route(self, id_: int, events: list[Event]) -> list[asyncio.Future[None]]:
        mailbox = self._mailboxes.get(id_)
        if mailbox is None:
            self._early.setdefault(id_, []).extend(events)
            return []
        return self._deliver(mailbox, events)

    def _deliver(self, mailbox: Mailbox, events: list[Event]) -> list[asyncio.Future[None]]:
        for event in events:
            if event.finish != _structures.FINISH_NONE:
                mailbox.unended -= 1
        if not mailbox.unended:
            del self._mailboxes[mailbox.id]
        return mailbox.deliver(events)
