"""What goes wrong beside a process' own loops: in a call of the event loop, or in the background.

Nobody would hear of it there, and whatever it was about would be waited for without end.
"""

import asyncio


class Failure:
    """The first error that somebody has told; it ends the process."""

    def __init__(self) -> None:
        """All is well."""
        self._error: BaseException | None = None
        self._told = asyncio.Event()

    def tell(self, error: BaseException) -> None:
        """Let the process end by this."""
        if self._error is None:
            self._error = error
            self._told.set()

    def watch(self, job: "asyncio.Future[None]") -> None:
        """See to it that an error in the background is told."""
        job.add_done_callback(self._look)

    async def run(self) -> None:
        """Wait for an error and raise it."""
        await self._told.wait()
        if self._error is not None:
            raise self._error

    def _look(self, job: "asyncio.Future[None]") -> None:
        if not job.cancelled() and (error := job.exception()) is not None:
            self.tell(error)
