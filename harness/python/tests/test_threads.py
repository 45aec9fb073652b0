"""Many threads share a twin."""

from __future__ import annotations

import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from dynatwin import Twin

THREADS = 8
EACH = 50


def test_no_increment_is_lost(twin: Twin) -> None:
    client = twin.client()

    def count(_: int) -> None:
        for _ in range(EACH):
            client.update_item(
                TableName="Orders",
                Key={"id": {"S": "a"}},
                UpdateExpression="ADD seen :one",
                ExpressionAttributeValues={":one": {"N": "1"}},
            )

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(count, range(THREADS)))
    assert twin.items("Orders") == [{"id": {"S": "a"}, "seen": {"N": str(THREADS * EACH)}}]


def test_controls_and_clients_from_many_threads(twin: Twin) -> None:
    twin.watch()
    together = threading.Barrier(THREADS)

    def work(number: int) -> int:
        together.wait()
        client = twin.client()
        with twin.faults.add("throttle", partition=str(number), first=1) as fault:
            client.put_item(TableName="Orders", Item={"id": {"S": str(number)}})
            twin.clock.advance(1)
            twin.requests()
            return fault.fired

    with ThreadPoolExecutor(THREADS) as pool:
        assert list(pool.map(work, range(THREADS))) == [1] * THREADS
    assert len(twin.items("Orders")) == THREADS


def test_a_request_lets_other_threads_run(twin: Twin) -> None:
    """Threads do not take the GIL from each other here, so another one runs only if a request releases it."""
    stop = threading.Event()
    turns = 0

    def turn() -> None:
        nonlocal turns
        while not stop.is_set():
            turns += 1
            time.sleep(0)

    interval = sys.getswitchinterval()
    thread = threading.Thread(target=turn)
    thread.start()
    try:
        sys.setswitchinterval(1000)
        before = turns
        for _ in range(100_000):
            twin.engine.dispatch("dynatwin", "us-east-1", "ListTables", b"{}")
            if turns > before + 1:
                break
        assert turns > before + 1
    finally:
        sys.setswitchinterval(interval)
        stop.set()
        thread.join()
