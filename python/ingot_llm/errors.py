# SPDX-License-Identifier: Apache-2.0
"""What the package raises."""
from __future__ import annotations


class IngotError(RuntimeError):
    """A failure, with the stable code under which `docs/errors.md` explains it.

    `code`: "INGOT-Ennnn". The text says what was wrong, where, and what to change.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message

    def __reduce__(self) -> tuple[type[IngotError], tuple[str, str]]:
        return type(self), (self.code, self.message)


def out_of_range(name: str, value: object, range_: str) -> IngotError:
    """A parameter has a value that the library would not see as it stands."""
    return IngotError("INGOT-E6006", f"{name} is {value!r}; choose {range_}")
