"""A search that is a Python function of one's own."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from bench.collection import Doc, Query
from bench.errors import BenchError, Unavailable, check_flag
from bench.ids import Ids
from bench.retrievers import ids_of
from bench.retrievers.foreign import RANKINGS, Matching
from bench.runs import Run


@dataclass(frozen=True, kw_only=True)
class Function:
    """A function by name, `module:function` or `module.function`, wherever Python finds the module.

    It is called with the texts of all queries and the depth and returns one ranking a text; with
    `batch=false` it is called with one text and the depth and returns one ranking. A ranking is a list, best
    first, of pairs (document id, score) ordered by score, or of ids alone.

    Its identity is its name, the digest of the module's source file and `version`, which is to be changed
    when anything else changes that it depends on: an index, a model, a module it imports. A running Python
    keeps a module as it first read it: start again after a change.
    """

    function: str
    batch: bool = True
    version: str = "1"
    unknown: str = "error"
    duplicates: str = "error"

    elsewhere: ClassVar[bool] = True
    """The index is made and kept elsewhere: how long that takes is not seen here."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "version", str(self.version))
        check_flag("callable.batch", self.batch)
        if not all(self._names):
            raise BenchError(f"callable.function={self.function!r}: module:function")
        self._matching()
        # Read now: a module that changes while the program runs is what it was.
        _ = self._source

    def identity(self) -> str:
        """Name, version and the digest of the source, and what is done with its answers."""
        return (
            f"Function({':'.join(self._names)}, batch={self.batch}, version={self.version!r}, "
            f"source={self._source}, unknown={self.unknown!r}, duplicates={self.duplicates!r})"
        )

    def check(self, _documents: int) -> None:
        """Unavailable where the module cannot be imported or has no such function."""
        self._imported()

    def index(self, docs: Sequence[Doc]) -> FunctionIndex:
        """The function, ready to be called; the documents are where it looks them up itself."""
        return FunctionIndex(self._imported(), ids_of(docs), batch=self.batch, matching=self._matching())

    @property
    def _names(self) -> tuple[str, str]:
        module, _, name = (
            self.function.partition(":") if ":" in self.function else self.function.rpartition(".")
        )
        return module, name

    def _matching(self) -> Matching:
        return Matching(group="callable", unknown=self.unknown, duplicates=self.duplicates)

    @cached_property
    def _source(self) -> str | None:
        """The digest of the module's file, which is not run for it; None for one without a file."""
        module = self._names[0]
        try:
            spec = importlib.util.find_spec(module)
        except (ImportError, ValueError) as error:
            raise Unavailable(f"callable.function: {module} cannot be found: {error}") from error
        if spec is None:
            raise Unavailable(
                f"callable.function: there is no module {module} where Python looks: start in its folder with "
                "python -m bench, or name that folder in PYTHONPATH"
            )
        if spec.origin is None or not spec.has_location:
            return None
        return hashlib.blake2b(Path(spec.origin).read_bytes(), digest_size=8).hexdigest()

    def _imported(self) -> Callable[..., Any]:
        module, name = self._names
        try:
            found = operator.attrgetter(name)(importlib.import_module(module))
        except AttributeError as error:
            raise Unavailable(f"callable.function: {error}") from error
        except (Exception, SystemExit) as error:  # whatever the module raises while it is imported
            raise Unavailable(
                f"callable.function: {module} cannot be imported: {type(error).__name__}: {error}"
            ) from error
        if not callable(found):
            raise Unavailable(f"callable.function: {name} of {module} is no function")
        return found  # type: ignore[no-any-return]


class FunctionIndex:
    """A function that ranks."""

    def __init__(self, function: Callable[..., Any], docs: Ids, *, batch: bool, matching: Matching) -> None:
        self._function, self._docs, self._batch, self._matching = function, docs, batch, matching
        self._facts: dict[str, object] = {}

    def search(self, queries: Sequence[Query], depth: int) -> Run:
        """The best `depth` of what the function returns; BenchError where that is no ranking of documents."""
        texts = [query.text for query in queries]
        answers = list(_iterable(self._answers(texts, depth), "the function"))
        if len(answers) != len(queries):
            raise BenchError(
                f"callable: the function returned {len(answers)} rankings for {len(queries)} queries; with "
                "callable.batch=false it is called with one text at a time"
            )
        rankings = zip(queries, answers, strict=True)
        hits = [hit for query, ranking in rankings for hit in _hits(query.id, ranking)]
        asked = tuple(query.id for query in queries)
        found = pa.Table.from_pylist(hits, RANKINGS)
        run, left_out = self._matching.run(found, queries=asked, docs=self._docs, depth=depth)
        self._facts = dict(left_out)
        return run

    def _answers(self, texts: list[str], depth: int) -> Any:
        try:
            if self._batch:
                return self._function(texts, depth)
            return [self._function(text, depth) for text in texts]
        except SystemExit as error:
            raise BenchError(
                f"callable: the function asked Python to end (sys.exit({error.code!r})): let it raise an error"
            ) from error

    def facts(self) -> dict[str, object]:
        """How many hits were left out of the last search."""
        return {"index_bytes": None, **self._facts}

    def close(self) -> None:
        """There is nothing to let go of."""


def _hits(query: str, answer: object) -> list[dict[str, object]]:
    """The rows of one ranking; ids alone are scored by their rank."""
    hits = list(_iterable(answer, f"query {query}: the function"))
    pairs = [
        (_identifier(query, hit), -float(rank)) if isinstance(hit, (str, Integral)) else _pair(query, hit)
        for rank, hit in enumerate(hits, 1)
    ]
    return [{"query_id": query, "doc_id": doc, "score": score} for doc, score in pairs]


def _pair(query: str, hit: Any) -> tuple[str, float]:
    try:
        doc, score = hit
        number = float(score)
    except (TypeError, ValueError) as error:
        raise BenchError(f"callable: query {query}: {hit!r} is no pair of document id and score") from error
    return _identifier(query, doc), number


def _identifier(query: str, doc: object) -> str:
    # str(None) would make of what has no id the document None, and 12.0 would never be 12.
    if isinstance(doc, (str, Integral)) and not isinstance(doc, bool):
        return str(doc)
    raise BenchError(f"callable: query {query}: {doc!r} is no id of a document: a text or a whole number")


def _iterable(value: object, what: str) -> Iterable[Any]:
    if isinstance(value, (AbstractSet, Mapping)):
        # Read in their order, a set is ranked by its hashes and a mapping without its scores.
        raise BenchError(
            f"callable: {what} returned {type(value).__name__}, which has no order: return a list"
        )
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise BenchError(f"callable: {what} returned {type(value).__name__}, not a list")
    return value
