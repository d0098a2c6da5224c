"""Places in JSON: those of a request that are filled, those of an answer that are read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from bench.errors import BenchError

PLACES = re.compile(r"\{(query|depth)\}")


def filled(template: Any, *, query: str, depth: int) -> Any:
    """The template with {query} and {depth} filled in its texts; a text that is {depth} alone is a number.

    All in one pass: a query that says {depth} stays what it says.
    """
    if template == "{depth}":
        return depth
    if isinstance(template, str):
        values = {"query": query, "depth": str(depth)}
        return PLACES.sub(lambda place: values[place[1]], template)
    if isinstance(template, Mapping):
        return {key: filled(value, query=query, depth=depth) for key, value in template.items()}
    if isinstance(template, list):
        return [filled(item, query=query, depth=depth) for item in template]
    return template


def filled_address(template: str, *, query: str, depth: int) -> str:
    """The same for path and arguments of an address, percent-encoded."""
    values = {"query": quote(query, safe=""), "depth": str(depth)}
    return PLACES.sub(lambda place: values[place[1]], template)


def check_pointer(setting: str, pointer: object) -> None:
    """BenchError, naming the setting, unless it is a JSON pointer; the empty one is the whole."""
    if not isinstance(pointer, str) or (pointer and not pointer.startswith("/")):
        raise BenchError(f"{setting}={pointer!r}: a JSON pointer, as /hits/0/_id")


def at(value: Any, pointer: str) -> Any:
    """What a JSON pointer (RFC 6901) leads to; BenchError says where it ends."""
    for token in pointer.split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        if isinstance(value, Mapping) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            keys = f" with {', '.join(value)}" if isinstance(value, Mapping) else ""
            raise BenchError(f"{pointer} leads nowhere: there is no {key!r} in {kind_of(value)}{keys}")
    return value


def kind_of(value: object) -> str:
    """What a JSON value is, in words."""
    kinds = {dict: "an object", list: "a list", str: "a text", type(None): "null", bool: "a truth value"}
    return kinds.get(type(value), "a number")
