"""The page "The command line" is true: every command runs, and prints what the page says."""

from __future__ import annotations

import os
from pathlib import Path

from mock import REPOSITORY, program
from page import check_page

PAGE = REPOSITORY / "docs/command-line.md"


def test_the_page_runs_as_it_is_printed(tmp_path: Path) -> None:
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    (bin_folder / "pantheon-mock").symlink_to(program().resolve())

    check_page(PAGE, tmp_path, {"PATH": f"{bin_folder}:{os.environ['PATH']}"})
