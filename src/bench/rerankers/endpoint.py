"""Scores of a rerank server, hosted or one's own: Cohere's interface, as Jina, vLLM and LiteLLM speak it, or TEI's."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.errors import BenchError, check_one_of, check_whole, listing
from bench.patience import remind
from bench.rerankers.pairs import PairScores
from bench.servers import Server, check_text, words

SCORE_FIELDS = {"cohere": "relevance_score", "tei": "score"}
"""What the score of a document is called, by interface."""
_INSTEAD = "reranker=none, reranker=overlap and reranker=cross_encoder need no server"


@dataclass(frozen=True, kw_only=True)
class EndpointScorer:
    """One request a query: POST {url} with its candidates, as the interface is documented.

    What the server cuts off a long document is not known here: `cut` is 0. Equal documents of a query are sent
    once. Proxies of the environment are used, redirects are not followed.

    A server that scores a pair by its two texts alone gives the same scores however the candidates are spread
    over requests. One that looks at all documents of a request together, or normalises over them, does not: its
    scores compare within a request only. So all candidates of a query go in one request unless `batch_size`
    is set, and `batch_size` is part of the identity.

    url: the whole address, as https://api.cohere.com/v2/rerank or http://127.0.0.1:8080/rerank
    model: its name on the server; with api=tei it may be None, and is not sent
    api: `cohere` sends {"model", "query", "documents", "top_n"} and reads {"results": [{"index",
        "relevance_score"}]}; `tei`, text-embeddings-inference, sends {"query", "texts", "raw_scores": true,
        "truncate": true} and reads [{"index", "score"}]
    key_env: the environment variable that holds the key; None where the server wants none
    version: to be changed whenever another model stands behind the address: what it answered is kept by the
        address, the model and this version
    batch_size: the most documents in one request; None is no limit
    timeout_seconds: how long the server may be silent
    retries: how often a request that had no answer, or a passing error for one, is made again, after 0.5
        seconds, then twice as long each time; after what the server says in Retry-After, up to a minute
    """

    url: str
    model: str | None = None
    api: str = "cohere"
    key_env: str | None = None
    version: str = "1"
    batch_size: int | None = None
    timeout_seconds: float = 60.0
    retries: int = 4

    def __post_init__(self) -> None:
        object.__setattr__(self, "version", str(self.version))
        self._server  # noqa: B018 (its settings are checked where it is made)
        check_one_of("endpoint.api", self.api, SCORE_FIELDS)
        if self.model is not None:
            check_text("endpoint.model", self.model)
        if not self.model and self.api == "cohere":
            raise BenchError("endpoint.model is empty: give the model's name on the server")
        if self.batch_size is not None:
            check_whole("endpoint.batch_size", self.batch_size, least=1)

    def identity(self) -> str:
        """The address, the model and what can change a score; nothing of the key."""
        settings = ("model", "api", "version", "batch_size")
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in settings)
        return f"{type(self).__name__}(url={self.url!r}, {fields})"

    def check(self, _documents: int) -> None:
        """Unavailable where the key is not set or is refused, or the server cannot be reached in 3 seconds."""
        self._server.check()
        served = f"{self.model} at {self.url}" if self.model else self.url
        remind(f"the scores of {served}", version=self.version, setting="endpoint.version")

    def score(self, queries: Sequence[str], documents: Sequence[str]) -> PairScores:
        """One score a pair, as the server gives it; Unavailable where it does not answer, BenchError where wrongly."""
        values = np.zeros(len(queries))
        rows_of: dict[str, list[int]] = {}
        for row, (query, _) in enumerate(zip(queries, documents, strict=True)):
            rows_of.setdefault(query, []).append(row)
        for query, rows in rows_of.items():
            scores = self._scores(query, list(dict.fromkeys(documents[row] for row in rows)))
            values[rows] = [scores[documents[row]] for row in rows]
        return PairScores(values, np.zeros(len(queries), np.int32))

    @property
    def _server(self) -> Server:
        return Server(
            group="endpoint",
            url=self.url,
            key_env=self.key_env,
            timeout_seconds=self.timeout_seconds,
            retries=self.retries,
            instead=_INSTEAD,
        )

    def _scores(self, query: str, documents: Sequence[str]) -> dict[str, float]:
        """The score of each of the query's documents."""
        size = self.batch_size or len(documents)
        scores: dict[str, float] = {}
        for start in range(0, len(documents), size):
            sent = documents[start : start + size]
            answer = self._server.post(self._asked(query, sent))
            scores |= zip(sent, self._read(answer, query=query, sent=len(sent)), strict=True)
        return scores

    def _asked(self, query: str, documents: Sequence[str]) -> dict[str, Any]:
        if self.api == "tei":
            # Without raw_scores the model's numbers come squashed, and the best of them as ties at 1.
            return {"query": query, "texts": documents, "raw_scores": True, "truncate": True}
        return {"model": self.model, "query": query, "documents": documents, "top_n": len(documents)}

    def _read(self, answer: bytes, *, query: str, sent: int) -> list[float]:
        """The scores of one request, in the order of its documents."""
        try:
            results = self._listed(json.loads(answer))
            return _in_order([_result(one, SCORE_FIELDS[self.api]) for one in results], sent=sent)
        except (ValueError, RecursionError) as error:
            raise BenchError(
                f"{self._server.name}: the answer to the query {query[:60]!r} is not one score for each of its "
                f"{sent} documents: {words(error)}"
            ) from error

    def _listed(self, content: Any) -> list[dict[str, Any]]:
        """The results in an answer; ValueError where they do not stand where the interface has them."""
        if self.api == "cohere":
            content = content.get("results") if isinstance(content, dict) else None
        field = SCORE_FIELDS[self.api]
        if not isinstance(content, list) or not all(
            isinstance(one, dict) and one.keys() >= {"index", field} for one in content
        ):
            raise ValueError(
                f"it has no list of results with index and {field}; is endpoint.api={self.api} what the "
                f"server speaks?"
            )
        return content


def _result(result: dict[str, Any], score_field: str) -> tuple[int, float]:
    """Place and score of one document; ValueError where they are none."""
    index, score = result["index"], result[score_field]
    if type(index) is not int:
        raise ValueError(f"an index is {str(index)[:60]!r}, not a whole number")
    if type(score) not in (int, float) or not abs(score) <= sys.float_info.max:
        raise ValueError(f"the {score_field} of document {index} is {str(score)[:60]!r}, not a finite number")
    return index, float(score)


def _in_order(results: Sequence[tuple[int, float]], *, sent: int) -> list[float]:
    """The scores by place; ValueError unless each place from 0 stands there once."""
    scores, times = dict(results), Counter(place for place, _ in results)
    wrong = {
        "no score for document": sorted(set(range(sent)) - scores.keys()),
        "several scores for document": sorted(place for place, count in times.items() if count > 1),
        "a score for what was not sent, document": sorted(scores.keys() - set(range(sent))),
    }
    said = [f"{what} {listing(map(str, places))}" for what, places in wrong.items() if places]
    if said:
        raise ValueError("; ".join(said))
    return [scores[place] for place in range(sent)]
