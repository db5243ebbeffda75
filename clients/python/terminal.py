"""`python -m pantheon_chat`, given handlers: plain mode, with messages on standard input (`--feed stdin`).

By itself the terminal program has no handler for any tool. Its tools are those that the service lists.
"""

import os
import sys

import httpx
from pantheon_chat.cli import main


def handler(name):
    def tool(**given):
        body = {"name": name, "input": given, "tool_call_id": ""}
        answer = httpx.post(f"{os.environ['PANTHEON_HARNESS_URL']}/tool", json=body, timeout=None).json()
        if "content" in answer:
            return answer["content"]
        raise RuntimeError(answer.get("throw") or answer["error"]["message"])

    return tool


headers = {"Authorization": f"Bearer {os.environ['PANTHEON_API_KEY']}"}
listed = httpx.get(f"{os.environ['PANTHEON_BASE_URL']}/v1/tools", params={"limit": 100}, headers=headers).json()
sys.exit(main(["--auto-approve", *sys.argv[1:]], tools={tool["name"]: handler(tool["name"]) for tool in listed["data"]}))
