"""`pantheon-chat` under the adapter, against the mock and a stand-in harness."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hub import Hub
from mock import REPOSITORY, Mock, Workspace

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def mock() -> Iterator[Mock]:
    running = Mock()
    yield running
    running.stop()


@pytest.fixture
def hub() -> Iterator[Hub]:
    hub = Hub()
    yield hub
    hub.stop()


class Client:
    """A program of this folder, in a workspace with the scenario `echo`."""

    def __init__(self, mock: Mock, hub: Hub, program: str) -> None:
        self.hub, self.workspace = hub, Workspace(mock.url)
        with self.workspace.http() as http:
            http.put("/__mock/scenario", content=(REPOSITORY / "scenarios/echo.yaml").read_bytes()).raise_for_status()
        self.process = subprocess.Popen(
            [sys.executable, HERE / program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ
            | {
                "no_proxy": "127.0.0.1",
                "PANTHEON_BASE_URL": mock.url,
                "PANTHEON_API_KEY": self.workspace.api_key,
                "PANTHEON_AGENT_SLUG": "demo",
                "PANTHEON_HARNESS_URL": hub.url,
            },
        )

    def perform(self, **task: Any) -> dict[str, Any]:
        self.hub.give(base_url=self.workspace.url, api_key=self.workspace.api_key, agent_slug="demo", **task)
        return self.hub.done()

    def end(self) -> None:
        assert self.perform(do="exit")["status"] == "completed"
        assert self.process.wait(timeout=30) == 0


@pytest.fixture
def adapter(mock: Mock, hub: Hub) -> Iterator[Client]:
    client = Client(mock, hub, "adapter.py")
    yield client
    client.process.kill()
    client.process.communicate()


def test_it_converses_and_reports_what_it_saw(adapter: Client) -> None:
    done = adapter.perform(do="converse", message="hi")
    assert (done["status"], done["text"]) == ("completed", "It returned: hi")
    hub = adapter.hub
    assert hub.hello["protocol"] == 1 and "durable" not in hub.hello["capabilities"]
    assert [call["input"] for call in hub.tool_calls] == [{"message": "hi"}]
    assert hub.tool_calls[0]["tool_call_id"] == hub.of("item")[0]["tool_call_id"]
    assert [item["status"] for item in hub.of("item")] == ["running", "completed"]
    assert [item["text"] for item in hub.of("text")] == [done["text"]]
    assert [item["data"] for item in hub.of("event")] == adapter.workspace.log(done["session_id"])
    adapter.end()


def test_a_session_goes_on_with_another_message(adapter: Client) -> None:
    session = adapter.perform(do="converse", message="one")["session_id"]
    done = adapter.perform(do="converse", message="two", session_id=session)
    assert (done["session_id"], done["text"]) == (session, "It returned: two")


def test_it_asks_for_approval(adapter: Client) -> None:
    adapter.hub.approved = False
    done = adapter.perform(do="converse", message="hi", approval=["echo_tool"])
    assert (done["status"], len(adapter.hub.approvals), len(adapter.hub.tool_calls)) == ("completed", 1, 0)


def test_a_tool_that_throws(adapter: Client) -> None:
    adapter.hub.on_tool = lambda call: {"throw": "out of paper"}
    done = adapter.perform(do="converse", message="hi")
    assert done["text"] == "It returned: out of paper"


def test_it_observes_and_cancels(adapter: Client) -> None:
    session = adapter.workspace.open_session()
    run = adapter.workspace.start_run(session, "hi")
    assert adapter.perform(do="observe", session_id=session, until="session.status_idle")["status"] == "completed"
    assert adapter.hub.of("event")[-1]["type"] == "session.status_idle"
    assert adapter.perform(do="cancel", session_id=session, run_id=run)["status"] == "cancelled"
    busy = adapter.perform(do="cancel", session_id=session, run_id=run)
    assert (busy["status"], busy["error"]["code"]) == ("error", "PantheonHTTPError")


def test_its_terminal_program_takes_messages_from_standard_input(mock: Mock, hub: Hub) -> None:
    client = Client(mock, hub, "terminal.py")
    printed, _ = client.process.communicate("one\ntwo\n", timeout=30)
    assert client.process.returncode == 0
    assert "It returned: one" in printed and "It returned: two" in printed
    assert len(hub.tool_calls) == 2
