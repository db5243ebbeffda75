"""`pantheon-chat`, unchanged, against the mock: what its authors expect of the service holds.

The tests follow those that the package ships for its own fake server.
"""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from pantheon_chat import (
    PantheonClient,
    PantheonHTTPError,
    Run,
    SessionBusyError,
    StreamEvent,
    SyncPantheonClient,
)
from pantheon_chat.client import idle_requires_action
from pantheon_chat.events import content_text, delta_text

from mock import ECHO_TOOL, Workspace
from transport import CountsKeepAlives, CutsFirstStream

CALL = "Call echo_tool with hi"


async def events_of(client: PantheonClient, session_id: str, **options: Any) -> list[StreamEvent]:
    return [event async for event in client.stream_events(session_id, **options)]


async def until_idle(client: PantheonClient, session_id: str, run: Run) -> list[StreamEvent]:
    """The events of a run up to its pause."""
    events = []
    stream = client.stream_events(session_id, run_id=run.run_id)
    try:
        async for event in stream:
            events.append(event)
            if event.type == "session.status_idle":
                return events
    finally:
        await stream.aclose()
    raise AssertionError(f"no pause in {[event.type for event in events]}")


async def paused_run(client: PantheonClient) -> tuple[str, Run, list[StreamEvent]]:
    session = await client.create_session(agent_slug="demo")
    run = await client.start_run(session.id, CALL)
    return session.id, run, await until_idle(client, session.id, run)


def only(events: list[StreamEvent], event_type: str) -> StreamEvent:
    (event,) = [event for event in events if event.type == event_type]
    return event


async def test_a_message_is_answered_in_deltas(client: PantheonClient) -> None:
    """The loop of the package's README, with the demo agent (RUN-5, SSE-3, SSE-11)."""
    session = await client.create_session(agent_slug="todo-assistant", title="t")
    assert session.status == "idle"
    assert session.title == "t"
    assert session.sandbox_status == "none"

    run = await client.start_run(session.id, "What is 15 + 15?")
    assert run.status == "queued"
    events = await events_of(client, session.id, run_id=run.run_id, stop_on_terminal=True)

    types = [event.type for event in events]
    assert types[0] == "run.started"
    assert types[-1] == "run.completed"
    assert types.index("message.delta") < types.index("message.completed")
    deltas = [delta_text(event.payload()) for event in events if event.type == "message.delta"]
    assert len(deltas) > 1
    completed = only(events, "message.completed")
    assert completed.durable
    assert "".join(deltas) == content_text(completed.content) != ""
    assert all(event.sse_id is None for event in events if event.type in {"message.started", "message.delta"})


async def test_a_stream_ends_by_itself_after_the_run(client: PantheonClient) -> None:
    """SSE-11: nobody tells this reader to stop."""
    session = await client.create_session(agent_slug="todo-assistant")
    run = await client.start_run(session.id, "hello")
    events = await events_of(client, session.id, run_id=run.run_id)
    assert events[-1].type == "run.completed"


async def test_a_call_pauses_the_run_and_its_result_resumes_it(
    echo_workspace: Workspace, client: PantheonClient
) -> None:
    session_id, run, before = await paused_run(client)
    question, idle = only(before, "agent.custom_tool_use"), only(before, "session.status_idle")
    assert question.content["name"] == "echo_tool"
    assert question.content["input"] == {"message": "hi"}
    assert question.content["pending_input_id"]
    assert idle_requires_action(idle) == [question.sse_id]

    result = await client.resume_with_tool_result(session_id, run.run_id, question.sse_id or "", content={"echoed": "hi"})
    assert result.run_id == run.run_id
    assert result.accepted_events == [
        {"type": "user.custom_tool_result", "in_reply_to_event_id": question.sse_id}
    ]
    assert result.remaining_event_ids == []

    after = await events_of(
        client, session_id, last_event_id=idle.sse_id, run_id=run.run_id, stop_on_terminal=True
    )
    types = [event.type for event in after if event.durable]
    assert types == ["session.status_running", "tool.completed", "message.completed", "run.completed"]
    assert only(after, "tool.completed").content["output"] == {"echoed": "hi"}
    assert "hi" in content_text(only(after, "message.completed").content)

    of_the_call = [
        event.content["tool_call_id"]
        for event in [*before, *after]
        if event.type in {"tool.started", "agent.custom_tool_use", "tool.completed"}
    ]
    assert len(of_the_call) == 3
    assert len(set(of_the_call)) == 1
    durable = [event for event in [*before, *after] if event.durable]
    assert [event.seq for event in durable] == list(range(1, len(durable) + 1))
    assert len({event.raw["workspace_id"] for event in durable}) == 1
    assert all(event.raw["created_at"].endswith("Z") for event in durable)


async def test_a_call_is_declined(echo_workspace: Workspace, client: PantheonClient) -> None:
    session_id, run, before = await paused_run(client)
    error = {"code": "USER_CANCELLED", "message": "The user declined this action.", "retryable": False}
    question = only(before, "agent.custom_tool_use")
    await client.resume_with_tool_result(session_id, run.run_id, question.sse_id or "", error=error)

    events = await events_of(client, session_id, run_id=run.run_id, stop_on_terminal=True)
    assert only(events, "tool.failed").content["error"] == error
    assert events[-1].type == "run.completed"


async def test_a_key_stands_for_one_resume(echo_workspace: Workspace, client: PantheonClient) -> None:
    """RES-3 and RES-7."""
    session_id, run, before = await paused_run(client)
    event_id = only(before, "agent.custom_tool_use").sse_id or ""

    async def resume(echoed: str, key: str) -> Any:
        return await client.resume_with_tool_result(
            session_id, run.run_id, event_id, content={"echoed": echoed}, idempotency_key=key
        )

    first = await resume("hi", "resume-contract-key")
    replay = await resume("hi", "resume-contract-key")
    assert replay.raw == first.raw

    with pytest.raises(PantheonHTTPError) as changed:
        await resume("changed", "resume-contract-key")
    assert (changed.value.status_code, changed.value.code) == (409, "idempotency_conflict")
    with pytest.raises(PantheonHTTPError) as late:
        await resume("hi", "another-valid-key")
    assert (late.value.status_code, late.value.code) == (409, "event_already_resolved")

    events = await events_of(client, session_id, run_id=run.run_id, stop_on_terminal=True)
    assert only(events, "tool.completed").content["output"] == {"echoed": "hi"}


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"Authorization": ""}, 401, "unauthorized"),
        ({"Idempotency-Key": None}, 400, "invalid_idempotency_key"),
        ({"Idempotency-Key": "7 chars"}, 400, "invalid_idempotency_key"),
        ({"Idempotency-Key": "x" * 256}, 400, "invalid_idempotency_key"),
        ({"Idempotency-Key": "8 chars."}, 400, "invalid_event_reference"),
        ({"Idempotency-Key": "x" * 255}, 400, "invalid_event_reference"),
    ],
    ids=["no api key", "no key", "short key", "long key", "shortest key", "longest key"],
)
async def test_a_resume_is_refused(
    echo_workspace: Workspace, client: PantheonClient, change: dict[str, str | None], status: int, code: str
) -> None:
    """AUTH-2, RES-2 and RES-6, of a request that this client would not send: its event is none of this run's."""
    session_id, run, _ = await paused_run(client)
    headers = {**echo_workspace.headers, "Idempotency-Key": "a-valid-key"} | change
    event = {"type": "user.custom_tool_result", "in_reply_to_event_id": "wrong_event", "content": {}}
    async with httpx.AsyncClient(base_url=echo_workspace.url) as http:
        response = await http.post(
            f"/v1/sessions/{session_id}/runs/{run.run_id}/resume",
            json={"events": [event]},
            headers={name: value for name, value in headers.items() if value is not None},
        )
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (status, code)
    assert error["request_id"] == response.headers["x-request-id"]
    if status == 401:
        assert response.headers["www-authenticate"] == "Bearer"


async def test_a_result_that_does_not_fit_is_refused_and_the_run_waits_on(
    echo_workspace: Workspace, client: PantheonClient
) -> None:
    """RES-4 and RES-5: the same key serves the corrected result."""
    session_id, run, before = await paused_run(client)
    event_id = only(before, "agent.custom_tool_use").sse_id or ""
    key = "corrected-later"
    with pytest.raises(PantheonHTTPError) as refused:
        await client.resume_with_tool_result(session_id, run.run_id, event_id, content={}, idempotency_key=key)
    assert (refused.value.status_code, refused.value.code) == (422, "tool_result_invalid")
    assert [detail["path"] for detail in refused.value.body["error"]["details"]] == ["/events/0/content/echoed"]

    await client.resume_with_tool_result(
        session_id, run.run_id, event_id, content={"echoed": "hi"}, idempotency_key=key
    )
    events = await events_of(client, session_id, run_id=run.run_id, stop_on_terminal=True)
    assert events[-1].type == "run.completed"


async def test_a_busy_session_is_freed_by_cancel(echo_workspace: Workspace, client: PantheonClient) -> None:
    """RUN-2 and RUN-3."""
    session_id, first, _ = await paused_run(client)
    with pytest.raises(SessionBusyError) as busy:
        await client.start_run(session_id, "second")
    assert busy.value.status_code == 409
    assert busy.value.active_run_id == first.run_id
    assert busy.value.active_run_status == "waiting"
    assert busy.value.recovery == ["resume", "cancel"]
    assert busy.value.request_id

    cancelled = await client.cancel_run(session_id, first.run_id)
    assert (cancelled.run_id, cancelled.session_id, cancelled.status) == (first.run_id, session_id, "cancelled")
    with pytest.raises(PantheonHTTPError) as again:
        await client.cancel_run(session_id, first.run_id)
    assert (again.value.status_code, again.value.code) == (409, "run_not_active")

    second = await client.start_run(session_id, "after cancel")
    assert second.run_id != first.run_id
    events = await events_of(client, session_id)
    ends = [(event.run_id, event.type) for event in events if event.terminal]
    assert ends == [(first.run_id, "run.cancelled"), (second.run_id, "run.completed")]
    assert "tool.failed" not in {event.type for event in events}


async def test_an_archived_session_takes_no_more_runs(client: PantheonClient) -> None:
    """SESS-2."""
    session = await client.create_session(agent_slug="todo-assistant")
    first, again = await client.archive_session(session.id), await client.archive_session(session.id)
    assert first.status == "archived"
    assert first.archived_at
    assert again == first
    with pytest.raises(PantheonHTTPError) as refused:
        await client.start_run(session.id, "hello")
    assert (refused.value.status_code, refused.value.code) == (409, "session_archived")


async def test_a_tool_an_agent_and_a_deployment(client: PantheonClient) -> None:
    """TOOL-2, AGENT-1 and DEPLOY-1: made, used, and the agent deleted."""
    tool = await client.create_tool(**ECHO_TOOL)
    assert tool.name == "echo_tool"
    assert tool.display_name == "Echo tool"
    assert tool.latest_version == 1
    assert tool.definition_id
    agent = await client.create_agent(
        name="Hello agent",
        slug="hello-test",
        system_prompt="Call echo_tool when asked to.",
        requires_sandbox=False,
        tool_requirements=[{"tool_id": tool.id, "required": True}],
    )
    assert (agent.slug, agent.version) == ("hello-test", 1)
    deployment = await client.create_deployment(
        agent_id=agent.id, agent_version=agent.version, tool_definition_ids=[tool.definition_id]
    )
    assert deployment.agent_id == agent.id

    session = await client.create_session(deployment_id=deployment.id)
    await client.delete_agent(agent.id)
    assert session.agent_slug == "hello-test"
    with pytest.raises(PantheonHTTPError) as gone:
        await client.create_session(agent_slug="hello-test")
    assert (gone.value.status_code, gone.value.code) == (404, "not_found")
    again = await client.create_agent(name="Hello agent", slug="hello-test")
    assert again.id != agent.id

    run = await client.start_run(session.id, CALL)
    assert only(await until_idle(client, session.id, run), "agent.custom_tool_use").content["name"] == "echo_tool"


async def test_a_taken_name_and_a_taken_slug_name_who_has_them(
    echo_workspace: Workspace, client: PantheonClient
) -> None:
    """TOOL-3 and AGENT-1."""
    (tool,) = echo_workspace.get("/v1/tools", name="echo_tool")["data"]
    with pytest.raises(PantheonHTTPError) as name_taken:
        await client.create_tool(**ECHO_TOOL)
    assert (name_taken.value.status_code, name_taken.value.code) == (409, "idempotency_conflict")
    assert name_taken.value.body["error"]["details"] == {"tool_id": tool["id"]}
    with pytest.raises(PantheonHTTPError) as slug_taken:
        await client.create_agent(name="Another", slug="demo")
    assert (slug_taken.value.status_code, slug_taken.value.code) == (409, "idempotency_conflict")
    assert slug_taken.value.body["error"]["details"]["agent_id"]


@pytest.mark.parametrize("durable_events", range(1, 5))
async def test_a_cut_stream_is_taken_up_again(echo_workspace: Workspace, durable_events: int) -> None:
    """SSE-5: nothing lost, nothing twice, whatever event the connection broke after."""
    transport = CutsFirstStream(after=durable_events)
    async with httpx.AsyncClient(
        base_url=echo_workspace.url, headers=echo_workspace.headers, transport=transport
    ) as http:
        client = PantheonClient(echo_workspace.url, echo_workspace.api_key, client=http)
        session_id, _, events = await paused_run(client)
    durable = [event.data for event in events if event.durable]
    assert durable == echo_workspace.log(session_id)
    assert transport.cursors == [None, durable[durable_events - 1]["id"]]


async def test_keep_alives_are_no_events(echo_workspace: Workspace) -> None:
    """SSE-9: a minute of waiting, which passes at once, brings four comments and no event."""
    echo_workspace.put("/__mock/clock", {"mode": "virtual"})
    transport = CountsKeepAlives()
    events = []
    async with httpx.AsyncClient(
        base_url=echo_workspace.url, headers=echo_workspace.headers, transport=transport
    ) as http:
        client = PantheonClient(echo_workspace.url, echo_workspace.api_key, client=http)
        session = await client.create_session(agent_slug="demo")
        run = await client.start_run(session.id, CALL)
        async for event in client.stream_events(session.id, run_id=run.run_id, stop_on_terminal=True):
            events.append(event)
            if event.type == "session.status_idle":
                echo_workspace.post("/__mock/clock/advance", {"by": "1m"})
                question = only(events, "agent.custom_tool_use").sse_id or ""
                await client.resume_with_tool_result(session.id, run.run_id, question, content={"echoed": "hi"})
    assert [event.data for event in events if event.durable] == echo_workspace.log(session.id)
    assert events[-1].type == "run.completed"
    assert transport.keep_alives == 4


def test_the_synchronous_client(echo_workspace: Workspace) -> None:
    with SyncPantheonClient(echo_workspace.url, echo_workspace.api_key) as client:
        session = client.create_session(agent_slug="demo")
        run = client.start_run(session.id, CALL)
        events = []
        for event in client.stream_events(session.id, run_id=run.run_id):
            events.append(event)
            if event.type == "agent.custom_tool_use":
                question = event.sse_id or ""
            if event.type == "session.status_idle":
                client.resume_with_tool_result(session.id, run.run_id, question, content={"echoed": "hi"})
        durable = [event for event in events if event.durable]
        assert durable[-1].type == "run.completed"
        assert [event.data for event in durable] == echo_workspace.log(session.id)
        assert client.archive_session(session.id).status == "archived"
