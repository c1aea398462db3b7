"""Plays the model server that a field case brings along, in this process."""

from __future__ import annotations

import importlib.util
import io
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any


class Played:
    """A server that plays a script: its address, and the requests that came."""

    def __init__(self, url: str, log: io.StringIO) -> None:
        self.url = url
        self._log = log

    def requests(self, path: str) -> list[dict[str, Any]]:
        """Return the requests to a path, in the order they came."""
        lines = [json.loads(line) for line in self._log.getvalue().splitlines()]
        return [line for line in lines if line["path"].endswith(path)]


@contextmanager
def played(cases: Path, case: str, variant: str | None = None) -> Iterator[Played]:
    """Play ``server.json`` of a case, of several variants one, on a free port."""
    tool = cases.parent / "tools" / "replay_http.py"
    spec = importlib.util.spec_from_file_location("replay_http", tool)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    log = io.StringIO()
    handler: Any = type("Playing", (module.Handler,), {})
    handler.script = module.load(str(cases / case / "server.json"), variant)
    handler.log = log
    handler.used = {}
    server = _Quiet(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield Played(f"http://127.0.0.1:{server.server_address[1]}", log)
    finally:
        server.shutdown()
        server.server_close()


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Keep a client that left from filling the output."""
