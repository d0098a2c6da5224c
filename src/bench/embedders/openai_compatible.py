"""Embeddings of a server that speaks OpenAI's interface: hosted, or one's own (vLLM, TEI, Ollama, LM Studio)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.embedders import Vectors
from bench.errors import BenchError, check_whole
from bench.patience import remind
from bench.servers import Server, check_text, words

Array = npt.NDArray[np.float32]

_INSTEAD = "embedder=e5_small and embedder=use_multilingual need no server"


@dataclass(frozen=True, kw_only=True)
class OpenAICompatible:
    """POST {url}/embeddings, as OpenAI documents it.

    What the server cuts off is not known here: `cut` is 0. An empty text, which the interface forbids, is not
    sent and gets the zero vector. Proxies of the environment are used, redirects are not followed.

    url: what stands before /embeddings, as https://api.openai.com/v1
    model: its name on the server
    key_env: the environment variable that holds the key; None where the server wants none
    batch_size: texts in one request
    version: to be changed whenever another model stands behind the name: what it answered is kept by this name,
        this model and this version
    dimensions: length to which the server shortens a vector; None is the model's own, and is not sent
    query_prefix, document_prefix: what stands before every text
    timeout_seconds: how long the server may be silent
    retries: how often a request that had no answer, or a passing error for one, is made again, after 0.5
        seconds, then twice as long each time; after what the server says in Retry-After, up to a minute
    """

    url: str
    model: str
    key_env: str | None = "OPENAI_API_KEY"
    version: str = "1"
    batch_size: int = 64
    dimensions: int | None = None
    query_prefix: str = ""
    document_prefix: str = ""
    timeout_seconds: float = 60.0
    retries: int = 4

    def __post_init__(self) -> None:
        object.__setattr__(self, "version", str(self.version))
        self._server  # noqa: B018 (its settings are checked where it is made)
        if not self.model:
            raise BenchError("embedder.model is empty: give the model's name on the server")
        check_whole("embedder.batch_size", self.batch_size, least=1)
        for name in ("model", "query_prefix", "document_prefix"):
            check_text(f"embedder.{name}", getattr(self, name))
        if self.dimensions is not None:
            check_whole("embedder.dimensions", self.dimensions, least=1)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """One vector a text, behind the document prefix."""
        return self._embed([self.document_prefix + text for text in texts])

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """One vector a text, behind the query prefix."""
        return self._embed([self.query_prefix + text for text in texts])

    def identity(self) -> str:
        """The address, the model and what changes a vector; nothing of the key."""
        settings = ("model", "version", "dimensions", "query_prefix", "document_prefix")
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in settings)
        return f"{type(self).__name__}(url={self.url.rstrip('/')!r}, {fields})"

    def check(self, documents: int) -> None:  # noqa: ARG002 (any number of documents will do)
        """Unavailable where the key is not set or is refused, or the server cannot be reached in 3 seconds."""
        # Not every server lists its models, but each says whether it knows the key.
        self._server.check("/models")
        remind(f"the vectors of {self.model} at {self.url}", version=self.version, setting="embedder.version")

    @property
    def _server(self) -> Server:
        return Server(
            group="embedder",
            url=self.url,
            key_env=self.key_env,
            timeout_seconds=self.timeout_seconds,
            retries=self.retries,
            instead=_INSTEAD,
        )

    @property
    def _name(self) -> str:
        return self._server.name

    @cached_property
    def _dimension(self) -> int:
        return self.dimensions or self._vectors(["a"]).shape[1]

    def _embed(self, texts: Sequence[str]) -> Vectors:
        sent = [row for row, text in enumerate(texts) if text]
        batches = [
            self._vectors([texts[row] for row in sent[start : start + self.batch_size]])
            for start in range(0, len(sent), self.batch_size)
        ]
        if len({batch.shape[1] for batch in batches}) > 1:
            raise BenchError(f"{self._name}: the vectors of {self.model} differ in length between requests")
        values = np.zeros((len(texts), batches[0].shape[1] if batches else self._dimension), np.float32)
        if batches:
            values[sent] = np.concatenate(batches)
        return Vectors(values, np.zeros(len(texts), np.int32))

    def _vectors(self, texts: Sequence[str]) -> Array:
        """The vectors of one request, in the order of its texts."""
        answer = self._answer(texts)
        try:
            data = json.loads(answer)["data"]
            places = [_whole(item["index"]) for item in data]
            values = np.array([item["embedding"] for item in data], np.float32)
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            raise BenchError(
                f"{self._name} answered something else than a list of vectors ({words(error)}): is it what "
                f"stands before /embeddings?"
            ) from error
        if sorted(places) != list(range(len(texts))):
            raise BenchError(
                f"{self._name} answered {len(places)} vectors for {len(texts)} texts, or not one for each"
            )
        if values.ndim != 2 or not values.shape[1] or not np.isfinite(values).all():
            raise BenchError(f"{self._name}: the vectors of {self.model} are not lists of finite numbers")
        if self.dimensions not in (None, values.shape[1]):
            raise BenchError(
                f"embedder.dimensions={self.dimensions}: {self.model} answers vectors of {values.shape[1]}"
            )
        in_order = np.empty_like(values)
        in_order[places] = values
        return in_order

    def _answer(self, texts: Sequence[str]) -> bytes:
        asked: dict[str, Any] = {"model": self.model, "input": list(texts), "encoding_format": "float"}
        if self.dimensions is not None:
            asked["dimensions"] = self.dimensions
        return self._server.post(asked, path="/embeddings")


def _whole(index: object) -> int:
    if type(index) is not int:
        raise TypeError(f"an index is {index!r}, not a whole number")
    return index
