"""`PantheonChat`, the chat loop of `pantheon-chat`, unchanged, against the mock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from pantheon_chat import ChatUpdate, PantheonChat, PantheonClient, ToolPillUpdate

from mock import Workspace
from transport import LosesFirstAnswer

CALL = "Call echo_tool with hi"


class EchoTool:
    """A tool that knows what it was called with."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def __call__(self, payload: dict[str, Any]) -> dict[str, Any]:
        self.calls.append(payload)
        return {"echoed": payload["message"]}


def chat_in(workspace: Workspace, slug: str = "demo", **options: Any) -> PantheonChat:
    return PantheonChat(workspace.url, workspace.api_key, slug, **options)


async def updates_of(
    chat: PantheonChat, message: str, approve: Callable[[ChatUpdate], bool] | None = None
) -> list[ChatUpdate]:
    """All updates of one turn; `approve` decides what is asked meanwhile."""
    updates = []
    async for update in chat.run(message):
        updates.append(update)
        if update.kind == "approval" and approve is not None:
            chat.resolve_approval(update.tool_call_id, approve(update))
    return updates


def statuses(updates: list[ChatUpdate]) -> list[str]:
    """The life of the one call in `updates`."""
    pills = [update for update in updates if isinstance(update, ToolPillUpdate)]
    assert len({pill.tool_call_id for pill in pills}) == 1
    return [pill.status for pill in pills]


async def test_words_come_one_by_one(workspace: Workspace) -> None:
    async with chat_in(workspace, "todo-assistant") as chat:
        updates = await updates_of(chat, "hello there")
    typing = [update for update in updates if update.kind == "typing"]
    assert len(typing) > 1
    assert "".join(update.text for update in typing) == typing[-1].accumulated == updates[-1].text
    assert updates[-1].kind == "final"


async def test_a_session_takes_one_turn_after_the_other(echo_workspace: Workspace) -> None:
    tool = EchoTool()
    async with chat_in(echo_workspace, tools={"echo_tool": tool}) as chat:
        for word in ("one", "two", "three"):
            updates = await updates_of(chat, f"Call echo_tool with {word}")
            assert statuses(updates) == ["running", "done"]
            assert word in updates[-1].text
    assert tool.calls == [{"message": word} for word in ("one", "two", "three")]


async def test_a_call_is_approved(echo_workspace: Workspace) -> None:
    tool = EchoTool()
    asked = []
    async with chat_in(echo_workspace, tools={"echo_tool": tool}, require_approval=True) as chat:
        updates = await updates_of(chat, CALL, lambda update: asked.append(update) is None)
    assert [(update.name, update.input) for update in asked] == [("echo_tool", {"message": "hi"})]
    assert statuses(updates) == ["running", "done"]
    assert tool.calls == [{"message": "hi"}]
    assert updates[-1].kind == "final"
    assert "hi" in updates[-1].text


async def test_a_call_is_declined(echo_workspace: Workspace) -> None:
    tool = EchoTool()
    async with chat_in(echo_workspace, tools={"echo_tool": tool}, require_approval={"echo_tool"}) as chat:
        updates = await updates_of(chat, CALL, lambda _: False)
    assert tool.calls == []
    assert statuses(updates) == ["running", "failed"]
    assert updates[-1].kind == "final"
    assert declared_error(echo_workspace, chat)["code"] == "USER_CANCELLED"


@pytest.mark.parametrize(
    ("tools", "code"),
    [({}, "TOOL_NOT_REGISTERED"), ({"echo_tool": lambda payload: payload["nothing"]}, "TOOL_FAILED")],
    ids=["unknown tool", "throwing tool"],
)
async def test_a_call_fails(echo_workspace: Workspace, tools: dict[str, Any], code: str) -> None:
    async with chat_in(echo_workspace, tools=tools) as chat:
        updates = await updates_of(chat, CALL)
    assert statuses(updates) == ["running", "failed"]
    assert updates[-1].kind == "final"
    assert declared_error(echo_workspace, chat)["code"] == code


async def test_a_result_that_does_not_fit_is_an_error_and_the_session_is_busy(echo_workspace: Workspace) -> None:
    """What this client makes of RES-4 and RUN-2: it reports both, with the run that waits."""
    async with chat_in(echo_workspace, tools={"echo_tool": lambda payload: {"echo": "?"}}) as chat:
        refused = await updates_of(chat, CALL)
        busy = await updates_of(chat, "second")
    assert refused[-1].kind == "error"
    (waiting,) = {event["run_id"] for event in echo_workspace.log(chat.session_id or "")}
    assert [(update.kind, update.code, update.active_run_id) for update in busy] == [
        ("error", "SESSION_BUSY", waiting)
    ]


async def test_a_lost_answer_does_not_run_the_tool_again(echo_workspace: Workspace) -> None:
    """RES-3: the repeated resume gets the first answer, and nothing is applied twice."""
    tool, transport = EchoTool(), LosesFirstAnswer()
    async with httpx.AsyncClient(
        base_url=echo_workspace.url, headers=echo_workspace.headers, transport=transport
    ) as http:
        client = PantheonClient(echo_workspace.url, echo_workspace.api_key, client=http)
        updates = await updates_of(chat_in(echo_workspace, tools={"echo_tool": tool}, client=client), CALL)
    assert len(tool.calls) == 1
    assert statuses(updates) == ["running", "done"]
    assert updates[-1].kind == "final"
    first, second = transport.resumes
    assert first == second


def declared_error(workspace: Workspace, chat: PantheonChat) -> dict[str, Any]:
    """The error that the client answered its one call with."""
    (failed,) = [event for event in workspace.log(chat.session_id or "") if event["type"] == "tool.failed"]
    return failed["content"]["error"]
