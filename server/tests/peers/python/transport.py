"""Networks that fail between a real client and the mock, once and at a known place."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx


class CutsFirstStream(httpx.AsyncHTTPTransport):
    """Breaks the first event stream right after its `after`-th durable event."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self._after = after
        self.cursors: list[str | None] = []
        """The `Last-Event-ID` of each stream that was opened."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await super().handle_async_request(request)
        if request.url.path.endswith("/events/stream"):
            self.cursors.append(request.headers.get("last-event-id"))
            if len(self.cursors) == 1:
                response.stream = _Cut(response.stream, self._after)
        return response


class CountsKeepAlives(httpx.AsyncHTTPTransport):
    """Changes nothing, and counts the comments that event streams bring."""

    def __init__(self) -> None:
        super().__init__()
        self.keep_alives = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await super().handle_async_request(request)
        if request.url.path.endswith("/events/stream"):
            response.stream = _Counted(response.stream, self)
        return response


class LosesFirstAnswer(httpx.AsyncHTTPTransport):
    """Lets the first resume through, and its answer never arrive."""

    def __init__(self) -> None:
        super().__init__()
        self.resumes: list[tuple[str, bytes]] = []
        """The key and the body of each resume that was sent."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await super().handle_async_request(request)
        if request.url.path.endswith("/resume"):
            self.resumes.append((request.headers["idempotency-key"], await request.aread()))
            if len(self.resumes) == 1:
                await response.aread()
                await response.aclose()
                raise httpx.ReadError("the answer was lost", request=request)
        return response


class _Counted(httpx.AsyncByteStream):
    def __init__(self, stream: httpx.AsyncByteStream, tally: CountsKeepAlives) -> None:
        self._stream = stream
        self._tally = tally

    async def __aiter__(self) -> AsyncIterator[bytes]:
        line = b""
        async for chunk in self._stream:
            *lines, line = (line + chunk).split(b"\n")
            self._tally.keep_alives += lines.count(b": keep-alive")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


class _Cut(httpx.AsyncByteStream):
    def __init__(self, stream: httpx.AsyncByteStream, durable_events: int) -> None:
        self._stream = stream
        self._left = durable_events

    async def __aiter__(self) -> AsyncIterator[bytes]:
        rest = b""
        async for chunk in self._stream:
            *frames, rest = (rest + chunk).split(b"\n\n")
            for frame in frames:
                yield frame + b"\n\n"
                self._left -= b"\nid: " in frame
                if self._left == 0:
                    raise httpx.ReadError("the connection broke")

    async def aclose(self) -> None:
        await self._stream.aclose()
