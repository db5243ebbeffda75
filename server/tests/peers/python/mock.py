"""One running pantheon-mock, and the workspaces that tests have in it."""

from __future__ import annotations

import json
import os
import selectors
import signal
import ssl
import subprocess
import tempfile
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

REPOSITORY = Path(__file__).resolve().parents[4]

# Nothing here is encrypted, and httpx would read the machine's certificates for every client.
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

ECHO_TOOL = {
    "name": "echo_tool",
    "display_name": "Echo tool",
    "description": "Echo a message.",
    "input_schema": {
        "type": "object",
        "properties": {"message": {"type": "string"}},
        "required": ["message"],
        "additionalProperties": False,
    },
    "output_schema": {
        "type": "object",
        "properties": {"echoed": {"type": "string"}},
        "required": ["echoed"],
        "additionalProperties": False,
    },
}


def program() -> Path:
    """The program that is tested."""
    found = Path(os.environ.get("PANTHEON_MOCK", REPOSITORY / "target/debug/pantheon-mock"))
    assert found.is_file(), f"no mock at {found}: run `cargo build`, or name it in PANTHEON_MOCK"
    return found


class Mock:
    """A mock on a free port, from its ready line to its clean end."""

    READY_SECONDS = 30
    STOP_SECONDS = 10

    def __init__(self) -> None:
        self._log = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            [program(), "--port", "0"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._log
        )
        try:
            ready = json.loads(self._first_line())
            assert ready["event"] == "ready" and ready["pid"] == self._process.pid, ready
        except BaseException:
            self._end()
            raise
        self.url: str = ready["url"]

    def stop(self) -> None:
        """Asks it to end, as a user does, and holds it to its promises: exit code 0, one line on stdout."""
        self._process.send_signal(signal.SIGTERM)
        try:
            rest, _ = self._process.communicate(timeout=self.STOP_SECONDS)
            assert self._process.returncode == 0, self._what_it_logged()
            assert rest == b"", f"more than one line on stdout: {rest!r}"
        finally:
            self._end()

    def _first_line(self) -> bytes:
        stdout = self._process.stdout
        assert stdout is not None
        line = b""
        give_up = time.monotonic() + self.READY_SECONDS
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ)
            while not line.endswith(b"\n"):
                came = selector.select(max(0.0, give_up - time.monotonic()))
                byte = os.read(stdout.fileno(), 1) if came else b""
                assert byte, f"no ready line, only {line!r}: {self._what_it_logged()}"
                line += byte
        return line

    def _end(self) -> None:
        self._process.kill()
        self._process.communicate()
        self._log.close()

    def _what_it_logged(self) -> str:
        self._log.seek(0)
        return self._log.read().decode(errors="replace")


@dataclass(frozen=True)
class Workspace:
    """What one API key sees of the mock. Nothing in it is shared with another test."""

    url: str
    api_key: str = field(default_factory=lambda: f"pk_test_{uuid.uuid4().hex}")

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.api_key}"}

    def http(self) -> httpx.Client:
        return httpx.Client(base_url=self.url, headers=self.headers, timeout=30, verify=NO_TLS)

    def get(self, path: str, **params: Any) -> dict[str, Any]:
        return self._request("GET", path, params=params)

    def post(self, path: str, body: Any, **headers: str) -> dict[str, Any]:
        return self._request("POST", path, json=body, headers=headers)

    def put(self, path: str, body: Any) -> dict[str, Any]:
        return self._request("PUT", path, json=body)

    def deploy_echo(self, slug: str = "demo") -> None:
        """An agent that has `echo_tool` and nothing else."""
        tool = self.post("/v1/tools", ECHO_TOOL)
        agent = self.post("/v1/agents", {"name": "Echo agent", "slug": slug})
        definition_id = tool["latest_definition"]["id"]
        self.post("/v1/deployments", {"agent_id": agent["id"], "tool_definition_ids": [definition_id]})

    def open_session(self, slug: str = "demo") -> str:
        return self.post("/v1/sessions", {"agent_slug": slug})["id"]

    def start_run(self, session_id: str, message: str) -> str:
        event = {"type": "user.message", "content": [{"type": "text", "text": message}]}
        return self.post(f"/v1/sessions/{session_id}/runs", {"events": [event]})["run_id"]

    def resume(self, session_id: str, run_id: str, event_id: str, content: dict[str, Any]) -> None:
        event = {"type": "user.custom_tool_result", "in_reply_to_event_id": event_id, "content": content}
        key = {"Idempotency-Key": f"resume-{event_id}"}
        self.post(f"/v1/sessions/{session_id}/runs/{run_id}/resume", {"events": [event]}, **key)

    def log(self, session_id: str) -> list[dict[str, Any]]:
        """All durable events of a session, as the list tells them."""
        events: list[dict[str, Any]] = []
        page: dict[str, Any] = {"has_more": True, "next_cursor": None}
        while page["has_more"]:
            after = {} if page["next_cursor"] is None else {"cursor": page["next_cursor"]}
            page = self.get(f"/v1/sessions/{session_id}/events", limit=100, **after)
            events += page["data"]
        return events

    def _request(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        with self.http() as http:
            response = http.request(method, path, **options)
        assert response.is_success, f"{method} {path}: {response.status_code} {response.text}"
        return response.json()
