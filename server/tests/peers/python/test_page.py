"""The runner of pages tells right from wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from page import Block, differs, run, steps_of


@pytest.mark.parametrize(
    ("expected", "output"),
    [
        ('{"id": "tool_…"}', '{"id":"tool_1","name":"x"}'),
        ('{"a": [1, {"b": "…"}]}', '{"a":[1,{"b":"c","d":2}]}'),
        ('{"error": {}}\n409', '{"error":{"code":"x"}}\n409\n'),
        ('"…\\"…"', '"a\\"b"'),
    ],
)
def test_json_that_fits(expected: str, output: str) -> None:
    assert not differs(Block("json", 1, expected), output)


@pytest.mark.parametrize(
    ("expected", "output"),
    [
        ('{"id": "tool_…"}', '{"id":"agent_1"}'),
        ('{"id": "…"}', "{}"),
        ('{"id": "…"}', '{"id":1}'),
        ('{"data": []}', '{"data":[1]}'),
        ('{"n": 1}', '{"n":true}'),
        ("{}\n409", "{}\n201\n"),
        ("{}", "{}\n409\n"),
        ("{}", ""),
        ('{"a": "b.c"}', '{"a":"bxc"}'),
    ],
)
def test_json_that_does_not_fit(expected: str, output: str) -> None:
    assert differs(Block("json", 1, expected), output)


@pytest.mark.parametrize(
    ("expected", "output"),
    [
        ("a\n…\nd\n", "a\nb\nc\nd\n"),
        ("a\n…\nd\n", "a\nd\n"),
        ("id: evt_…\n\n", "id: evt_1\n\n"),
        ("a\n…\n", "a\r\nb\r\n\r\n"),
        ('{…"x":1}\n', '{"y":2,"x":1}\n'),
    ],
)
def test_text_that_fits(expected: str, output: str) -> None:
    assert not differs(Block("text", 1, expected), output)


@pytest.mark.parametrize(
    ("expected", "output"),
    [
        ("a\n…\nd\n", "a\nd\ne\n"),
        ("a\nb\n", "a\nx\nb\n"),
        ("a…c\n", "a\nc\n"),
        ("a\n", "b\n"),
        ("a\n", ""),
        ("a.c\n", "abc\n"),
    ],
)
def test_text_that_does_not_fit(expected: str, output: str) -> None:
    assert differs(Block("text", 1, expected), output)


def test_blocks_share_one_shell_and_keep_their_outputs_apart(tmp_path: Path) -> None:
    steps = steps_of("```bash\nx=1; echo one\n```\n\n```bash\ntrue\n```\n\n```bash\necho $x; printf end\n```\n")
    assert run(steps, tmp_path, {}, timeout=10) == ["one\n", "", "1\nend"]


def test_the_block_that_fails_is_named(tmp_path: Path) -> None:
    steps = steps_of("```bash\ntrue\n```\n\n```bash\necho said\nfalse | cat\necho never\n```\n")
    with pytest.raises(AssertionError, match="line 5 failed(?s:.*)said") as failure:
        run(steps, tmp_path, {}, timeout=10)
    assert "never" not in str(failure.value)


@pytest.mark.parametrize("markdown", ["```bsah\ntrue\n```\n", "```json\n{}\n```\n"])
def test_a_block_that_would_be_left_out_is_an_error(markdown: str) -> None:
    with pytest.raises(ValueError, match="line 1"):
        steps_of(markdown)
