"""One mock for all tests; for each test a workspace of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from pantheon_chat import PantheonClient

from mock import Mock, Workspace


@pytest.fixture(scope="session", autouse=True)
def no_proxy() -> Iterator[None]:
    """The mock is on this machine, whatever stands between it and the world."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("no_proxy", "NO_PROXY"):
            patch.setenv(name, "127.0.0.1,localhost")
        yield


@pytest.fixture(scope="session")
def mock() -> Iterator[Mock]:
    running = Mock()
    yield running
    running.stop()


@pytest.fixture
def workspace(mock: Mock) -> Workspace:
    return Workspace(mock.url)


@pytest.fixture
def echo_workspace(workspace: Workspace) -> Workspace:
    """A workspace whose agent `demo` has `echo_tool`."""
    workspace.deploy_echo()
    return workspace


@pytest.fixture
async def client(workspace: Workspace) -> AsyncIterator[PantheonClient]:
    """The public client, on its own in a workspace."""
    async with PantheonClient(workspace.url, workspace.api_key) as client:
        yield client
