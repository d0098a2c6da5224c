"""A small sweep really run, and the report of it: two collections, cells that failed, texts that would break a page."""

from __future__ import annotations

import atexit
import dataclasses
import json
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path

from bench.statistics.findings import Report
from bench.verbs.report import reported
from bench.verbs.report_request import Request
from tests.cli.program import OUR_PARTS, bench
from tests.conftest import TINY

HOSTILE = "</script><img src=x onerror=alert(1)>\"'&{{ 7 * 7 }}<!--"
"""What a text may hold and a page must show as it stands."""
HOSTILE_DOC, LONG_DOC, WORDLESS = "</script>", "largo", "q-empty"
KS = "k=[1,3,5,10]"
TIMED = ("timing=default", "timing.queries=4", "timing.calls=80", "timing.seconds=0.3")


def hostile_collection(folder: Path) -> Path:
    """The tiny collection, two dozen questions more, a chunk of 100 000 characters, markup, a query without text."""
    path = Path(shutil.copytree(TINY, folder / "hostile"))
    docs = [json.loads(line) for line in (path / "corpus.jsonl").read_text().splitlines()]
    long = "palabra larga " * 7_143
    more_docs = [
        {
            "_id": HOSTILE_DOC,
            "title": HOSTILE,
            "text": f"devoluciones {HOSTILE}",
            "metadata": {"topic": HOSTILE},
        },
        {"_id": LONG_DOC, "title": "", "text": long[:100_000], "metadata": {}},
    ]
    queries = [
        {
            "_id": f"m{i:02}",
            "text": " ".join((doc["text"]).split()[start : start + 4]),
            "metadata": {"need": f"m{i:02}", "type": kind, "topic": doc["_id"].split("-")[0]},
        }
        for i, (doc, start, kind) in enumerate(
            (doc, start, kind) for doc in docs for start, kind in ((0, "direct"), (3, "paraphrase"))
        )
    ]
    judged = [(f"m{i:02}", docs[i // 2]["_id"], 2) for i in range(len(queries))]
    queries += [
        {"_id": WORDLESS, "text": "", "metadata": {"need": "w", "type": "direct"}},
        {"_id": "q-</b>", "text": HOSTILE, "metadata": {"need": "h", "type": HOSTILE}},
    ]
    judged += [(WORDLESS, "garantia", 1), ("q-</b>", HOSTILE_DOC, 2), ("q-</b>", LONG_DOC, 1)]
    _append(path / "corpus.jsonl", [json.dumps(doc, ensure_ascii=False) for doc in more_docs])
    _append(path / "queries.jsonl", [json.dumps(query, ensure_ascii=False) for query in queries])
    _append(path / "qrels" / "test.tsv", [f"{query}\t{doc}\t{grade}" for query, doc, grade in judged])
    return path


def sweep_folder(folder: Path) -> Path:
    """`outputs/facts` below a folder: four systems at four k, a failed and a skipped one, on two collections."""
    path, before = hostile_collection(folder), Path.cwd()
    os.chdir(folder)
    try:
        for collection, k, also in ((path, KS, True), (TINY, "k=[1,5]", False)):
            base = (
                "collection=beir",
                f"collection.path={collection}",
                "embedder=hashing",
                *TIMED,
                k,
                "name=facts",
            )
            _ran("-m", *base, "retriever=bm25,hybrid", "reranker=none,overlap")
            if also:
                _ran("-m", *base, "retriever=bm25,faiss", "store=exact", expected=0)
                _ran(*OUR_PARTS, "-m", *base, "retriever=bm25", "reranker=none,broken", expected=1)
    finally:
        os.chdir(before)
    return folder / "outputs" / "facts"


@cache
def shared_folder() -> Path:
    """That folder, made once for all tests of a process; it is not to be changed."""
    place = Path(tempfile.mkdtemp(prefix="bench-facts-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return sweep_folder(place)


@cache
def shared_report() -> Report:
    """The report of it."""
    return report(shared_folder())


def report(folder: Path, *, lang: str = "en") -> Report:
    """The report of a folder of results."""
    return reported(Request(folder=folder, lang=lang))


def in_language(of: Report, lang: str) -> Report:
    """The same facts told in another language."""
    return dataclasses.replace(of, lang=lang)


def _ran(*words: str, expected: int = 0) -> None:
    before = os.environ.get("BENCH_CACHE")
    os.environ["BENCH_CACHE"] = str(Path.cwd() / "cache")
    try:
        answer = bench(*words, on=())
    finally:
        if before is None:
            del os.environ["BENCH_CACHE"]
        else:
            os.environ["BENCH_CACHE"] = before
    if answer.code != expected:
        raise AssertionError(f"{answer.code} of {' '.join(words)}: {answer.err}")


def _append(path: Path, lines: list[str]) -> None:
    text = path.read_text(encoding="utf-8")
    path.write_text("\n".join([text.rstrip("\n"), *lines, ""]), encoding="utf-8")
