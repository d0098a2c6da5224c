"""Words and numbers in the language of the page: a text by its name, a figure as that language writes it."""

from __future__ import annotations

from dataclasses import dataclass

from bench.errors import BenchError
from bench.metrics import MEASURES
from bench.report.evidence_texts import EVIDENCE_TEXTS
from bench.report.texts import TEXTS
from bench.statistics.findings import ACROSS_K, LATENCY, Figure

LANGUAGES = ("en", "es")
NOTHING = "–"
"""Where there is no figure."""
MINUS = "−"
_ALL = {**TEXTS, **EVIDENCE_TEXTS}
_ABOUT = ("precision", "recall", "mrr", "ndcg", "complete", "success")


@dataclass(frozen=True)
class Words:
    """One language. Numbers are rounded here and nowhere before."""

    lang: str

    def __post_init__(self) -> None:
        if self.lang not in LANGUAGES:
            raise BenchError(f"there is no report in '{self.lang}'; choose one of {', '.join(LANGUAGES)}")

    def __call__(self, name: str, **values: object) -> str:
        """A text, with the values filled in."""
        text = _ALL[name][LANGUAGES.index(self.lang)]
        return text.format(**values) if values else text

    def has(self, name: str) -> bool:
        """Whether there is a text of that name."""
        return name in _ALL

    def number(self, value: float | None, digits: int = 3) -> str:
        """`0.612`, in Spanish `0,612`."""
        if value is None or value != value:
            return NOTHING
        return self._marked(f"{value:z.{digits}f}").replace("-", MINUS)

    def figure(self, figure: Figure | None) -> str:
        """A mean with its interval: `0.612 (0.550 to 0.674)`."""
        if figure is None or figure.mean is None:
            return NOTHING
        interval = self.interval(figure)
        return self.number(figure.mean) + (f" ({interval})" if interval else "") + figure.marks

    def interval(self, figure: Figure) -> str:
        """`0.550–0.674`; empty where there is none."""
        if figure.lo is None or figure.hi is None:
            return ""
        return f"{self.number(figure.lo)}–{self.number(figure.hi)}"

    def signed(self, value: float) -> str:
        """A difference with its sign: `+0.042`."""
        return self._marked(f"{value:+z.3f}").replace("-", MINUS)

    def points(self, value: float | None) -> str:
        """A difference in points, a hundredth of a measure each, with its sign: `+4.2`."""
        return NOTHING if value is None else self._marked(f"{100 * value:+z.1f}").replace("-", MINUS)

    def span(self, interval: tuple[float, float] | None) -> str:
        """The interval of a difference, in points."""
        if interval is None:
            return NOTHING
        return f"{self.points(interval[0])} {'a' if self.lang == 'es' else 'to'} {self.points(interval[1])}"

    def ms(self, value: float | None, *, sign: bool = False) -> str:
        """Milliseconds to three significant digits."""
        if value is None:
            return NOTHING
        digits = 0 if abs(value) >= 99.95 else 1 if abs(value) >= 9.995 else 2
        return self._marked(f"{value:{'+' if sign else ''}z.{digits}f}").replace("-", MINUS)

    def count(self, value: float | None, *, sign: bool = False) -> str:
        """A whole number."""
        return NOTHING if value is None else f"{value:{'+' if sign else ''}z.0f}".replace("-", MINUS)

    def share(self, value: float | None) -> str:
        """`98 %`."""
        return NOTHING if value is None else f"{100 * value:.0f}\u00a0%"

    def p(self, value: float | None) -> str:
        """`0.031` or `< 0.001`: never 0."""
        if value is None or value != value:
            return NOTHING
        return f"< {self._marked('0.001')}" if value < 0.001 else self.number(value)

    def equal_p(self, value: float | None) -> str:
        """`= 0.031` or `< 0.001`."""
        said = self.p(value)
        return said if said.startswith("<") else f"= {said}"

    def cost(self, value: float, cost: str) -> str:
        """`12.3 ms`, `840 tokens`."""
        return f"{self.ms(value)} ms" if cost == LATENCY else f"{self.count(value)} tokens"

    def tick(self, value: float) -> str:
        """A figure beside an axis, as short as it can be."""
        return self._marked(f"{value:.10g}")

    def measure(self, name: str, k: int | None = None) -> str:
        """As printed: `nDCG@5`, or `nDCG`; the name of a column that is no measure of ours as it is."""
        if name not in MEASURES:
            return f"{name}@{k}" if k else name
        return MEASURES[name].at(k) if k else str(MEASURES[name])

    def about(self, name: str) -> str:
        """What a measure asks, in a line."""
        return self(f"about_{name}" if name in _ABOUT else "about_other")

    def reading(self, name: str) -> str:
        """How a curve of it is read."""
        return self("read_across" if name in ACROSS_K else "read_at_one", measure=self.measure(name))

    def listed(self, names: list[str]) -> str:
        """`a, b and c`."""
        *first, last = names or [""]
        return f"{', '.join(first)} {'y' if self.lang == 'es' else 'and'} {last}" if first else last

    def _marked(self, number: str) -> str:
        return number.replace(".", ",") if self.lang == "es" else number
