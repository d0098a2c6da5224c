"""Headers of a request: named in the configuration, filled from the environment, fit to be sent."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping

from bench.errors import BenchError, Unavailable


def check_headers(headers: object) -> None:
    """BenchError unless they are a mapping of names that a header can have, or None."""
    if headers is None:
        return
    if not isinstance(headers, Mapping):
        raise BenchError(
            f"http.headers={headers!r}: a value by name, as http.headers={{Authorization: 'Bearer $KEY'}}"
        )
    for name in headers:
        if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", str(name)):
            raise BenchError(f"http.headers: {name!r} is no name of a header")


def filled_headers(headers: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """The headers with what the environment says for every $NAME; no message repeats a value, which may be a key.

    Unavailable where a variable is not set, BenchError where a value is no header's.
    """
    return {str(name): _filled(name, str(value), environment) for name, value in headers.items()}


def _filled(name: str, value: str, environment: Mapping[str, str]) -> str:
    try:
        filled = string.Template(value).substitute(environment)
    except KeyError as error:
        raise Unavailable(
            f"http.headers.{name}: the environment variable {error.args[0]} is not set"
        ) from error
    except ValueError as error:
        raise BenchError(f"http.headers.{name}: $NAME is an environment variable, $$ a dollar") from error
    if not filled.isprintable() or any(ord(sign) > 255 for sign in filled):
        raise BenchError(f"http.headers.{name}: its value holds what cannot be sent in a header")
    return filled
