"""The clock of a twin."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from dynatwin import _words
from dynatwin._dynatwin import Engine

# The interval in real seconds at which sleepers check a clock that another thread may have advanced.
_GLANCE = 0.05
_POLL = 0.002


class Clock:
    """The clock of a twin and its clients.

    A settable clock stands still until a test advances it or a client sleeps on it, so a retry's pause takes no real
    time.

    >>> from dynatwin import Twin
    >>> twin = Twin(seed=7)
    >>> twin.clock.advance(48 * 3600)
    >>> twin.clock.now().isoformat()
    '2026-01-03T00:00:00+00:00'
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._moved = threading.Condition()

    def now(self) -> datetime:
        """Returns the current moment, in UTC."""
        return _words.at(self._engine.now())

    def advance(self, by: float | timedelta) -> None:
        """Advances the clock by seconds, and applies all due work before it returns."""
        self._engine.advance(round(_words.seconds(by) * 1e6))
        self._wake()

    def set(self, moment: datetime | str) -> None:
        """Sets the clock to a later moment, and applies all due work before it returns."""
        moment = _words.parsed(moment) if isinstance(moment, str) else moment
        if not self._engine.set(_words.micros(moment)):
            raise ValueError(f"The clock cannot go back: it is {self.now().isoformat()}, after {moment.isoformat()}.")
        self._wake()

    def freeze(self) -> None:
        """Stops time until :meth:`unfreeze`, on any clock: only :meth:`advance` and :meth:`set` change it. Sleepers
        keep sleeping."""
        self._engine.freeze()

    def unfreeze(self) -> None:
        """Lets a frozen clock continue from where it stopped."""
        self._engine.unfreeze()
        self._wake()

    @property
    def frozen(self) -> bool:
        """Whether time is stopped by :meth:`freeze`."""
        return self._engine.frozen

    @property
    def settable(self) -> bool:
        """Whether the clock stands still until it is advanced."""
        return self._engine.settable

    @property
    def speed(self) -> float:
        """The clock's seconds per real second; 0 while it stands still."""
        return self._engine.speed or 0.0

    def sleep(self, length: float | timedelta) -> None:
        """Sleeps on this clock. A settable clock that is not frozen advances to the end of the sleep, and no real time
        passes."""
        end = self._end(length)
        while (left := end - self._engine.now()) > 0:
            if self.settable and not self.frozen:
                self._engine.set(end)
                self._wake()
                return
            with self._moved:
                self._moved.wait(self._glance(left))

    async def async_sleep(
        self, length: float | timedelta, real: Callable[[float], Awaitable[object]] | None = None
    ) -> None:
        """Sleeps on this clock without blocking the event loop. `real` sleeps in real time where that is needed;
        ``asyncio.sleep`` by default."""
        if real is None:
            import asyncio

            real = asyncio.sleep
        end = self._end(length)
        while (left := end - self._engine.now()) > 0:
            if self.settable and not self.frozen:
                self._engine.set(end)
                self._wake()
                break
            await real(min(self._glance(left), _POLL if self.frozen else _GLANCE))
        await real(0)

    def until(self, micros: int) -> float:
        """Returns the seconds until a moment in microseconds since 1970; 0 if it has passed."""
        return max(0.0, (micros - self._engine.now()) / 1e6)

    def _end(self, length: float | timedelta) -> int:
        return self._engine.now() + round(_words.seconds(length) * 1e6)

    def _glance(self, left: int) -> float:
        return min(left / 1e6 / self.speed, _GLANCE) if self.speed else _GLANCE

    def _wake(self) -> None:
        with self._moved:
            self._moved.notify_all()

    def __repr__(self) -> str:
        return f"<dynatwin.Clock {self.now().isoformat()}>"
