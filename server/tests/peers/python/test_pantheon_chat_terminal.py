"""`python -m pantheon_chat`, the terminal program of `pantheon-chat`, unchanged, against the mock."""

from __future__ import annotations

import os
import subprocess
import sys

from mock import Workspace
from terminal import Terminal

PROGRAM = [sys.executable, "-m", "pantheon_chat"]

# The script of the package's README: the same program, with a tool of one's own.
WITH_ECHO_TOOL = """
from pantheon_chat.cli import main

def echo_tool(payload):
    return {"echoed": payload["message"]}

raise SystemExit(main(tools={"echo_tool": echo_tool}))
"""


def environment(workspace: Workspace, slug: str) -> dict[str, str]:
    return {
        "PANTHEON_BASE_URL": workspace.url,
        "PANTHEON_API_KEY": workspace.api_key,
        "PANTHEON_AGENT_SLUG": slug,
    }


def test_a_message_is_answered(workspace: Workspace) -> None:
    with Terminal(PROGRAM, environment(workspace, "todo-assistant")) as terminal:
        terminal.read_until("you> ")
        terminal.type("What is 15 + 15?")
        terminal.read_until("agent> ")
        answer = terminal.read_until("you> ")
        assert "15 + 15" in answer
        assert "error" not in answer
        terminal.type("/quit")
        assert terminal.exit_code() == 0


def test_calls_are_approved_and_declined(echo_workspace: Workspace) -> None:
    with Terminal([sys.executable, "-c", WITH_ECHO_TOOL], environment(echo_workspace, "demo")) as terminal:
        terminal.read_until("you> ")
        terminal.type("Call echo_tool with yes please")
        asked = terminal.read_until("Approve? [y/N] ")
        assert "[echo_tool running]" in asked
        assert '"message": "yes please"' in asked
        terminal.type("y")
        done = terminal.read_until("you> ")
        assert "[echo_tool done]" in done
        assert "echoed: yes please" in done

        terminal.type("Call echo_tool with no thanks")
        assert '"message": "no thanks"' in terminal.read_until("Approve? [y/N] ")
        terminal.type("n")
        declined = terminal.read_until("you> ")
        assert "[echo_tool failed]" in declined
        assert "USER_CANCELLED" in declined

        terminal.type("/quit")
        assert terminal.exit_code() == 0


def test_the_demo_tool_is_approved_where_nobody_has_it(workspace: Workspace) -> None:
    with Terminal(PROGRAM, environment(workspace, "todo-assistant")) as terminal:
        terminal.read_until("you> ")
        terminal.type("Call add_todo with buy milk")
        assert "buy milk" in terminal.read_until("Approve? [y/N] ").rpartition("add_todo")[2]
        terminal.type("y")
        failed = terminal.read_until("you> ")
        assert "[add_todo failed]" in failed
        assert "TOOL_NOT_REGISTERED" in failed
        terminal.type("/quit")
        assert terminal.exit_code() == 0


def test_a_conversation_through_pipes(workspace: Workspace) -> None:
    done = subprocess.run(
        PROGRAM,
        env=os.environ | environment(workspace, "todo-assistant"),
        input="Call add_todo with buy milk\nn\nthank you\n/quit\n",
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 0, done.stderr
    assert "error:" not in done.stderr
    assert "[add_todo failed]" in done.stdout
    assert "USER_CANCELLED" in done.stdout
    assert "thank you" in done.stdout
