"""`pantheon-mock run` around `pantheon-chat`, unchanged: what it survives passes, and what it does wrong is named."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from mock import REPOSITORY, program

# One turn of a chat with the agent `demo`, whose tools echo; its only output is how the turn ended.
CLIENT = """
import asyncio, os
from pantheon_chat import PantheonChat

async def main():
    chat = PantheonChat(os.environ["PANTHEON_BASE_URL"], os.environ["PANTHEON_API_KEY"], "demo")
    async with chat:
        chat.tools["echo_tool"] = lambda payload: {"echoed": payload["message"]}
        async for update in chat.run("call it with hi"):
            last = update
    print(last.kind)

asyncio.run(main())
"""


def run(scenario: Path) -> tuple[int, str, dict]:
    """The exit code, what the client printed, and the verdict."""
    command = [program(), "run", "--scenario", scenario, "--log", "json", "--quiet", "--", sys.executable, "-c", CLIENT]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    told = [line for line in ended.stderr.splitlines() if '"event":"verdict"' in line]
    assert len(told) == 1, ended.stderr
    return ended.returncode, ended.stdout.strip(), json.loads(told[0])


def test_c_tool_5_a_lost_answer_passes() -> None:
    code, said, verdict = run(REPOSITORY / "scenarios/lost-answer.yaml")
    assert (code, said, verdict["verdict"]) == (0, "final", "pass"), verdict


def test_c_sse_11_resyncs_on_every_connect_are_answered_with_a_storm() -> None:
    code, said, verdict = run(REPOSITORY / "scenarios/resync-on-every-connect.yaml")
    [workspace] = verdict["workspaces"]
    assert (code, said) == (3, "final"), verdict
    assert [offence["offence"] for offence in workspace["offences"]] == ["reconnect-storm"], verdict
    # The file expects that there was none, and nothing else is wrong.
    assert [failure["expected"] for failure in workspace["failures"]] == ["{ never: reconnect-storm }"], verdict
