"""What the cache holds, and dropping what has not been used for some days."""

from __future__ import annotations

from collections.abc import Sequence

from bench.cache import Cache
from bench.errors import BenchError
from bench.model_folders import user_cache
from bench.timing import days_ago


def cache(arguments: Sequence[str]) -> str:
    """The entries and sizes by kind, after dropping where `prune DAYS` is asked; BenchError for other words."""
    kept, lines = Cache(user_cache()), []
    if arguments:
        days = _days(arguments)
        lines.append(f"{kept.prune(unused_since=days_ago(days))} entries unused for {days:g} days dropped")
    lines += [
        f"{kind:10} {entries:6} entries {size / 1e6:10.1f} MB"
        for kind, (entries, size) in kept.sizes().items()
    ]
    return "\n".join([*lines, str(kept.folder)])


def _days(arguments: Sequence[str]) -> float:
    try:
        verb, days = arguments
        if verb == "prune" and float(days) >= 0:
            return float(days)
    except ValueError:
        pass
    raise BenchError(f"cache {' '.join(arguments)}: it is `cache` or `cache prune DAYS`")
