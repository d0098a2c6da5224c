"""Collections from files. Everything is read and checked before anything runs, all problems in one message."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from bench.collection import Collection, Doc, Query
from bench.errors import BenchError, listing
from bench.lines import Problems, content, existing, lines, plain, rows
from bench.odd_texts import odd_texts
from bench.qrels import Qrels, open_parts
from bench.reading.columns import careful_pairs
from bench.reading.forms import BEIR_QRELS
from bench.reading.pairs import Pairs
from bench.reading.repetitions import without_conflicts

Item = TypeVar("Item", Doc, Query)
_POLICIES = ("error", "keep", "drop")
_LANGUAGES = {"auto": None, "spanish": "spanish", "english": "english", "es": "spanish", "en": "english"}


@dataclass(frozen=True, kw_only=True)
class BeirFolder:
    """A folder in the form of BEIR: corpus.jsonl, queries.jsonl, qrels/<split>.tsv; each may end in .gz.

    qrels/parts.tsv, where it stands, lists the parts of answers. `unknown` says what becomes of judgements
    that name queries or documents which do not exist: error, keep (they count in R, as in trec_eval) or drop.
    """

    path: str
    name: str | None = None
    split: str = "test"
    language: str = "auto"
    unknown: str = "error"
    max_grade: float | None = None
    limit: int | None = None

    def __post_init__(self) -> None:
        if self.unknown not in _POLICIES:
            raise BenchError(f"collection.unknown is '{self.unknown}'; it can be {', '.join(_POLICIES)}")
        if self.language not in _LANGUAGES:
            raise BenchError(f"collection.language is '{self.language}'; it can be {', '.join(_LANGUAGES)}")
        if self.max_grade is not None and (
            type(self.max_grade) not in (int, float) or not self.max_grade > 0
        ):
            raise BenchError(
                f"collection.max_grade={self.max_grade!r}: a number above 0, or null for the highest given"
            )
        if self.limit is not None and (type(self.limit) is not int or self.limit < 1):
            raise BenchError(f"collection.limit is {self.limit}; it counts queries, at least 1")
        # A folder or a name of digits alone comes as a number.
        object.__setattr__(self, "path", str(self.path))
        object.__setattr__(self, "name", None if self.name is None else str(self.name))

    def load(self) -> Collection:
        """Read and check the whole folder; BenchError lists every problem with file and line."""
        folder = Path(self.path)
        if not folder.is_dir():
            raise BenchError(f"collection.path: there is no folder {folder}")
        problems = Problems()
        files = ("corpus.jsonl", "queries.jsonl", f"qrels/{self.split}.tsv", "qrels/parts.tsv")
        docs = _items(existing(folder, files[0], problems), _doc, problems)
        queries = _items(existing(folder, files[1], problems), _query, problems)
        judged = existing(folder, files[2], problems)
        pairs = _judgements(judged, problems, top=self.max_grade)
        judgements = pairs.by_query()
        parts_file = _either(folder, files[3])
        parts = _parts(parts_file, judgements, problems) if parts_file else {}
        for kind, items in (("documents", docs), ("queries", queries)):
            if not items and not problems:
                problems.add(folder, 0, f"it holds no {kind}")
        problems.raise_any(f"collection {folder}")

        judgements = self._known(judgements, docs=docs, queries=queries)
        qrels = Qrels.of(judgements, parts=_known_parts(parts, judgements))
        collection = Collection(
            name=self.name or folder.resolve().name,
            docs=tuple(docs.values()),
            queries=tuple(queries.values()),
            qrels=qrels,
            language=_LANGUAGES[self.language],
            max_grade=self.max_grade,
            notes=(
                *pairs.notes,
                *_twofold(folder, files),
                *odd_texts(docs, queries, judged=judgements),
                *open_parts(qrels),
            ),
        )
        return collection if self.limit is None else collection.limited(self.limit)

    def _known(
        self,
        judgements: dict[str, dict[str, float]],
        *,
        docs: Mapping[str, Doc],
        queries: Mapping[str, Query],
    ) -> dict[str, dict[str, float]]:
        strangers = [f"query {query}" for query in judgements if query not in queries]
        strangers += sorted(
            {f"document {doc}" for pairs in judgements.values() for doc in pairs if doc not in docs}
        )
        if strangers and self.unknown == "error":
            raise BenchError(
                f"collection {self.path}: the judgements name {len(strangers)} ids that do not exist "
                f"({listing(strangers)}); mend the file, or set collection.unknown=keep (they count as relevant "
                "documents that nothing can find, as in trec_eval) or collection.unknown=drop"
            )
        if self.unknown != "drop":
            return judgements
        return {
            query: {doc: grade for doc, grade in pairs.items() if doc in docs}
            for query, pairs in judgements.items()
            if query in queries
        }


def qrels_tsv(qrels: Qrels) -> str:
    """The qrels in the form of BEIR, with every digit of a fractional grade."""
    grades = [int(grade) if grade.is_integer() else grade for grade in qrels.grades.tolist()]
    rows = zip(qrels.query_ids, qrels.doc_ids, grades, strict=True)
    return "query-id\tcorpus-id\tscore\n" + "".join(f"{q}\t{doc}\t{grade}\n" for q, doc, grade in rows)


def parts_tsv(qrels: Qrels) -> str:
    """The parts of the answers, one row a document that covers one, without where none does."""
    listed = [(q, part, docs or ("",)) for q, parts in qrels.parts.items() for part, docs in parts.items()]
    return "query-id\tpart\tcorpus-id\n" + "".join(
        f"{q}\t{part}\t{doc}\n" for q, part, docs in listed for doc in docs
    )


class Collections:
    """Loads a collection once, however many jobs of a command are run on it."""

    def __init__(self) -> None:
        self._loaded: dict[str, Collection] = {}

    def __call__(self, loader: Any) -> Collection:
        """What the loader loads."""
        key = repr(loader)
        if key not in self._loaded:
            self._loaded[key] = loader.load()
        return self._loaded[key]


def _items(path: Path | None, make: Callable[[Any], Item], problems: Problems) -> dict[str, Item]:
    items: dict[str, Item] = {}
    numbers: dict[str, int] = {}
    if path is None:
        return items
    for number, line in lines(path, problems):
        try:
            record = json.loads(line)
            if r"\ud" in line.lower():
                json.dumps(record, ensure_ascii=False).encode()
            item = make(record)
        except json.JSONDecodeError as error:
            problems.add(path, number, f"not JSON: {error.msg} at column {error.colno}")
            continue
        except UnicodeEncodeError:
            problems.add(path, number, "it holds half of a surrogate pair, which is no character")
            continue
        except (BenchError, ValueError, RecursionError) as error:
            problems.add(path, number, str(error))
            continue
        if item.id in items:
            problems.add(path, number, f"id '{item.id}' stands already on line {numbers[item.id]}")
        else:
            items[item.id], numbers[item.id] = item, number
    return items


def _doc(record: Any) -> Doc:
    known = _record(record)
    title = record.get("title") or ""
    if not isinstance(title, str):
        raise BenchError("its title is no text")
    return Doc(**known, title=title)


def _query(record: Any) -> Query:
    return Query(**_record(record))


def _record(record: Any) -> dict[str, Any]:
    if not isinstance(record, dict):
        raise BenchError("not a JSON object")
    identifier = record.get("_id", record.get("id"))
    if identifier is None or identifier == "" or str(identifier).isspace():
        raise BenchError("it has no _id")
    if isinstance(identifier, bool) or not isinstance(identifier, (str, int)):
        raise BenchError(f"its _id {json.dumps(identifier)[:60]} is no text and no whole number")
    if str(identifier) != str(identifier).strip():
        raise BenchError(f"its _id {identifier!r} has blanks at its ends, which ids in judgements lose")
    text = record.get("text")
    if not isinstance(text, str):
        raise BenchError("it has no text")
    metadata = record.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise BenchError("its metadata is no JSON object")
    return {"id": str(identifier), "text": text, "metadata": metadata}


def _judgements(path: Path | None, problems: Problems, *, top: float | None) -> Pairs:
    if path is None:
        return Pairs.none()
    text = plain(content(path, problems))
    pairs = without_conflicts(careful_pairs(text, path, BEIR_QRELS, problems), path, problems)
    for place in np.flatnonzero(pairs.value > (math.inf if top is None else top)).tolist():
        above = f"grade {pairs.value[place]:g} is above collection.max_grade={top:g}"
        pairs.add_to(problems, path, place, above)
    return pairs


def _parts(
    path: Path, judgements: Mapping[str, Mapping[str, float]], problems: Problems
) -> dict[str, dict[str, list[str]]]:
    """The parts of the answers; a problem where a document covers a part without answering the query."""
    parts: dict[str, dict[str, list[str]]] = {}
    judged_well = not problems
    header = ("query-id", "part", "corpus-id")
    for number, (query, part, doc) in rows(path, header, problems, blank="corpus-id"):
        parts.setdefault(query, {}).setdefault(part, []).extend([doc] if doc else [])
        if doc and judged_well and judgements.get(query, {}).get(doc, 0) < 1:
            problems.add(path, number, f"{doc} covers a part of {query} and is not judged relevant to it")
    return parts


def _known_parts(
    parts: Mapping[str, Mapping[str, list[str]]], judgements: Mapping[str, Mapping[str, float]]
) -> dict[str, dict[str, list[str]]]:
    """The parts without the documents whose judgements were dropped."""
    return {
        query: {part: [doc for doc in docs if doc in judgements[query]] for part, docs in listed.items()}
        for query, listed in parts.items()
        if query in judgements
    }


def _either(folder: Path, name: str) -> Path | None:
    """A file that may be missing, plain or gzipped."""
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)


def _twofold(folder: Path, names: Iterable[str]) -> Iterator[str]:
    """Notes on files that stand there plain and gzipped, of which one is read."""
    for name in names:
        if (folder / name).is_file() and (folder / f"{name}.gz").is_file():
            yield f"{name} and {name}.gz both stand in {folder}; {name} is read"
