"""A measure by name: how it is printed and parsed, and where the functions of `bench.metrics` register."""

from __future__ import annotations

import ast
import inspect
import math
import re
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, get_args

from bench.errors import BenchError, did_you_mean
from bench.gains import Array, Gains

MEASURES: dict[str, Measure] = {}
"""Every measure by the name of its column, with its default parameters, in the order of their definition."""

Value = float | str
LARGEST_K = 1_000_000_000
"""No ranking is as long; a larger number is a slip of the keyboard."""


@dataclass(frozen=True)
class Range:
    """The numbers that a parameter of a measure can be: annotate it with `Annotated[float, Range(...)]`."""

    low: float
    high: float = math.inf
    ends: bool = False
    """Whether the two ends are numbers that it can be, too."""

    def __contains__(self, value: float) -> bool:
        inside = self.low <= value <= self.high if self.ends else self.low < value < self.high
        return inside and abs(value) <= sys.float_info.max

    def __str__(self) -> str:
        if self.high == math.inf:
            return f"a number above {self.low:g}"
        return f"a number from {self.low:g} to {self.high:g}{'' if self.ends else ', without these'}"


Level = Annotated[float, Range(0)]
"""The grade from which a document is relevant."""


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
        """The same measure with these parameters; BenchError where it has none of that name or of that value."""
        known = inspect.signature(self.compute, eval_str=True).parameters
        settable = [name for name, one in known.items() if one.kind is inspect.Parameter.KEYWORD_ONLY]
        for name in parameters:
            if name not in settable:
                raise BenchError(f"{self.symbol} has no parameter '{name}'{did_you_mean(name, settable)}")
        fitting = {name: self._fitting(name, value, known[name]) for name, value in parameters.items()}
        always = dict(MEASURES[self.name].parameters)
        every = {**always, **dict(self.parameters), **fitting}
        kept = {name: v for name, v in every.items() if name in always or v != known[name].default}
        return replace(self, parameters=tuple(sorted(kept.items())))

    def _fitting(self, name: str, value: Value, known: inspect.Parameter) -> Value:
        """The value of a parameter, whole numbers as int, so that 2.0 is 2; BenchError where it cannot be that."""
        if isinstance(known.default, str) and isinstance(value, str):
            return value
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if isinstance(known.default, str) or isinstance(value, str) or not number:
            raise BenchError(f"{self.symbol}({name}={value!r}): {name} is like {known.default!r}")
        ranges = [one for one in get_args(known.annotation) if isinstance(one, Range)]
        for allowed in ranges or [Range(-math.inf)]:
            if value not in allowed:
                raise BenchError(f"{self.symbol}({name}={value!r}): {name} is {allowed}")
        return int(value) if value == int(value) else value


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
    if cut and is_absurd(cut):
        raise BenchError(f"'{text[:40]}': a cut-off is at most {LARGEST_K:,}")
    k = int(cut) if cut else None
    if k == 0:
        raise BenchError(f"'{text}': a cut-off is at least 1")
    if k and not made.has_k:
        raise BenchError(f"'{text}': {made.symbol} is over the whole ranking and has no cut-off")
    return made, k


def is_absurd(digits: str) -> bool:
    """Whether a cut-off, in digits, is larger than any ranking."""
    return len(digits.lstrip("0")) > len(str(LARGEST_K)) or int(digits) > LARGEST_K


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
    _refuse_other_values(name, parameters, one)
    return one.given({key: value for key, value in parameters.items() if key not in said})


def _refuse_other_values(name: str, parameters: dict[str, Value], found: Measure) -> None:
    """BenchError for a value that no symbol of this name says, with those that one says."""
    others = [one.symbol for one in MEASURES.values() if one.symbol.lower().startswith(f"{name.lower()}(")]
    known = dict(_arguments(symbol.partition("(")[2].rstrip(")"), symbol).popitem() for symbol in others)
    for key in known.keys() & parameters.keys():
        if found.symbol not in others:
            raise BenchError(
                f"{found.symbol}({key}={parameters[key]!r}): {key} can be {known[key]!r} ({', '.join(others)}), "
                f"or is left out ({found.symbol})"
            )


def _arguments(text: str, whole: str) -> dict[str, Value]:
    try:
        call: Any = ast.parse(f"f({text})", mode="eval").body
        if call.args:
            raise ValueError
        twice = [
            name
            for name, count in Counter(str(one.arg).lower() for one in call.keywords).items()
            if count > 1
        ]
        if twice:
            raise BenchError(f"'{whole}': {twice[0]} stands there twice")
        given = {str(one.arg).lower(): ast.literal_eval(one.value) for one in call.keywords}
        if any(isinstance(value, (list, tuple, dict, set)) for value in given.values()):
            raise ValueError
        return {name: value.lower() if isinstance(value, str) else value for name, value in given.items()}
    except (SyntaxError, ValueError) as error:
        raise BenchError(f"'{whole}': parameters are given as name=value, as in P(rel=2)@10") from error
