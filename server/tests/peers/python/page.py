"""A page of the documentation that is run: its commands, and what it says will come of them.

Every `bash` block is run, all of them in one shell and in order. The `json` and `text` blocks that follow it are what
it must print. In both, `…` stands for anything: in a line or string for any characters, alone on a line of text for
any number of lines. JSON shows the members that matter: an object may have more. `console` blocks are only shown.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

RECORD_SEPARATOR = "\x1e"
ANYTHING = "…"


@dataclass(frozen=True)
class Block:
    """A fenced block of the page, and the line of its fence."""

    language: str
    line: int
    text: str


@dataclass
class Step:
    """A command, and the blocks that say what it prints."""

    command: Block
    expected: list[Block] = field(default_factory=list)


def steps_of(markdown: str) -> list[Step]:
    """The steps of a page. A fence in a language that means nothing here is an error, not a step that is left out."""
    steps: list[Step] = []
    for block in _blocks_of(markdown):
        match block.language:
            case "bash":
                steps.append(Step(block))
            case "json" | "text" if steps:
                steps[-1].expected.append(block)
            case "console":
                pass
            case language:
                raise ValueError(f"line {block.line}: a block in {language!r} is neither run nor compared")
    return steps


def check_page(page: Path, folder: Path, env: dict[str, str]) -> None:
    """Runs a page, and compares what it printed with what it says."""
    steps = steps_of(page.read_text())
    assert steps, f"{page} has no commands"
    outputs = run(steps, folder, env, timeout=45)
    for step, output in zip(steps, outputs, strict=True):
        for expected in step.expected:
            assert not differs(expected, output), (
                f"{page.name}, line {expected.line}: expected\n{expected.text}\nbut it printed\n{output}"
            )


def run(steps: list[Step], folder: Path, env: dict[str, str], timeout: float) -> list[str]:
    """What each step printed. The first command that fails ends the run with an error that names its line."""
    script = "set -euo pipefail\n" + "".join(
        f"printf '\\036'\n{step.command.text}\n" for step in steps
    )
    (folder / "page.sh").write_text(script)
    # Files, not pipes: a stream that a failed page leaves open would hold a pipe's other end.
    with (folder / "stdout").open("w+") as stdout, (folder / "stderr").open("w+") as stderr:
        shell = subprocess.Popen(
            ["bash", "page.sh"],
            cwd=folder,
            env=os.environ | env,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
        )
        try:
            code: int | str = shell.wait(timeout)
        except subprocess.TimeoutExpired:
            code = f"not finished after {timeout} s"
        with suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGKILL)
        shell.wait()
        stdout.seek(0)
        stderr.seek(0)
        outputs, errors = stdout.read().split(RECORD_SEPARATOR)[1:], stderr.read()
    if code != 0:
        line = steps[max(0, len(outputs) - 1)].command.line
        raise AssertionError(f"the block at line {line} failed ({code})\n{errors}\nIt printed:\n{(outputs or [''])[-1]}")
    return outputs


def differs(expected: Block, output: str) -> bool:
    """Whether `output` is something else than `expected` says."""
    match expected.language:
        case "json":
            return not _json_fits(_values_of(expected.text), _values_of(output))
        case "text":
            return not _text_pattern(expected.text).fullmatch(output.replace("\r", "").rstrip("\n") + "\n")
        case language:
            raise ValueError(f"nothing is compared with a block in {language!r}")


def _blocks_of(markdown: str) -> list[Block]:
    fence = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    return [
        Block(found[1], markdown.count("\n", 0, found.start()) + 1, found[2]) for found in fence.finditer(markdown)
    ]


def _values_of(text: str) -> list[Any]:
    """The JSON values that stand in `text`, one after the other."""
    decoder, values, rest = json.JSONDecoder(), [], text.strip()
    while rest:
        try:
            value, end = decoder.raw_decode(rest)
        except json.JSONDecodeError as error:
            raise AssertionError(f"no JSON: {error} in {rest!r}") from error
        values.append(value)
        rest = rest[end:].lstrip()
    return values


def _json_fits(expected: Any, actual: Any) -> bool:
    if isinstance(expected, dict):
        return isinstance(actual, dict) and all(
            name in actual and _json_fits(value, actual[name]) for name, value in expected.items()
        )
    if isinstance(expected, list):
        return (
            isinstance(actual, list)
            and len(expected) == len(actual)
            and all(map(_json_fits, expected, actual))
        )
    if isinstance(expected, str):
        return isinstance(actual, str) and bool(re.fullmatch(_wild(expected), actual, re.DOTALL))
    return type(expected) is type(actual) and expected == actual


def _text_pattern(expected: str) -> re.Pattern[str]:
    lines = expected.rstrip("\n").split("\n")
    return re.compile("".join(r"(?:.*\n)*" if line == ANYTHING else _wild(line) + r"\n" for line in lines))


def _wild(text: str) -> str:
    return ".*".join(map(re.escape, text.split(ANYTHING)))
