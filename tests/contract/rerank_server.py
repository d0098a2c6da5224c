"""A server on this machine that speaks Cohere's rerank interface and TEI's, and errs as it is told."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager

from tests.contract.embedding_server import Answering, Served, serving

COHERE, TEI = "/v2/rerank", "/rerank"
REQUIRED = {COHERE: {"model", "query", "documents"}, TEI: {"query", "texts"}}
OPTIONAL = {
    COHERE: {"top_n", "max_tokens_per_doc", "priority"},
    TEI: {"raw_scores", "return_text", "truncate", "truncation_direction"},
}
MOST_TEXTS = 32
"""How many TEI takes in a request unless it is told otherwise."""


class Reranking(Answering):
    def do_GET(self):  # noqa: N802 (what the library calls)
        if self._knows_key():
            self.reply(405, {"message": "method not allowed"})

    def do_POST(self):  # noqa: N802 (what the library calls)
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path not in REQUIRED:
            self.reply(404, {"message": f"no {self.path} here"})
            return
        self.served.asked.append(asked)
        self.served.headers.append(dict(self.headers))
        self.served.clients.add(self.client_address)
        if self.served.instead:
            self.served.instead.pop(0)(self, asked)
        elif self._knows_key():
            problem = problem_of(self.path, asked)
            self.reply(*((422, {"message": problem}) if problem else (200, ranked(self.path, asked))))


def problem_of(path: str, asked: dict) -> str | None:
    """What the documented interface would refuse."""
    texts = asked.get("texts", asked.get("documents"))
    if missing := REQUIRED[path] - asked.keys():
        return f"missing field {', '.join(sorted(missing))}"
    if unknown := asked.keys() - REQUIRED[path] - OPTIONAL[path]:
        return f"unknown field {', '.join(sorted(unknown))}"
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
        return "the texts must be a list of strings and not empty"
    if path == TEI and len(texts) > MOST_TEXTS:
        return f"batch size {len(texts)} > maximum allowed batch size {MOST_TEXTS}"
    return None


def ranked(path: str, asked: dict) -> dict | list:
    """The answer as documented: the best first, each with the place at which it was sent."""
    texts = asked.get("texts", asked.get("documents"))
    scored = sorted(enumerate(score(asked["query"], text) for text in texts), key=lambda one: -one[1])
    if path == TEI:
        return [{"index": index, "score": value} for index, value in scored]
    results = [{"index": index, "relevance_score": value} for index, value in scored]
    return {"id": "1", "results": results[: asked.get("top_n")], "meta": {"api_version": {"version": "2"}}}


def score(query: str, document: str) -> float:
    """How many of the query's words the document has, the earlier the better."""
    places = [document.find(word) for word in set(query.split())]
    return sum(1 / (1 + place) for place in places if place >= 0)


def reranking(path: str = COHERE) -> AbstractContextManager[Served]:
    """The server, whose address is that of one of the two interfaces."""
    return serving(Reranking, path=path)
