"""One's own running search, asked over HTTP."""

from __future__ import annotations

import http.client
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar
from urllib.parse import quote, urlsplit

import pyarrow as pa

from bench.collection import Doc, Query
from bench.errors import BenchError, Unavailable, check_number, check_one_of, check_whole
from bench.ids import Ids
from bench.patience import CHECK_SECONDS, LONGEST_SILENCE, NO_ANSWER, Reply, is_address, patiently, remind
from bench.retrievers import ids_of
from bench.retrievers.foreign import RANKINGS, Matching
from bench.retrievers.headers import check_headers, filled_headers
from bench.retrievers.json_places import at, check_pointer, filled, filled_address, kind_of
from bench.runs import Run

METHODS = ("GET", "POST")


@dataclass(frozen=True, kw_only=True)
class Http:
    """A search behind an address: one request a query, whose answer lists the hits in JSON.

    {query} and {depth} are filled in: percent-encoded in `url`, as they are in the texts of `body`, where a
    text that is {depth} alone becomes a number. `body` is what is sent as JSON, a mapping or JSON text; null
    sends {"query": …, "depth": …} with POST and nothing with GET. `hits`, and within a hit `hit_id` and
    `hit_score`, are JSON pointers (RFC 6901). Higher scores are better; null takes the order of the hits.
    $NAME in the value of a header stands for an environment variable, which is recorded nowhere.

    What an address answers may change while its name does not: `version` is part of the identity and is to be
    changed then. A request that fails is made up to `retries` times more, after half a second and twice as long
    each time, or what the server says in Retry-After. `timeout` is how many seconds the server may be silent:
    an answer that drips in may take longer. Connections go straight to the server, by no proxy.
    """

    url: str
    method: str = "POST"
    body: Any = None
    hits: str = "/hits"
    hit_id: str = "/id"
    hit_score: str | None = None
    headers: Mapping[str, str] | None = None
    version: str = "1"
    unknown: str = "error"
    duplicates: str = "error"
    timeout: float = 10.0
    retries: int = 2

    elsewhere: ClassVar[bool] = True
    """The index is made and kept elsewhere: how long that takes is not seen here."""

    def __post_init__(self) -> None:
        check_one_of("http.method", self.method, METHODS)
        object.__setattr__(self, "version", str(self.version))
        object.__setattr__(self, "body", self._parsed_body())
        if not is_address(self.url):
            # Not repeated: a password may stand in it.
            raise BenchError(
                "http.url: must be http(s)://host:port/path, without user or password; a key goes into http.headers"
            )
        if "{query}" not in self.url + json.dumps(self.body):
            raise BenchError("http: {query} stands neither in http.url nor in http.body")
        check_pointer("http.hits", self.hits)
        check_pointer("http.hit_id", self.hit_id)
        if self.hit_score is not None:
            check_pointer("http.hit_score", self.hit_score)
        check_headers(self.headers)
        check_whole("http.retries", self.retries, least=0)
        check_number("http.timeout", self.timeout, above=True, most=LONGEST_SILENCE)
        self._matching()

    def identity(self) -> str:
        """What is asked and how the answer is read; not how patiently."""
        told = [one.name for one in fields(self) if one.name not in ("timeout", "retries")]
        values = (json.dumps(getattr(self, name), sort_keys=True, ensure_ascii=False) for name in told)
        return f"Http({', '.join(f'{name}={value}' for name, value in zip(told, values, strict=True))})"

    def check(self, _documents: int) -> None:
        """Unavailable where nothing answers within 3 seconds, a key is refused, or the variable of a header not set."""
        connection = Connection(self, timeout=min(self.timeout, CHECK_SECONDS))
        try:
            connection.probe()
        finally:
            connection.close()
        remind(f"the answers of {self.url}", version=self.version, setting="http.version")

    def index(self, docs: Sequence[Doc]) -> HttpIndex:
        """The search, ready to be asked; its documents are where it keeps them."""
        return HttpIndex(self, ids_of(docs), self._matching())

    def sent_headers(self) -> dict[str, str]:
        """The headers, with what the environment says."""
        sent = {"Accept": "application/json", "Content-Type": "application/json"}
        return sent | filled_headers(self.headers or {}, os.environ)

    def _parsed_body(self) -> Any:
        if self.body is None:
            return {"query": "{query}", "depth": "{depth}"} if self.method == "POST" else None
        if not isinstance(self.body, str):
            return self.body
        try:
            return json.loads(self.body)
        except json.JSONDecodeError as error:
            raise BenchError(f"http.body is not JSON: {error}") from error

    def _matching(self) -> Matching:
        return Matching(group="http", unknown=self.unknown, duplicates=self.duplicates)


class HttpIndex:
    """A search that answers elsewhere."""

    def __init__(self, recipe: Http, docs: Ids, matching: Matching) -> None:
        self._recipe, self._docs, self._matching = recipe, docs, matching
        self._connection = Connection(recipe, timeout=recipe.timeout)
        self._facts: dict[str, object] = {}

    def search(self, queries: Sequence[Query], depth: int) -> Run:
        """One request a query; Unavailable where none is answered, BenchError where an answer is not as told."""
        hits = [hit for query in queries for hit in self._ranking(query, depth)]
        found = pa.Table.from_pylist(hits, RANKINGS)
        asked = tuple(query.id for query in queries)
        run, left_out = self._matching.run(found, queries=asked, docs=self._docs, depth=depth)
        self._facts = dict(left_out)
        return run

    def facts(self) -> dict[str, object]:
        """How many hits were left out of the last search."""
        return {"index_bytes": None, **self._facts}

    def close(self) -> None:
        """Hang up."""
        self._connection.close()

    def _ranking(self, query: Query, depth: int) -> list[dict[str, object]]:
        recipe = self._recipe
        answer = self._connection.ask(query.text, depth=depth)
        try:
            hits = at(json.loads(answer), recipe.hits)
            # Some languages write an empty list as null.
            if not isinstance(hits, list | None):
                raise BenchError(f"{recipe.hits} is {kind_of(hits)}, not a list")
            return [
                {
                    "query_id": query.id,
                    "doc_id": _identifier(at(hit, recipe.hit_id)),
                    "score": -float(rank) if recipe.hit_score is None else _number(at(hit, recipe.hit_score)),
                }
                for rank, hit in enumerate(hits or (), 1)
            ]
        except ValueError as error:
            raise BenchError(
                f"http: {recipe.url} did not answer query {query.id} in JSON: {error}"
            ) from error
        except BenchError as error:
            raise BenchError(f"http: the answer to query {query.id}: {error}") from error


class Connection:
    """A connection that is kept from request to request and made again when it breaks."""

    def __init__(self, recipe: Http, *, timeout: float) -> None:
        self._recipe = recipe
        address = urlsplit(recipe.url)
        kind = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
        self._connection = kind(str(address.hostname), address.port, timeout=timeout)
        # A request line holds ASCII alone: what else is in a path goes as its bytes in UTF-8 (RFC 3987).
        target = (address.path or "/") + (f"?{address.query}" if address.query else "")
        self._target = re.sub(r"[^!-~]", lambda sign: quote(sign[0]), target)

    def ask(self, query: str, *, depth: int) -> bytes:
        """What the server answers to a query; Unavailable where it does not, however often it is asked."""
        recipe = self._recipe
        target = filled_address(self._target, query=query, depth=depth)
        body = None
        if recipe.body is not None:
            body = json.dumps(filled(recipe.body, query=query, depth=depth), ensure_ascii=False).encode()
        reply, _ = patiently(lambda: self._reply(recipe.method, target, body), retries=recipe.retries)
        if reply.status != 200:
            raise Unavailable(f"http: {recipe.url} {reply.answer.decode(errors='replace')}")
        return reply.answer

    def probe(self) -> None:
        """Unavailable unless the server answers once; what it says is no matter, but for the refusal of a key."""
        reply = self._reply("HEAD", filled_address(self._target, query="", depth=1), None)
        if reply.status in (NO_ANSWER, 401, 403):
            raise Unavailable(f"http: {self._recipe.url} {reply.answer.decode(errors='replace')}")

    def _reply(self, method: str, target: str, body: bytes | None) -> Reply[bytes]:
        """What comes back, or what is to be said in its place."""
        headers = self._recipe.sent_headers()
        try:
            self._connection.request(method, target, body, headers)
            response = self._connection.getresponse()
            answer = response.read()
        # A name that no host can have is a UnicodeError.
        except (OSError, http.client.HTTPException, UnicodeError) as error:
            self._connection.close()
            return Reply(NO_ANSWER, f"cannot be reached: {error or type(error).__name__}".encode())
        if response.status != 200:
            told = answer[:200].decode(errors="replace")
            answer = f"answered {response.status} {response.reason}: {told}".encode()
        return Reply(response.status, answer, response.headers.get("Retry-After", ""))

    def close(self) -> None:
        """Hang up."""
        self._connection.close()


def _identifier(value: object) -> str:
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        return str(value)
    raise BenchError(f"the id of a hit is {kind_of(value)}")


def _number(value: object) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    raise BenchError(f"the score of a hit is {kind_of(value)}, not a number")
