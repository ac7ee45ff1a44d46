# SPDX-License-Identifier: Apache-2.0
"""Ingot's programs, started by this one: what they say on standard error is shown."""
from __future__ import annotations

import contextlib
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence

from .errors import IngotError

# Which distribution brings a program.
_DISTRIBUTIONS = {"ingot": "ingot-llm-compiler", "ingot-server": "ingot-llm"}
_ERROR = re.compile(r"^error: (INGOT-E\d{4}): (.*)$")
_SERVING = re.compile(r"^serving .* at (http://\S+): ")


def find(program: str) -> str:
    """The path of a program: that of its wheel, else of the PATH. INGOT-E6083."""
    distribution = _DISTRIBUTIONS[program]
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        for file in importlib.metadata.files(distribution) or ():
            path = os.fspath(file.locate())
            if file.name == program and os.access(path, os.X_OK):
                return path
    found = shutil.which(program)
    if found is None:
        raise IngotError("INGOT-E6083", f"{program} is not found; install {distribution}, or put "
                         f"the folder of {program} into PATH")
    return found


class _Program:
    """A running program. Its standard output is for the caller."""

    def __init__(self, name: str, arguments: Sequence[str | os.PathLike[str]]) -> None:
        self._name = name
        self._error: IngotError | None = None
        self.process = subprocess.Popen(
            [find(name), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, encoding="utf-8", errors="replace")
        self._listener = threading.Thread(target=self._listen, name=name, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            sys.stderr.write(line)
            if match := _ERROR.match(line):
                self._error = IngotError(match[1], match[2])

    def lines(self) -> Iterator[str]:
        """Those of its standard output, up to its end."""
        assert self.process.stdout is not None
        return iter(self.process.stdout)

    def failure(self) -> IngotError:
        """Why it has ended."""
        status = self.process.wait()
        self._listener.join()
        return self._error or IngotError("INGOT-E6083", f"{self._name} ended with status {status}; "
                                         "standard error has what it said")

    def end(self, kill: bool = False) -> None:
        """Lets it finish what it has accepted, or not."""
        if kill:
            self.process.kill()
        else:
            self.process.terminate()
        self.process.wait()
        self._listener.join()
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()


def keep(model: str, options: Sequence[str]) -> str:
    """The engine of a model, built where that was not done yet. Errors: those of `ingot`."""
    program = _Program("ingot", ["keep", model, *options])
    ended = False
    try:
        path = "".join(program.lines()).rstrip("\n")
        if program.process.wait() != 0:
            raise program.failure()
        ended = True
        return path
    finally:
        program.end(kill=not ended)


@contextlib.contextmanager
def serving(arguments: Sequence[str]) -> Iterator[str]:
    """Runs `ingot-server`; the URL at which it serves. Errors: those of the server."""
    program = _Program("ingot-server", arguments)
    serves = False
    try:
        for line in program.lines():
            if match := _SERVING.match(line):
                serves = True
                yield match[1]
                break
        if not serves:
            raise program.failure()
    finally:
        program.end(kill=not serves)
