"""A server on this machine that speaks OpenAI's embeddings interface, and errs as it is told."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from bench.embedders.hashing import Hashing


@dataclass
class Served:
    """Where it listens, what it was asked, and what it does in place of its next answers."""

    url: str
    asked: list[dict] = field(default_factory=list)
    headers: list[dict] = field(default_factory=list)
    clients: set = field(default_factory=set)
    instead: list[Callable[[Answering, dict], None]] = field(default_factory=list)
    wanted_key: str | None = None


class Answering(BaseHTTPRequestHandler):
    served: Served
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self._knows_key():
            self.reply(200, {"object": "list", "data": []})

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/v1/embeddings":
            self.reply(404, {"error": {"message": f"no {self.path} here"}})
            return
        self.served.asked.append(asked)
        self.served.headers.append(dict(self.headers))
        self.served.clients.add(self.client_address)
        if self.served.instead:
            self.served.instead.pop(0)(self, asked)
        elif self._knows_key():
            self.reply(200, embeddings(asked))

    def reply(self, status: int, content: object, **headers: str) -> None:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Nothing: the tests' own output is enough."""

    def _knows_key(self) -> bool:
        given, wanted = self.headers.get("Authorization"), self.served.wanted_key
        if wanted is None or given == f"Bearer {wanted}":
            return True
        # As some servers do, it repeats what it was given.
        self.reply(401, {"error": {"message": f"Incorrect API key provided: {given}", "type": "auth"}})
        return False


def embeddings(asked: dict) -> dict:
    """The answer as documented: one object a text, with its place, and what it cost."""
    values = Hashing(dim=asked.get("dimensions", 32)).embed_documents(asked["input"]).values
    data = [{"object": "embedding", "index": i, "embedding": row.tolist()} for i, row in enumerate(values)]
    return {"object": "list", "data": data, "model": asked["model"], "usage": {"prompt_tokens": 1}}


@contextmanager
def serving(answering: type[Answering] = Answering, *, path: str = "/v1") -> Iterator[Served]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), answering)
    served = Served(f"http://127.0.0.1:{server.server_port}{path}")
    server.RequestHandlerClass = type("Handler", (answering,), {"served": served})
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
