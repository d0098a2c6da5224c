"""The course's before and after as rankings: a reranker over the same ten candidates of twenty questions.

P@5 goes from 0.65 to 0.78, R@10 stays at 0.80, RR from 0.55 to 0.68, nDCG@10 from 0.70 to 0.82.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

RANKINGS = """
 3 0333333333 3333333303
 1 0333330333 3333333300
 2 0031303333 3333133000
 1 0013133333 3333330110
 0 1033330333 3333303130
14 3033333333 3333333303
 5 1333303333 3333330331
 5 0333333333 3333333330
 1 1030333333 3333033310
 7 0323333333 0332333333
 0 0033333323 0333333032
 0 0003003333 0333033000
12 0333330333 0333333303
 0 0132333303 0333303231
 1 0033330300 0333330000
 0 1003303333 0333303031
14 0203313033 0333332010
 0 0001300033 0000303310
 0 0011003000 0000311000
 0 0010300303 0000333100
"""
"""A question a line: relevant documents that neither ranking has, then the grade at each rank before and after."""


def write_course(folder: Path) -> None:
    """The collection in `course`, and the rankings in before.trec and after.trec."""
    corpus, judged, runs = [], [], {"before": [], "after": []}
    lines = [line.split() for line in RANKINGS.strip().splitlines()]
    for number, (missed, *rankings) in enumerate(lines, start=1):
        query = f"q{number:02}"
        for name, ranking in zip(runs, rankings, strict=True):
            for rank, doc in enumerate(documents(query, ranking), start=1):
                runs[name].append(f"{query} Q0 {doc} {rank} {100 - rank} {name}")
        found = documents(query, rankings[0])
        grades = [*rankings[0], *"1" * int(missed)]
        every = [*found, *(f"{query}-missed-{i}" for i in range(int(missed)))]
        corpus += every
        judged += [f"{query}\t{doc}\t{grade}" for doc, grade in zip(every, grades, strict=True)]
    (folder / "course" / "qrels").mkdir(parents=True)
    queries = [{"_id": f"q{i:02}", "text": f"question {i}"} for i in range(1, len(lines) + 1)]
    documents_ = [{"_id": doc, "text": doc} for doc in corpus]
    for file, rows in (("queries", queries), ("corpus", documents_)):
        (folder / "course" / f"{file}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    table = "\n".join(["query-id\tcorpus-id\tscore", *judged])
    (folder / "course" / "qrels" / "test.tsv").write_text(table + "\n")
    for name, places in runs.items():
        (folder / f"{name}.trec").write_text("\n".join(places) + "\n")


def documents(query: str, ranking: str) -> list[str]:
    """Names of the documents by rank: the same grades are the same documents, in whatever order."""
    seen: Counter[str] = Counter()
    names = []
    for grade in ranking:
        seen[grade] += 1
        names.append(f"{query}-{grade}-{seen[grade]}")
    return names
