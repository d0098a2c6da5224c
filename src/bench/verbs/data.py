"""The data verbs: check a collection before it is used, audit judgements that have been made."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from bench.api import run
from bench.audit import MEASURE, K, departures, leave_one_out, missed, pool_of, ranked_again, repeats
from bench.checks import conflicts, findings
from bench.collection import Collection
from bench.config import compose_config, composed, conf_folder, known_keys, options_of
from bench.errors import BenchError, did_you_mean, listing
from bench.job import collection_of
from bench.judgements import Judgement, read_log
from bench.loading import Collections
from bench.metrics import MEASURES
from bench.overrides import quoted
from bench.qrels import ANSWERS, RELEVANT
from bench.references import chance, oracle
from bench.runs import Run
from bench.settings import numbers

KS = (1, 3, 5, 10, 20)
POOL_DEPTH = 10


def data(arguments: Sequence[str]) -> str:
    """What `data check` or `data audit` says of a collection, by name or by folder."""
    verbs = {"check": check, "audit": audit}
    if not arguments or arguments[0] not in verbs:
        asked = arguments[0] if arguments else ""
        raise BenchError(
            f"data {asked}: it is `data check NAME_OR_FOLDER` or `data audit NAME`{did_you_mean(asked, verbs)}"
        )
    if len(arguments) < 2:
        raise BenchError(
            f"data {arguments[0]}: of which collection? A name ({listing(options_of('collection'))}) or a folder"
        )
    return "\n".join(verbs[arguments[0]](arguments[1], arguments[2:]))


def check(name: str, settings: Sequence[str]) -> Iterator[str]:
    """What is odd about a collection, the highest value each lens can reach, and the random expectation."""
    _refuse_unread("check", settings, read=("collection", "split", "stress", "k"))
    cfg = _composed(name, settings)
    collection = collection_of(cfg, load=Collections())
    if found := conflicts(collection):
        raise BenchError("equal texts have different grades:\n  " + "\n  ".join(found[:20]))
    documents, queries = len(collection.docs), len(collection.queries)
    yield f"{collection.name}: {documents} documents, {queries} queries, {len(collection.qrels)} judged pairs"
    yield from (f"- {note}" for note in dict.fromkeys([*collection.notes, *findings(collection)]))
    asked = numbers(cfg, "k", fewest=1, such_as="k=[1,3,5]") if "k" in _heads(settings) else KS
    yield from _reachable(collection, asked)


def _reachable(collection: Collection, ks: Sequence[int]) -> Iterator[str]:
    """The highest mean and the random one at every k, where anything is relevant."""
    documents = len(collection.docs)
    if max(ks) > documents:
        yield f"- k={max(ks)} is more than its {documents} documents"
    if not (collection.qrels.grades >= RELEVANT).any():
        yield "- no query has a relevant document, so there is nothing to measure"
        return
    within = [k for k in ks if k <= documents]
    if not within:
        return
    highest = oracle(collection.qrels, ks=within, docs=collection.doc_ids)
    expected = chance(collection.qrels, documents=documents, ks=within, docs=collection.doc_ids)
    yield ""
    yield "the highest mean that any ranking reaches / that a random one has in expectation"
    yield "k".rjust(6) + "".join(
        MEASURES[lens].symbol.rjust(18) for lens in ("recall", "ndcg", "precision", "mrr")
    )
    for k in within:
        cells = ((highest[lens, k], expected[lens, k]) for lens in ("recall", "ndcg", "precision", "mrr"))
        yield f"{k:6}" + "".join(f"{best:10.3f} / {random:5.3f}" for best, random in cells)


def audit(name: str, settings: Sequence[str]) -> Iterator[str]:
    """Repeated readings, what the pool missed, and how far the order of systems hangs on the judgements."""
    if "k" in _heads(settings):
        raise BenchError(f"data audit: it measures at k={K}; leave out k=…")
    cfg = _composed(name, settings)
    collection = collection_of(cfg, load=Collections())
    log = read_log(_log_of(cfg, collection))
    assessors = list(dict.fromkeys(one.assessor for one in log))
    yield f"{collection.name}: {len(log)} readings by {', '.join(assessors)}"
    yield from departures(log, collection)
    collection, runs = _pooled([*_chosen(name), *settings], folder=_folder(collection.name))
    yield from _repeats(log, assessors)
    yield from _missed(collection, runs)
    yield from _left_out(collection, runs)
    yield from _again(runs, log, assessors)


def loaded(name: str, settings: Sequence[str] = ()) -> Collection:
    """A collection by the name of its option, or by its folder in the form of BEIR.

    `settings` are those of the command line; of them the collection's, `split` and `stress` have a say.
    """
    return collection_of(_composed(name, settings), load=Collections())


def pool() -> list[list[str]]:
    """What each of the systems is asked with whose first results were pooled to be judged."""
    systems: list[list[str]] = OmegaConf.to_object(OmegaConf.load(conf_folder() / "pool.yaml"))  # type: ignore[assignment]
    return systems


def _composed(name: str, settings: Sequence[str]) -> DictConfig:
    return composed([*_chosen(name), *settings])


def _chosen(name: str) -> list[str]:
    if name in options_of("collection"):
        return [f"collection={name}"]
    if Path(name).is_dir():
        return ["collection=beir", f"collection.path={quoted(str(Path(name).resolve()))}"]
    raise BenchError(f"'{name}' is no collection and no folder{did_you_mean(name, options_of('collection'))}")


def _heads(settings: Sequence[str]) -> list[str]:
    """What each of the settings is a setting of: its group, or itself."""
    return [re.split(r"[=.@]", word.lstrip("+~"))[0] for word in settings if "=" in word]


def _refuse_unread(verb: str, settings: Sequence[str], *, read: Sequence[str]) -> None:
    """BenchError for settings of the program that have no say in what the verb does."""
    known = known_keys(compose_config(()))
    unread = [head for head in dict.fromkeys(_heads(settings)) if head in known and head not in read]
    if unread:
        raise BenchError(
            f"data {verb} runs no system, so {listing(unread)} changes nothing; it reads {listing(read)}"
        )


def _folder(collection: str) -> str:
    """The folder of a collection's audit, with nothing in its name that no folder may be called by."""
    return f"audit-{re.sub(r'[^A-Za-z0-9._-]', '_', collection)}"


def _log_of(cfg: DictConfig, collection: Collection) -> Path:
    path = Path(cfg.collection.path) / "judgements.jsonl"
    if not path.is_file():
        raise BenchError(f"{collection.name} has no log of judgements ({path}), so there is nothing to audit")
    return path


def _pooled(asked: Sequence[str], *, folder: str) -> tuple[Collection, dict[str, Run]]:
    """The collection that is asked for and the runs of the pool's systems on it, made where they have not been."""
    runs = {}
    for system in pool():
        for one in run(f"name={folder}", "timing=off", f"k={K}", *system, *asked).planned:
            if one.folder.manifest is None:
                failure = one.folder.failure or {"reason": "it left no result; run the command again"}
                raise BenchError(f"{one.job.label}: {failure['reason']}")
            collection = one.job.collection
            runs[one.job.label] = one.folder.run(collection)
    return collection, runs


def _repeats(log: Sequence[Judgement], assessors: Sequence[str]) -> Iterator[str]:
    for i, first in enumerate(assessors):
        for second in assessors[i + 1 :]:
            if both := repeats(log, first, second):
                table = ", ".join(f"{a:g}>{b:g}: {n}" for (a, b), n in sorted(both.table.items()))
                yield (
                    f"{first} and {second}: {both.pairs} pairs, {both.equal:.3f} alike, "
                    f"quadratic kappa {both.quadratic_kappa:.3f} ({table})"
                )


def _missed(collection: Collection, runs: dict[str, Run]) -> Iterator[str]:
    pooled = pool_of(runs, POOL_DEPTH)
    for least, what in (
        (ANSWERS, f"answers (grade {ANSWERS})"),
        (RELEVANT, f"relevant chunks (grade {RELEVANT} or more)"),
    ):
        if found := missed(collection, pooled, rel=least):
            share = f"{found.pooled / found.relevant:.3f} [{found.low:.3f}, {found.high:.3f}]"
            yield (
                f"{what} of the {found.queries} queries judged in full: the top {POOL_DEPTH} of {len(runs)} "
                f"systems had {found.pooled} of {found.relevant}, {share}"
            )


def _left_out(collection: Collection, runs: dict[str, Run]) -> Iterator[str]:
    every = leave_one_out(runs, collection.qrels, depth=POOL_DEPTH)
    yield ""
    yield (
        f"{MEASURES[MEASURE].at(K)} and rank, then without the judgements that only this system's top "
        f"{POOL_DEPTH} brought"
    )
    width = max(map(len, runs))
    for one in sorted(every, key=lambda one: one.rank):
        yield f"{one.system:{width}}  {one.score:.4f} {one.rank:3}   {one.without:.4f} {one.rank_without:3}"
    worst = every[0]
    moved = max(abs(one.rank - one.rank_without) for one in every)
    yield f"largest change: {abs(worst.score - worst.without):.4f} ({worst.system}), {moved} ranks"


def _again(runs: dict[str, Run], log: Sequence[Judgement], assessors: Sequence[str]) -> Iterator[str]:
    """The two who came last: before the readings of systems' results stands what an author meant."""
    if len(assessors) < 2 or len(runs) < 2:
        return
    first, second = assessors[-2:]
    yield ""
    for one in ranked_again(runs, log, first, second):
        way = second if one.way == "second" else f"the {one.way} of the two"
        turned = ", ".join(f"{a} > {b}" for a, b in one.changed) or "none"
        yield f"systems under {way}: tau {one.tau:.3f} with {first}; verdicts that change: {turned}"
