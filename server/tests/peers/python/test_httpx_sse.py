"""`httpx-sse`, a reader of event streams that knows nothing of Pantheon, sees a session's log exactly."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from httpx_sse import ServerSentEvent, connect_sse

from mock import Workspace

CALL = "Call echo_tool with hello"
FINISHED_RUN = [
    "run.started",
    "message.completed",
    "tool.started",
    "agent.custom_tool_use",
    "session.status_idle",
    "session.status_running",
    "tool.completed",
    "message.completed",
    "run.completed",
]


@contextmanager
def stream(workspace: Workspace, session_id: str, cursor: str = "", **query: str) -> Iterator[Iterator[ServerSentEvent]]:
    """The events of one connection."""
    headers = {"Last-Event-ID": cursor} if cursor else {}
    path = f"/v1/sessions/{session_id}/events/stream"
    with workspace.http() as http, connect_sse(http, "GET", path, headers=headers, params=query) as source:
        response = source.response
        assert response.status_code == 200
        assert response.headers["content-type"].split(";")[0] == "text/event-stream"
        assert response.headers["cache-control"] == "no-cache"
        assert "content-encoding" not in response.headers
        assert response.headers["x-pantheon-live-events"] == "live"
        yield source.iter_sse()


def data_of(event: ServerSentEvent) -> dict[str, Any]:
    """What a durable event tells, once it is sure that its frame tells the same."""
    data = json.loads(event.data)
    assert (event.event, event.id) == (data["type"], data["id"])
    assert event.retry is None
    return data


def read(workspace: Workspace, session_id: str, cursor: str = "") -> list[dict[str, Any]]:
    """Everything after `cursor`, to the end that the server makes."""
    with stream(workspace, session_id, cursor) as events:
        return [data_of(event) for event in events]


def answer_at_idle(workspace: Workspace, session_id: str) -> Callable[[dict[str, Any]], None]:
    """What a reader does to keep a run going: at a pause it answers what is asked."""

    def see(event: dict[str, Any]) -> None:
        if event["type"] == "session.status_idle":
            for event_id in event["content"]["stop_reason"]["event_ids"]:
                workspace.resume(session_id, event["run_id"], event_id, {"echoed": "hello"})

    return see


def finish_run(workspace: Workspace, session_id: str, cursor: str = "") -> list[dict[str, Any]]:
    """Starts a run that calls the tool, sees it through on one connection, and returns what came on it."""
    see, seen = answer_at_idle(workspace, session_id), []
    with stream(workspace, session_id, cursor) as events:
        workspace.start_run(session_id, CALL)
        for event in events:
            seen.append(data_of(event))
            see(seen[-1])
    return seen


@pytest.fixture
def session_id(echo_workspace: Workspace) -> str:
    return echo_workspace.open_session()


def test_the_log_is_read_as_it_is_listed(echo_workspace: Workspace, session_id: str) -> None:
    """SSE-2, SSE-5: live and replayed alike."""
    live = finish_run(echo_workspace, session_id)
    log = echo_workspace.log(session_id)
    assert [event["type"] for event in log] == FINISHED_RUN
    assert [event["sequence"] for event in log] == list(range(1, len(log) + 1))
    assert live == log
    assert read(echo_workspace, session_id) == log


def test_every_cursor_is_followed_by_exactly_the_rest(echo_workspace: Workspace, session_id: str) -> None:
    """SSE-5, through two runs; at the log's end the stream waits for the third."""
    finish_run(echo_workspace, session_id)
    finish_run(echo_workspace, session_id, cursor=echo_workspace.log(session_id)[-1]["id"])
    log = echo_workspace.log(session_id)
    assert [event["type"] for event in log] == FINISHED_RUN * 2

    for at, event in enumerate(log[:-1]):
        assert read(echo_workspace, session_id, cursor=event["id"]) == log[at + 1 :], event

    third = finish_run(echo_workspace, session_id, cursor=log[-1]["id"])
    assert third == echo_workspace.log(session_id)[len(log) :]


def test_a_new_connection_for_every_event(echo_workspace: Workspace, session_id: str) -> None:
    """SSE-5, while events are being appended: a reader that loses its connection after each of them."""
    see, seen, cursor = answer_at_idle(echo_workspace, session_id), [], ""
    echo_workspace.start_run(session_id, CALL)
    while not seen or seen[-1]["type"] != "run.completed":
        with stream(echo_workspace, session_id, cursor) as events:
            event = next(events)
        seen.append(data_of(event))
        cursor = event.id
        see(seen[-1])
    assert seen == echo_workspace.log(session_id)


def test_many_readers_at_once_see_the_same(echo_workspace: Workspace, session_id: str) -> None:
    """Some join before the run, some while it waits, some after its end."""
    readers = 6
    with ThreadPoolExecutor(2 * readers) as pool:
        early = [pool.submit(read, echo_workspace, session_id) for _ in range(readers)]
        see, late = answer_at_idle(echo_workspace, session_id), []
        with stream(echo_workspace, session_id) as events:
            echo_workspace.start_run(session_id, CALL)
            for event in events:
                if event.event == "session.status_idle":
                    late = [pool.submit(read, echo_workspace, session_id) for _ in range(readers)]
                see(data_of(event))
        log = echo_workspace.log(session_id)
        assert [event["type"] for event in log] == FINISHED_RUN
        assert len(late) == readers
        for reader in [*early, *late]:
            assert reader.result(timeout=30) == log


def test_a_delta_moves_no_cursor(echo_workspace: Workspace, session_id: str) -> None:
    """SSE-3: a delta has no `id:` line, so the reader's last id stays that of the durable event before it."""
    last, deltas, durable = "", 0, []
    with stream(echo_workspace, session_id, event_deltas="true") as events:
        echo_workspace.start_run(session_id, "hello")
        for event in events:
            data = json.loads(event.data)
            if "sequence" in data:
                durable.append(data_of(event))
                last = event.id
            else:
                assert event.event in {"message.started", "message.delta"}
                assert set(data) - {"delta"} == {"id", "type", "session_id", "run_id", "created_at"}
                assert (event.event, event.id) == (data["type"], last)
                assert data["id"] != last
                deltas += event.event == "message.delta"
    assert deltas > 1
    assert durable == echo_workspace.log(session_id)

    with stream(echo_workspace, session_id, event_deltas="true") as events:
        assert [data_of(event) for event in events] == durable, "a delta was replayed (SSE-10)"


@pytest.mark.parametrize("cursor", ["evt_never_issued", "0", "evt_"])
def test_a_cursor_that_the_session_never_gave_is_refused(
    echo_workspace: Workspace, session_id: str, cursor: str
) -> None:
    """SSE-6."""
    with echo_workspace.http() as http:
        response = http.get(f"/v1/sessions/{session_id}/events/stream", headers={"Last-Event-ID": cursor})
    assert (response.status_code, response.json()["error"]["code"]) == (400, "invalid_last_event_id")


def test_a_cursor_of_another_session_is_refused(echo_workspace: Workspace, session_id: str) -> None:
    """SSE-6: each event is known to its own session alone."""
    foreign = finish_run(echo_workspace, echo_workspace.open_session())[0]["id"]
    with echo_workspace.http() as http:
        response = http.get(f"/v1/sessions/{session_id}/events/stream", headers={"Last-Event-ID": foreign})
    assert response.status_code == 400


def test_a_session_of_another_key_is_unknown(echo_workspace: Workspace, session_id: str) -> None:
    """AUTH-3, and AUTH-2 without a key."""
    path = f"{echo_workspace.url}/v1/sessions/{session_id}/events/stream"
    foreign = httpx.get(path, headers=Workspace(echo_workspace.url).headers)
    assert (foreign.status_code, foreign.json()["error"]["code"]) == (404, "not_found")
    assert httpx.get(path).status_code == 401
