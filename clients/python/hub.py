"""A stand-in for the harness: it gives tasks, executes tools, and keeps what it is told."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SECONDS = 30


class Hub:
    def __init__(self) -> None:
        self.hello: dict[str, Any] = {}
        self.tool_calls: list[dict[str, Any]] = []
        self.approvals: list[dict[str, Any]] = []
        self.items: list[dict[str, Any]] = []
        self.on_tool: Callable[[dict[str, Any]], dict[str, Any]] = lambda call: {"content": {"echoed": call["input"]["message"]}}
        self.approved = True
        self._tasks: queue.Queue[dict[str, Any]] = queue.Queue()
        self._done: queue.Queue[dict[str, Any]] = queue.Queue()
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._answer(hub._tasks.get(timeout=SECONDS))

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self._answer(hub._take(self.path.removeprefix("/secret/"), body))

            def log_message(self, *_: object) -> None:
                pass

            def _answer(self, body: object) -> None:
                data = b"" if body is None else json.dumps(body).encode()
                self.send_response(204 if body is None else 200)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/secret"

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def give(self, **task: Any) -> None:
        self._tasks.put({"task_id": task["do"], "harness_url": self.url, **task})

    def done(self) -> dict[str, Any]:
        return self._done.get(timeout=SECONDS)

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [item for item in self.items if item["kind"] == kind]

    def _take(self, path: str, body: dict[str, Any]) -> object:
        match path:
            case "hello":
                self.hello = body
                return {"protocol": 1, "scenario": "test"}
            case "tool":
                self.tool_calls.append(body)
                return self.on_tool(body)
            case "approve":
                self.approvals.append(body)
                return {"approved": self.approved}
            case "report":
                self.items += body["items"]
            case "done":
                self._done.put(body)
        return None
