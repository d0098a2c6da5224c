"""What a part is, as one canonical line: equal parts print alike, whatever way they were asked for."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Mapping
from typing import Any


def identity(part: Any) -> str:
    """The canonical line of a part: its class and its fields by name.

    A part that knows better (a model: its name and the digest of its weights) has a method `identity()`.
    Numbers print alike however they were typed (1 and 1.0), mappings print sorted.
    """
    own = getattr(part, "identity", None)
    if callable(own) and not isinstance(part, type):
        return str(own())
    if dataclasses.is_dataclass(part) and not isinstance(part, type):
        fields = ((field.name, getattr(part, field.name)) for field in dataclasses.fields(part))
        kind = f"{type(part).__module__}.{type(part).__qualname__}".removeprefix("bench.")
        return f"{kind}({', '.join(f'{name}={identity(value)}' for name, value in fields)})"
    if isinstance(part, Mapping):
        return "{" + ", ".join(f"{key}: {identity(part[key])}" for key in sorted(part)) + "}"
    if isinstance(part, (list, tuple)):
        return "[" + ", ".join(map(identity, part)) + "]"
    if isinstance(part, float) and part.is_integer():
        return str(int(part))
    return repr(part)


def digest(*texts: str, length: int = 16) -> str:
    """A short hexadecimal name for these texts, the same on every machine (BLAKE2b)."""
    state = hashlib.blake2b(digest_size=length // 2)
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        state.update(len(data).to_bytes(8, "little"))
        state.update(data)
    return state.hexdigest()


def parts_of(part: Any) -> list[Any]:
    """The part and every part inside it, outermost first."""
    found = [part] if dataclasses.is_dataclass(part) else []
    return found + [inner for child in _children(part) for inner in parts_of(child)]


def map_parts(part: Any, change: Callable[[Any], Any]) -> Any:
    """The same tree of parts with `change` applied to each part, innermost first; nothing is modified."""
    if dataclasses.is_dataclass(part) and not isinstance(part, type):
        fields = {f.name: getattr(part, f.name) for f in dataclasses.fields(part) if f.init}
        changed = {name: map_parts(value, change) for name, value in fields.items()}
        same = all(changed[name] is value for name, value in fields.items())
        return change(part if same else dataclasses.replace(part, **changed))
    if isinstance(part, (list, tuple)):
        items = [map_parts(item, change) for item in part]
        return part if all(a is b for a, b in zip(items, part, strict=True)) else type(part)(items)
    if isinstance(part, Mapping):
        values = {key: map_parts(value, change) for key, value in part.items()}
        return part if all(values[key] is part[key] for key in part) else values
    return part


def _children(part: Any) -> list[Any]:
    if dataclasses.is_dataclass(part) and not isinstance(part, type):
        return [getattr(part, field.name) for field in dataclasses.fields(part)]
    if isinstance(part, Mapping):
        return list(part.values())
    return list(part) if isinstance(part, (list, tuple)) else []
