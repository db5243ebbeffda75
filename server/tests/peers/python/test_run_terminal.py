"""`pantheon-mock run` at a terminal: the command has it, as if it had been started by hand."""

from __future__ import annotations

import os
import pty
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from mock import program
from terminal import Terminal

ASKS = [sys.executable, "-c", "print('hello', input('name? '))"]
TELLS_OF_INTERRUPTS = """
import time
try:
    print("up", flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    print("interrupted")
"""


class ControllingTerminal(Terminal):
    """A terminal that is the program's own, with job control."""

    def __init__(self, argv: list[str]) -> None:
        self._unread = self._printed = ""
        self._pid, self._ours = pty.fork()
        if self._pid == 0:
            os.execvpe(argv[0], argv, os.environ | {"TERM": "dumb", "PS1": "$ "})

    def press(self, control: str) -> None:
        os.write(self._ours, bytes([ord(control) - ord("@")]))

    def exit_code(self) -> int:
        while self._read_more(self.give_up()):
            pass
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])


@contextmanager
def terminal(*argv: str) -> Iterator[ControllingTerminal]:
    running = ControllingTerminal(list(argv))
    try:
        yield running
    finally:
        os.close(running._ours)  # Hangs up, which ends whoever is still there.


def run(*command: str) -> list[str]:
    return [str(program()), "run", "--quiet", "--", *command]


def test_the_command_reads_from_the_terminal() -> None:
    with terminal(*run(*ASKS)) as shell:
        shell.read_until("name? ")
        shell.type("Ada")
        shell.read_until("hello Ada")
        shell.read_until("verdict: pass")
        assert shell.exit_code() == 0


def test_ctrl_c_interrupts_the_command() -> None:
    with terminal(*run(sys.executable, "-c", TELLS_OF_INTERRUPTS)) as shell:
        shell.read_until("up")
        shell.press("C")
        shell.read_until("interrupted")
        shell.read_until("verdict: pass")
        assert shell.exit_code() == 0


def test_whoever_started_it_has_the_terminal_again() -> None:
    script = '"$@"; read -r line; echo "then $line"'
    with terminal("sh", "-c", script, "sh", *run(*ASKS)) as shell:
        shell.read_until("name? ")
        shell.type("Ada")
        shell.read_until("verdict: pass")
        shell.type("more")
        shell.read_until("then more")
        assert shell.exit_code() == 0


def test_ctrl_z_stops_both_and_fg_goes_on() -> None:
    with terminal("bash", "--norc", "--noprofile", "-i") as shell:
        shell.read_until("$ ")
        reads = "'read -r line; echo \"up $line\"; read -r line; echo \"read $line\"'"
        shell.type(" ".join(run("sh", "-c", reads)))
        # What it has read shows that the terminal is its own by now.
        shell.type("first")
        shell.read_until("up first")
        shell.press("Z")
        shell.read_until("Stopped")
        shell.type("fg")
        shell.type("again")
        shell.read_until("read again")
        shell.read_until("verdict: pass")
        shell.type("exit")
        assert shell.exit_code() == 0
