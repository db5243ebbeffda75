"""`pantheon-chat` 0.1.0 under the harness, which stands in for an application. Nothing here mends what the client does;
what it can't do (correct a result, continue a run, look a tool up) is not declared."""

import asyncio
import os

import httpx
from pantheon_chat import PantheonChat, PantheonClient

HELLO = {"name": "pantheon-chat", "version": "0.1.0", "language": "python", "protocol": 1}
CAPABILITIES = ["tools", "approval", "events", "items", "text", "cancel", "reuse"]


class Adapter(PantheonClient):  # Its events are reported as they pass; its chat finds a handler here for any tool.
    def __init__(self, task, hub):
        super().__init__(task["base_url"], task["api_key"])
        self.hub, self.run_id, self.started = hub, None, []
        self.chat = PantheonChat("", "", task.get("agent_slug", ""), client=self)
        self.chat.tools, self.chat.session_id = self, task.get("session_id")

    async def stream_events(self, *args, **options):
        self.run_id = options.get("run_id")
        async for event in super().stream_events(*args, **options):
            if event.durable:
                await self.report(kind="event", type=event.type, sse_id=event.sse_id, data=event.data)
            yield event

    def get(self, name):
        async def tool(**given):  # A handler is given the input alone, so the call is known by its tool and input.
            call = next((call for call in self.started if call[1:] == (name, given)), ("", name, given))
            self.started = [other for other in self.started if other is not call] + [call]
            answer = (await self.hub.post("/tool", json={"name": name, "input": given, "tool_call_id": call[0]})).json()
            if "content" in answer:
                return answer["content"]
            raise RuntimeError(answer.get("throw") or answer["error"]["message"])  # It has no other way to fail.
        return tool

    async def report(self, **item):
        await self.hub.post("/report", json={"items": [item]})

    async def converse(self, task):
        if "deployment_id" in task and not self.chat.session_id:
            self.chat.session_id = (await self.create_session(deployment_id=task["deployment_id"])).id
        self.chat.require_approval, done = set(task.get("approval", [])), {"status": "completed"}
        async for update in self.chat.run(task["message"]):
            if update.kind == "tool":
                if update.status == "running":
                    self.started.append((update.tool_call_id, update.name, update.input))
                item = {"tool_call_id": update.tool_call_id, "name": update.name}
                await self.report(kind="item", **item, status=update.status.replace("done", "completed"))
            elif update.kind == "approval":
                asked = {"name": update.name, "input": update.input, "tool_call_id": update.tool_call_id}
                approved = (await self.hub.post("/approve", json=asked)).json()["approved"]
                self.chat.resolve_approval(update.tool_call_id, approved)
            elif update.kind == "final":
                await self.report(kind="text", text=update.text)
                done |= {"text": update.text} | ({"status": "completed"} if done["status"] == "error" else {})
            elif update.kind == "error":
                error = {"code": "error"} | {name: said for name, said in vars(update).items() if said and name != "kind"}
                await self.report(kind="error", **error)
                status = {"run.failed": "failed", "run.cancelled": "cancelled"}.get(update.code, "error")
                done |= {"status": status, "error": error}
        return done | {"session_id": self.chat.session_id, "run_id": self.run_id}


async def carry_out(task, hub, sessions):
    do, session = task["do"], task.get("session_id")
    done = {"status": "completed" if do in ("observe", "exit") else "error"}
    # One chat a session, as an application has it; what is not said goes on beside it.
    adapter = do == "converse" and sessions.get(session) or Adapter(task, hub)
    try:
        if do == "converse":
            done = await adapter.converse(task)
            sessions[done["session_id"] or ""] = adapter
        elif do == "cancel":
            done = {"status": (await adapter.cancel_run(session, task["run_id"])).status}
        elif do == "observe":
            async for event in adapter.stream_events(session, last_event_id=task.get("last_event_id")):
                if task.get("until") in (event.type, event.sse_id):
                    break
    except Exception as error:  # What an application would see.
        done = {"status": "error", "error": {"code": type(error).__name__, "message": str(error)}}
    await adapter.hub.post("/done", json={"task_id": task["task_id"], **done})


async def main():
    sessions, url = {}, os.environ["PANTHEON_HARNESS_URL"]
    async with httpx.AsyncClient(base_url=url, timeout=None) as hub, asyncio.TaskGroup() as tasks:
        await hub.post("/hello", json={**HELLO, "capabilities": CAPABILITIES})
        while (answer := await hub.get("/task", params={"wait_ms": 10_000})).is_success:
            if answer.status_code == 200:  # Tasks run side by side: a cancel comes while a run goes on.
                task = answer.json()
                own = httpx.AsyncClient(base_url=task.get("harness_url", url), timeout=None)
                tasks.create_task(carry_out(task, own, sessions))
                if task["do"] == "exit":
                    return


asyncio.run(main())
