"""A measure by name: how it is printed and parsed, and where the functions of `bench.metrics` register."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from bench.errors import BenchError, did_you_mean
from bench.gains import Array, Gains

MEASURES: dict[str, Measure] = {}
"""Every measure by the name of its column, with its default parameters, in the order of their definition."""

Value = float | str


@dataclass(frozen=True)
class Measure:
    """A measure with its parameters; equal where it prints alike."""

    name: str
    """Of its column, as `ndcg`."""
    symbol: str
    """As it is printed, as `nDCG`."""
    compute: Callable[..., Array]
    grows_with_k: bool = False
    """A larger k can only raise it, so its values may be compared across k."""
    has_k: bool = True
    """Without, it is over the whole stored ranking."""
    parameters: tuple[tuple[str, Value], ...] = ()
    """Parameters that are not the defaults, or are always printed."""
    divides_by_k: bool = False
    """The number of places itself is in its denominator, so it matters even where nothing stands there."""

    def __call__(self, gains: Gains, k: int) -> Array:
        """The value at cut-off k (ranks from 1, k at least 1) for each query, [...]."""
        return self.compute(gains, k, **dict(self.parameters))

    @property
    def key(self) -> str:
        """The name of its column where its parameters are the usual ones, else as printed."""
        return self.name if self == MEASURES.get(self.name) else str(self)

    @property
    def rel(self) -> float:
        """From which grade on a document is relevant to it."""
        return float(dict(self.parameters).get("rel", 1))

    def __str__(self) -> str:
        """As printed without a cut-off: `nDCG`, `P(rel=2)`."""
        given = ", ".join(f"{name}={value!r}" for name, value in self.parameters)
        return f"{self.symbol}({given})" if given else self.symbol

    def at(self, k: int) -> str:
        """As printed: `nDCG@5`."""
        return f"{self}@{k}" if self.has_k else str(self)

    def given(self, parameters: dict[str, Value]) -> Measure:
        """The same measure with these parameters; BenchError where it has no such parameter."""
        known = inspect.signature(self.compute).parameters
        settable = [name for name, one in known.items() if one.kind is inspect.Parameter.KEYWORD_ONLY]
        for name, value in parameters.items():
            if name not in settable:
                raise BenchError(f"{self.symbol} has no parameter '{name}'{did_you_mean(name, settable)}")
            if isinstance(known[name].default, str) is not isinstance(value, str):
                raise BenchError(f"{self.symbol}({name}={value!r}): {name} is like {known[name].default!r}")
        always = dict(MEASURES[self.name].parameters)
        every = {**always, **dict(self.parameters), **parameters}
        kept = {name: v for name, v in every.items() if name in always or v != known[name].default}
        return replace(self, parameters=tuple(sorted(kept.items())))


def measure(
    symbol: str, *, grows_with_k: bool = False, has_k: bool = True, divides_by_k: bool = False, **shown: Value
) -> Callable[..., Measure]:
    """Make a function of gains and k a measure, printed as `symbol`, always with the parameters in `shown`."""

    def register(compute: Callable[..., Array]) -> Measure:
        made = Measure(
            compute.__name__, symbol, compute, grows_with_k, has_k, tuple(shown.items()), divides_by_k
        )
        MEASURES[made.name] = made
        return made

    return register


def parse(text: str) -> tuple[Measure, int | None]:
    """The measure and cut-off that a name says: `nDCG@5`, `P(rel=2)@10`, `RBP(p=0.8)@20`, `Rprec`, `recall`.

    Case does not matter, and the name of a column is a name too. BenchError names the nearest right one.
    """
    found = re.fullmatch(r"\s*([A-Za-z_][\w]*)\s*(?:\((.*)\))?\s*(?:@\s*(\d+))?\s*", text)
    if not found:
        raise BenchError(f"'{text}' is no name of a measure, as nDCG@5 or P(rel=2)@10")
    name, arguments, cut = found.groups()
    parameters = _arguments(arguments, text) if arguments else {}
    made = _named(name, parameters)
    k = int(cut) if cut else None
    if k == 0:
        raise BenchError(f"'{text}': a cut-off is at least 1")
    if k and not made.has_k:
        raise BenchError(f"'{text}': {made.symbol} is over the whole ranking and has no cut-off")
    return made, k


def _named(name: str, parameters: dict[str, Value]) -> Measure:
    """The measure of this name, the one whose symbol already says most of the parameters."""
    wanted = name.lower()
    fitting = []
    for one in MEASURES.values():
        head, _, inside = one.symbol.partition("(")
        said = _arguments(inside.rstrip(")"), name) if inside else {}
        if wanted == one.name or (wanted == head.lower() and said.items() <= parameters.items()):
            fitting.append((len(said.items() & parameters.items()), one, said))
    if not fitting:
        heads = [one.symbol.partition("(")[0] for one in MEASURES.values()]
        raise BenchError(f"there is no measure '{name}'{did_you_mean(name, [*heads, *MEASURES])}")
    _, one, said = max(fitting, key=lambda fit: fit[0])
    return one.given({key: value for key, value in parameters.items() if key not in said})


def _arguments(text: str, whole: str) -> dict[str, Value]:
    try:
        call: Any = ast.parse(f"f({text})", mode="eval").body
        if call.args:
            raise ValueError
        given = {str(one.arg).lower(): ast.literal_eval(one.value) for one in call.keywords}
        return {name: value.lower() if isinstance(value, str) else value for name, value in given.items()}
    except (SyntaxError, ValueError) as error:
        raise BenchError(f"'{whole}': parameters are given as name=value, as in P(rel=2)@10") from error
