"""The overrides of a command before Hydra reads them: texts quoted where its grammar needs it, some refused."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, Quote, QuotedString, Transformer
from hydra.errors import HydraException

from bench.errors import BenchError

TEXTS = ("path", "url", "model", "function", "name", "cache_dir")
"""The last names of settings that hold a text as it is: folders with ñ, tildes or commas, addresses with {query}."""


def understood(words: Sequence[str], conf: Path) -> list[str]:
    """The words as Hydra takes them, where `conf` is the configuration's folder; BenchError for what it must not do."""
    for word in words:
        if (override := _parsed(word)) is not None:
            _refuse_unusable(word, override, conf)
    return [_readable(word) for word in words]


def quoted(text: str) -> str:
    """A text as the value of an override, whatever stands in it."""
    return QuotedString(text.replace("${", "\\${"), Quote.single).with_quotes()


def misread(words: Sequence[str]) -> str | None:
    """What is wrong with the first word that is no override, None where all are."""
    for word in words:
        if word.startswith("-") or _parsed(word) is None:
            if "=" not in word:
                return f"'{word}' cannot be understood: a setting is given as key=value"
            return (
                f"'{word}' cannot be understood: brackets and quotes must be closed, and a text with signs like "
                f"ñ, = or {{ stands in quotes within those of the shell, \"{word.partition('=')[0]}='…'\""
            )
    return None


def _parsed(word: str) -> Override | None:
    """A word as Hydra reads it; None for a switch and for what it cannot read."""
    if word.startswith("-"):
        return None
    try:
        return OverridesParser.create().parse_override(word)
    except HydraException:
        return None


def _readable(word: str) -> str:
    key, given, value = word.partition("=")
    if not given or key.split(".")[-1] not in TEXTS or value[:1] in ("'", '"') or word.startswith("-"):
        return word
    return word if _parsed(word) is not None else f"{key}={quoted(value)}"


def _refuse_unusable(word: str, override: Override, conf: Path) -> None:
    key = override.key_or_group
    if key == "hydra.mode" and str(override.value()) != "MULTIRUN":
        raise BenchError(f"{word}: the program sets hydra.mode; leave it out (a sweep is asked for by -m)")
    if override.is_delete():
        if not {".", "/", "@"} & set(word):
            raise BenchError(f"{word}: {key} cannot be left out; give it another value, {key}=…")
    elif (conf / key).is_dir():
        swept = override.is_sweep_override()
        values = list(override.sweep_iterator(Transformer.identity)) if swept else [override.value()]
        for value in values:
            if not isinstance(value, (str, list, QuotedString)) or value == "":
                options = ", ".join(sorted(path.stem for path in (conf / key).glob("*.yaml")))
                raise BenchError(f"{word}: {key} is one of {options}")
