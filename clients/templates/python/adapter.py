"""An adapter between pantheon-conformance and your client.

    pantheon-conformance run -- python3 adapter.py

The harness starts this program, which then asks it what to do, does it by means of your client, and tells what your
client saw. As it stands it holds a naive client, `converse` below, so you get a certificate with some green and some
red. Put your own client in its place. Only the standard library is used.
"""

import json
import os
import urllib.request

# What your client can do; the rules that need more are not asked. Others that the harness knows: "correct", "approval",
# "items", "registry", "cancel", "durable", "idle", "parallel-calls".
CAPABILITIES = ["tools", "events", "text", "reuse"]


def converse(task, hub):
    """CALL YOUR CLIENT HERE. It says `task["message"]` to the agent and follows the run to its end.

    What it should tell meanwhile: each durable event (`hub.event`), the final text (`hub.text`); and it executes a tool
    by asking the harness (`hub.tool`). It returns what became of the run.
    """
    api = Naive(task["base_url"], task["api_key"])
    session = task.get("session_id") or api.post("/v1/sessions", {"agent_slug": task["agent_slug"]})["id"]
    message = {"type": "user.message", "content": [{"type": "text", "text": task["message"]}]}
    run = api.post(f"/v1/sessions/{session}/runs", {"events": [message]})["run_id"]

    calls, text, status = {}, None, "error"
    for event_id, event in api.events(session):
        hub.event(event["type"], event_id, event)
        content = event.get("content")
        if event.get("run_id") != run:
            continue
        if event["type"] == "agent.custom_tool_use":
            calls[event_id] = content
        elif event["type"] == "session.status_idle":
            for required in content["stop_reason"]["event_ids"]:
                answer = hub.tool(calls[required])
                reply = {"type": "user.custom_tool_result", "in_reply_to_event_id": required}
                if "content" in answer:
                    reply["content"] = answer["content"]
                else:
                    reply["error"] = answer.get("error", FAILED)
                api.post(f"/v1/sessions/{session}/runs/{run}/resume", {"events": [reply]}, key=f"resume-{required}")
        elif event["type"] == "message.completed":
            text = "".join(part["text"] for part in content)
        elif event["type"] in ("run.completed", "run.failed", "run.cancelled"):
            status = event["type"].removeprefix("run.")
            break
    if status == "completed" and text is not None:
        hub.text(text)
    return {"status": status, "session_id": session, "run_id": run, "text": text}


FAILED = {"code": "TOOL_FAILED", "message": "The tool has failed.", "retryable": False}


class Naive:
    """A client that believes that nothing ever goes wrong: it never reconnects, never repeats, never looks twice."""

    def __init__(self, base_url, api_key):
        self.base_url, self.headers = base_url, {"Authorization": f"Bearer {api_key}"}

    def post(self, path, body, key=None):
        headers = {**self.headers, "Content-Type": "application/json", **({"Idempotency-Key": key} if key else {})}
        request = urllib.request.Request(self.base_url + path, json.dumps(body).encode(), headers)
        return json.load(DIRECTLY.open(request))

    def events(self, session):
        request = urllib.request.Request(f"{self.base_url}/v1/sessions/{session}/events/stream", headers=self.headers)
        event_id = None
        for line in DIRECTLY.open(request):
            field, _, value = line.decode().rstrip("\n").partition(": ")
            if field == "id":
                event_id = value
            elif field == "data" and event_id:
                yield event_id, json.loads(value)


# ---- From here on it is the protocol of the harness, the same for every client. ----


class Hub:
    """What a client can ask and tell the harness while it carries out a task."""

    def __init__(self, url):
        self.url = url

    def call(self, path, body=None):
        """A request to the harness; nothing where the answer is empty."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/{path}", data, {"Content-Type": "application/json"})
        with DIRECTLY.open(request) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def tool(self, call):
        """Executes a tool, once: {"content"}, {"error": {"code", "message", "retryable"}} or {"throw": why}."""
        keys = ("name", "input", "tool_call_id", "execution_idempotency_key")
        return self.call("tool", {key: call[key] for key in keys})

    def event(self, type, sse_id, data):
        self.call("report", {"items": [{"kind": "event", "type": type, "sse_id": sse_id, "data": data}]})

    def text(self, text):
        self.call("report", {"items": [{"kind": "text", "text": text}]})


def main():
    harness = Hub(os.environ["PANTHEON_HARNESS_URL"])
    hello = {"name": "my-client", "version": "0.1.0", "language": "python", "protocol": 1}
    harness.call("hello", {**hello, "capabilities": CAPABILITIES})
    while True:
        task = harness.call("task?wait_ms=10000")
        if task is None:
            continue  # There is none yet.
        hub = Hub(task.get("harness_url", harness.url))
        try:
            if task["do"] == "converse":
                done = converse(task, hub)
            else:  # continue, observe, register and cancel come to clients that declare the capability.
                done = {"status": "completed" if task["do"] == "exit" else "error"}
        except (OSError, ValueError, KeyError) as error:
            done = {"status": "error", "error": {"code": type(error).__name__, "message": str(error)}}
        hub.call("done", {"task_id": task["task_id"], **done})
        if task["do"] == "exit":
            return


# Harness and service are on this machine, whatever stands between it and the world.
DIRECTLY = urllib.request.build_opener(urllib.request.ProxyHandler({}))

if __name__ == "__main__":
    main()
