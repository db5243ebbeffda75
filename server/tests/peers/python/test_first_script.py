"""The page "A first script" is true: every command runs, and prints what the page says."""

from __future__ import annotations

from pathlib import Path

from mock import REPOSITORY, Workspace
from page import check_page

PAGE = REPOSITORY / "docs/scenarios/first-script.md"


def test_the_page_runs_as_it_is_printed(workspace: Workspace, tmp_path: Path) -> None:
    check_page(PAGE, tmp_path, {"PANTHEON_BASE_URL": workspace.url, "PANTHEON_API_KEY": workspace.api_key})
