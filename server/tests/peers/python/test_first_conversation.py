"""The page "A first conversation" is true: every command runs, and prints what the page says."""

from __future__ import annotations

from pathlib import Path

from mock import REPOSITORY, Workspace
from page import differs, run, steps_of

PAGE = REPOSITORY / "docs/first-conversation.md"


def test_the_page_runs_as_it_is_printed(workspace: Workspace, tmp_path: Path) -> None:
    steps = steps_of(PAGE.read_text())
    assert steps, f"{PAGE} has no commands"
    env = {"PANTHEON_BASE_URL": workspace.url, "PANTHEON_API_KEY": workspace.api_key}

    outputs = run(steps, tmp_path, env, timeout=45)

    for step, output in zip(steps, outputs, strict=True):
        for expected in step.expected:
            assert not differs(expected, output), (
                f"{PAGE.name}, line {expected.line}: expected\n{expected.text}\nbut it printed\n{output}"
            )
