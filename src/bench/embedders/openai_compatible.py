"""Embeddings of a server that speaks OpenAI's interface: hosted, or one's own (vLLM, TEI, Ollama, LM Studio)."""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.embedders import Vectors
from bench.errors import BenchError, Unavailable, check_number, check_whole, missing_library
from bench.patience import CHECK_SECONDS, LONGEST_SILENCE, NO_ANSWER, Reply, is_address, patiently

try:
    import httpx2
except ImportError as error:
    raise missing_library("httpx2", extra="http") from error

log = logging.getLogger(__name__)

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
        if not _is_bare_address(self.url):
            # Not repeated: a password may stand in it.
            raise BenchError(
                "embedder.url: must be http(s)://host/path, without user, password, query or fragment"
            )
        if not self.model:
            raise BenchError("embedder.model is empty: give the model's name on the server")
        check_whole("embedder.batch_size", self.batch_size, least=1)
        check_whole("embedder.retries", self.retries, least=0)
        check_number("embedder.timeout_seconds", self.timeout_seconds, above=True, most=LONGEST_SILENCE)
        for name in ("model", "query_prefix", "document_prefix", "key_env"):
            given = getattr(self, name)
            if not isinstance(given, str) and not (name == "key_env" and given is None):
                raise BenchError(f"embedder.{name}={given!r}: a text, in quotes where it looks like a number")
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
        try:
            # Not every server lists its models, but each says whether it knows the key.
            answer = self._client.get("models", headers=self._headers(), timeout=CHECK_SECONDS)
        except httpx2.RequestError as error:
            raise Unavailable(f"{self._name} cannot be reached ({_words(error)}): {_INSTEAD}") from error
        if answer.status_code in (401, 403):
            raise Unavailable(f"{self._name} {self._told(answer)}: {self._about_key}")
        _remind(self.url, self.model, self.version)

    @property
    def _name(self) -> str:
        return f"embedder.url={self.url}"

    @property
    def _about_key(self) -> str:
        return f"embedder.key_env={self.key_env or 'null'} names the environment variable that holds the key"

    @property
    def _client(self) -> httpx2.Client:
        return _client(self.url.rstrip("/"), float(self.timeout_seconds))

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
            data = answer.json()["data"]
            places = [_whole(item["index"]) for item in data]
            values = np.array([item["embedding"] for item in data], np.float32)
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            raise BenchError(
                f"{self._name} answered something else than a list of vectors ({_words(error)}): is it what "
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

    def _answer(self, texts: Sequence[str]) -> httpx2.Response:
        asked: dict[str, Any] = {"model": self.model, "input": list(texts), "encoding_format": "float"}
        if self.dimensions is not None:
            asked["dimensions"] = self.dimensions
        reply, times = patiently(lambda: self._reply(asked), retries=self.retries)
        if isinstance(reply.answer, httpx2.Response) and reply.answer.is_success:
            return reply.answer
        trouble = reply.answer if isinstance(reply.answer, str) else self._told(reply.answer)
        raise Unavailable(f"{self._name} {trouble}, request {times} of {self.retries + 1}: {_INSTEAD}")

    def _reply(self, asked: dict[str, Any]) -> Reply[httpx2.Response | str]:
        """The answer to one request, or why there is none."""
        try:
            answer = self._client.post("embeddings", json=asked, headers=self._headers())
        except httpx2.RequestError as error:
            return Reply(NO_ANSWER, f"gave no whole answer ({_words(error)})")
        return Reply(answer.status_code, answer, answer.headers.get("Retry-After", ""))

    def _headers(self) -> dict[str, str]:
        key = self._key()
        return {"Authorization": f"Bearer {key}"} if key else {}

    def _key(self) -> str:
        """The key, which goes into this header and nowhere else."""
        if not self.key_env:
            return ""
        key = os.environ.get(self.key_env, "").strip()
        if not key:
            raise Unavailable(
                f"the environment variable {self.key_env} is not set: put the key of {self.url} into it, or "
                f"set embedder.key_env=null where the server wants none; {_INSTEAD}"
            )
        if not (key.isascii() and key.isprintable()):
            # The HTTP library would refuse it in a message that repeats it.
            raise Unavailable(f"the environment variable {self.key_env} holds what cannot be a key")
        return key

    def _told(self, answer: httpx2.Response) -> str:
        """What an answer that is an error says, without the key, which some servers repeat."""
        told = _message(answer)
        if key := self._key():
            told = told.replace(key, "[key]")
        return f"answered {answer.status_code} ({told})"


@functools.cache
def _client(url: str, timeout_seconds: float) -> httpx2.Client:
    """One connection is kept for all requests, so that a query's latency holds no handshake."""
    return httpx2.Client(base_url=url, timeout=timeout_seconds)


@functools.cache
def _remind(url: str, model: str, version: str) -> None:
    """Say it once: the name of a model stays when what answers to it changes."""
    log.warning(
        "the vectors of %s at %s are kept as version %s: where another model answers to that name, set another "
        "embedder.version",
        *(model, url, version),
    )


def _whole(index: object) -> int:
    if type(index) is not int:
        raise TypeError(f"an index is {index!r}, not a whole number")
    return index


def _is_bare_address(url: str) -> bool:
    try:
        address = httpx2.URL(url)
    except (httpx2.InvalidURL, TypeError):
        return False
    return is_address(url) and not (address.query or address.fragment)


def _message(answer: httpx2.Response) -> str:
    """The error's own words, wherever the server puts them, else the beginning of the body."""
    try:
        told = answer.json()
        for key in ("error", "detail", "message"):
            told = told.get(key, told) if isinstance(told, dict) else told
    except ValueError:
        told = answer.text
    return " ".join(str(told).split())[:300] or answer.reason_phrase


def _words(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
