"""A program at a terminal of its own, and somebody who reads and types there."""

from __future__ import annotations

import os
import pty
import selectors
import subprocess
import time
from types import TracebackType
from typing import Self


class Terminal:
    """Starts `argv` at a pseudo-terminal. What it prints is waited for, never slept for."""

    SECONDS = 20

    def __init__(self, argv: list[str], env: dict[str, str]) -> None:
        self._ours, theirs = pty.openpty()
        self._process = subprocess.Popen(
            argv,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=os.environ | {"TERM": "dumb"} | env,
            start_new_session=True,
        )
        os.close(theirs)
        self._unread = ""
        self._printed = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        os.close(self._ours)

    def read_until(self, text: str) -> str:
        """What is printed up to and with the next `text`."""
        give_up = self.give_up()
        while text not in self._unread:
            assert self._read_more(give_up), f"no {text!r} after all this:\n{self._printed}"
        before, _, self._unread = self._unread.partition(text)
        return before + text

    def type(self, line: str) -> None:
        os.write(self._ours, f"{line}\n".encode())

    def exit_code(self) -> int:
        """Reads to the end, and says how the program ended."""
        give_up = self.give_up()
        while self._read_more(give_up):
            pass
        return self._process.wait(timeout=self.SECONDS)

    def give_up(self) -> float:
        """When waiting that begins now has gone on for too long."""
        return time.monotonic() + self.SECONDS

    def _read_more(self, give_up: float) -> bool:
        with selectors.DefaultSelector() as selector:
            selector.register(self._ours, selectors.EVENT_READ)
            if not selector.select(max(0.0, give_up - time.monotonic())):
                return False
        try:
            came = os.read(self._ours, 65536).decode(errors="replace")
        except OSError:  # Linux's way to say that nobody has the other side open any more.
            return False
        self._unread += came
        self._printed += came
        return came != ""
