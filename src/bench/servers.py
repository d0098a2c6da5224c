"""A server that is asked in JSON over HTTP, with a key that only the environment holds."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bench.errors import BenchError, Unavailable, check_number, check_whole, missing_library
from bench.patience import CHECK_SECONDS, LONGEST_SILENCE, NO_ANSWER, Reply, is_address, patiently

try:
    import httpx2
except ImportError as error:
    raise missing_library("httpx2", extra="http") from error


@dataclass(frozen=True, kw_only=True)
class Server:
    """Where it is and how it is asked. Proxies of the environment are used, redirects are not followed.

    group: where its settings stand in the configuration, for messages: url, key_env, timeout_seconds, retries
    url: its address, without user, password, query or fragment
    key_env: the environment variable that holds the key, sent as a bearer token; None where none is wanted
    timeout_seconds: how long it may be silent
    retries: how often a request that had no answer, or a passing error for one, is made again
    instead: which parts need no server
    """

    group: str
    url: str
    key_env: str | None
    timeout_seconds: float
    retries: int
    instead: str

    def __post_init__(self) -> None:
        if not _is_bare_address(self.url):
            # Not repeated: a password may stand in it.
            raise BenchError(
                f"{self.group}.url: must be http(s)://host/path, without user, password, query or fragment"
            )
        check_whole(f"{self.group}.retries", self.retries, least=0)
        check_number(f"{self.group}.timeout_seconds", self.timeout_seconds, above=True, most=LONGEST_SILENCE)
        if self.key_env is not None:
            check_text(f"{self.group}.key_env", self.key_env)

    @property
    def name(self) -> str:
        """The setting and the address, as messages begin."""
        return f"{self.group}.url={self.url}"

    def check(self, path: str = "") -> None:
        """Unavailable where the key is not set or is refused, or nothing answers a GET of url + path in 3 seconds.

        What it answers is no matter: an address that is only posted to says so, and yet looks at the key first.
        """
        try:
            answer = self._client.get(self._address(path), headers=self._headers(), timeout=CHECK_SECONDS)
        except httpx2.RequestError as error:
            raise Unavailable(f"{self.name} cannot be reached ({words(error)}): {self.instead}") from error
        if answer.status_code in (401, 403):
            raise Unavailable(f"{self.name} {self._told(answer)}: {self._about_key}")

    def post(self, asked: Mapping[str, Any], *, path: str = "") -> bytes:
        """The body of the answer to this JSON, sent to url + path; Unavailable where there is none, or an error."""
        reply, times = patiently(lambda: self._reply(asked, path), retries=self.retries)
        if isinstance(reply.answer, httpx2.Response) and reply.answer.is_success:
            return reply.answer.content
        trouble = reply.answer if isinstance(reply.answer, str) else self._told(reply.answer)
        raise Unavailable(f"{self.name} {trouble}, request {times} of {self.retries + 1}: {self.instead}")

    @property
    def _about_key(self) -> str:
        return (
            f"{self.group}.key_env={self.key_env or 'null'} names the environment variable that holds the key"
        )

    @property
    def _client(self) -> httpx2.Client:
        return _client(self.url, float(self.timeout_seconds))

    def _address(self, path: str) -> str:
        return self.url.rstrip("/") + path if path else self.url

    def _reply(self, asked: Mapping[str, Any], path: str) -> Reply[httpx2.Response | str]:
        """The answer to one request, or why there is none."""
        try:
            answer = self._client.post(self._address(path), json=asked, headers=self._headers())
        except httpx2.RequestError as error:
            return Reply(NO_ANSWER, f"gave no whole answer ({words(error)})")
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
                f"set {self.group}.key_env=null where the server wants none; {self.instead}"
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
        return f"answered {answer.status_code} ({told[:300]})"


def check_text(setting: str, value: object) -> None:
    """BenchError, naming the setting, unless the value is a text."""
    if not isinstance(value, str):
        raise BenchError(f"{setting}={value!r}: a text, in quotes where it looks like a number")


def words(error: Exception) -> str:
    """What an error says, on one line."""
    return " ".join(str(error).split()) or type(error).__name__


@functools.cache
def _client(_url: str, timeout_seconds: float) -> httpx2.Client:
    """One connection is kept for all requests, so that a query's latency holds no handshake."""
    return httpx2.Client(timeout=timeout_seconds)


def _is_bare_address(url: str) -> bool:
    try:
        address = httpx2.URL(url)
    except (httpx2.InvalidURL, TypeError):
        return False
    return is_address(url) and not (address.query or address.fragment)


def _message(answer: httpx2.Response) -> str:
    """The error's own words, wherever the server puts them, else the body."""
    try:
        told = answer.json()
        for key in ("error", "detail", "message"):
            told = told.get(key, told) if isinstance(told, dict) else told
    except (ValueError, RecursionError):
        told = answer.text
    return " ".join(str(told).split()) or answer.reason_phrase
