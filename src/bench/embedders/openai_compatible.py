"""Embeddings of a server that speaks OpenAI's interface: hosted, or one's own (vLLM, TEI, Ollama, LM Studio)."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.embedders import Vectors
from bench.errors import BenchError, Unavailable, missing_library
from bench.patience import pause, seconds_before

try:
    import httpx2
except ImportError as error:
    raise missing_library("httpx2", extra="http") from error

Array = npt.NDArray[np.float32]

PASSING = (408, 409, 429, 500, 502, 503, 504)
"""Answers of a server that may do better when it is asked again."""
_CHECK_SECONDS = 3
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
    dimensions: length to which the server shortens a vector; None is the model's own, and is not sent
    query_prefix, document_prefix: what stands before every text
    timeout_seconds: how long the server may be silent
    retries: how often a request that had no answer, or a passing error for one, is made again, after 0.5
        seconds, then twice as long each time; after what the server says in Retry-After, up to a minute
    """

    url: str
    model: str
    key_env: str | None = "OPENAI_API_KEY"
    batch_size: int = 64
    dimensions: int | None = None
    query_prefix: str = ""
    document_prefix: str = ""
    timeout_seconds: float = 60.0
    retries: int = 4

    def __post_init__(self) -> None:
        if not _is_address(self.url):
            # Not repeated: a password may stand in it.
            raise BenchError(
                "embedder.url: must be http(s)://host/path, without user, password, query or fragment"
            )
        if not self.model:
            raise BenchError("embedder.model is empty: give the model's name on the server")
        for name, least in (("batch_size", 1), ("dimensions", 1), ("retries", 0)):
            value = getattr(self, name)
            if (type(value) is not int or value < least) and not (name == "dimensions" and value is None):
                raise BenchError(f"embedder.{name}={value}: must be a whole number from {least}")
        if not 0 < self.timeout_seconds < math.inf:
            raise BenchError(f"embedder.timeout_seconds={self.timeout_seconds}: must be a number above 0")

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """One vector a text, behind the document prefix."""
        return self._embed([self.document_prefix + text for text in texts])

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """One vector a text, behind the query prefix."""
        return self._embed([self.query_prefix + text for text in texts])

    def identity(self) -> str:
        """The address, the model and what changes a vector; nothing of the key."""
        settings = ("model", "dimensions", "query_prefix", "document_prefix")
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in settings)
        return f"{type(self).__name__}(url={self.url.rstrip('/')!r}, {fields})"

    def check(self, documents: int) -> None:  # noqa: ARG002 (any number of documents will do)
        """Unavailable where the key is not set or is refused, or the server cannot be reached in 3 seconds."""
        try:
            # Not every server lists its models, but each says whether it knows the key.
            answer = self._client.get("models", headers=self._headers(), timeout=_CHECK_SECONDS)
        except httpx2.RequestError as error:
            raise Unavailable(f"{self._name} cannot be reached ({_words(error)}): {_INSTEAD}") from error
        if answer.status_code in (401, 403):
            raise Unavailable(f"{self._name} {self._told(answer)}: {self._about_key}")

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
            places = [item["index"] for item in data]
            values = np.array([item["embedding"] for item in data], np.float32)
        except (ValueError, KeyError, TypeError) as error:
            raise BenchError(
                f"{self._name} answered something else than a list of vectors ({_words(error)}): is it what "
                f"stands before /embeddings?"
            ) from error
        if sorted(places) != list(range(len(texts))):
            raise BenchError(
                f"{self._name} answered {len(places)} vectors for {len(texts)} texts, or not one for each"
            )
        if values.ndim != 2 or not np.isfinite(values).all():
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
        told, trouble = "", ""
        for attempt in range(self.retries + 1):
            if attempt:
                pause(seconds_before(attempt, retry_after=told))
            try:
                answer = self._client.post("embeddings", json=asked, headers=self._headers())
            except httpx2.RequestError as error:
                told, trouble = "", f"gave no whole answer ({_words(error)})"
                continue
            if answer.is_success:
                return answer
            trouble = self._told(answer)
            if answer.status_code not in PASSING:
                break
            told = answer.headers.get("Retry-After", "")
        raise Unavailable(f"{self._name} {trouble}, request {attempt + 1} of {self.retries + 1}: {_INSTEAD}")

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


def _is_address(url: str) -> bool:
    try:
        address = httpx2.URL(url)
    except (httpx2.InvalidURL, TypeError):
        return False
    bare = not (address.userinfo or address.query or address.fragment)
    return address.scheme in ("http", "https") and bool(address.host) and bare


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
