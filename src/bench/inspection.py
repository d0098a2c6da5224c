"""The data verbs: check a collection before it is used, audit judgements that have been made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from omegaconf import OmegaConf

from bench.api import run
from bench.artifacts import OUTPUTS, JobFolder
from bench.audit import leave_one_out, missed, pool_of, ranked_again, repeats
from bench.checks import conflicts, findings, reach
from bench.collection import Collection
from bench.config import compose_config, conf_folder, options_of
from bench.errors import BenchError, did_you_mean, listing
from bench.job import made
from bench.judgements import Judgement, read_log
from bench.metrics import MEASURES
from bench.runs import Run

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
    collection = loaded(name, settings)
    if found := conflicts(collection):
        raise BenchError("equal texts have different grades:\n  " + "\n  ".join(found[:20]))
    documents, queries = len(collection.docs), len(collection.queries)
    yield f"{collection.name}: {documents} documents, {queries} queries, {len(collection.qrels)} judged pairs"
    yield from (f"- {note}" for note in dict.fromkeys([*collection.notes, *findings(collection, ks=())]))
    within = [k for k in KS if k <= documents]
    values = reach(collection, ks=within)
    yield ""
    yield "the highest mean that any ranking reaches / that a random one has in expectation"
    yield "k".rjust(6) + "".join(
        MEASURES[lens].symbol.rjust(18) for lens in ("recall", "ndcg", "precision", "mrr")
    )
    for k in within:
        cells = (values[lens, k] for lens in ("recall", "ndcg", "precision", "mrr"))
        yield f"{k:6}" + "".join(f"{best:10.3f} / {chance:5.3f}" for best, chance in cells)


def audit(name: str, settings: Sequence[str]) -> Iterator[str]:
    """Repeated readings, what the pool missed, and how far the order of systems hangs on the judgements."""
    collection = loaded(name, settings)
    log = read_log(_log_of(collection, name, settings))
    assessors = dict.fromkeys(one.assessor for one in log)
    yield f"{collection.name}: {len(log)} readings by {', '.join(assessors)}"
    runs = _pooled(name, collection)
    yield from _repeats(log, list(assessors))
    yield from _missed(collection, runs)
    yield from _left_out(collection, runs)
    yield from _again(runs, log, list(assessors))


def loaded(name: str, settings: Sequence[str] = ()) -> Collection:
    """A collection by the name of its option, or by its folder in the form of BEIR."""
    collection: Collection = made(compose_config([*_chosen(name), *settings]), "collection").load()
    return collection


def _chosen(name: str) -> list[str]:
    if name in options_of("collection"):
        return [f"collection={name}"]
    if Path(name).is_dir():
        return ["collection=beir", f"collection.path={Path(name).resolve()}"]
    raise BenchError(f"'{name}' is no collection and no folder{did_you_mean(name, options_of('collection'))}")


def _log_of(collection: Collection, name: str, settings: Sequence[str]) -> Path:
    cfg = compose_config([*_chosen(name), *settings])
    path = Path(cfg.collection.path) / "judgements.jsonl"
    if not path.is_file():
        raise BenchError(f"{collection.name} has no log of judgements ({path}), so there is nothing to audit")
    return path


def _pooled(name: str, collection: Collection) -> dict[str, Run]:
    """The runs of the systems of conf/pool.yaml, made where they have not been."""
    runs = {}
    folder = f"audit-{collection.name}"
    systems: list[list[str]] = OmegaConf.to_object(OmegaConf.load(conf_folder() / "pool.yaml"))  # type: ignore[assignment]
    for system in systems:
        results = run(*_chosen(name), f"name={folder}", "timing=off", "k=5", *system)
        cell = results.grid.iloc[0]
        if cell["status"] != "ok":
            raise BenchError(f"{cell['system']}: {cell['reason']}")
        path = next((OUTPUTS / folder).glob(f"*{_job_id(folder, cell['system_id'])}"))
        runs[str(cell["system"])] = JobFolder(path).run(collection)
    return runs


def _job_id(folder: str, system_id: str) -> str:
    for path in sorted((OUTPUTS / folder).iterdir()):
        manifest = JobFolder(path).manifest if path.is_dir() else None
        if manifest and manifest["system_id"] == system_id:
            return str(manifest["id"])
    raise BenchError(f"{OUTPUTS / folder} lacks a run that has just been made; run the command again")


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
    pool = pool_of(runs, POOL_DEPTH)
    for rel, what in ((2, "answers (grade 2)"), (1, "relevant chunks (grade 1 or 2)")):
        if found := missed(collection, pool, rel=rel):
            share = f"{found.pooled / found.relevant:.3f} [{found.low:.3f}, {found.high:.3f}]"
            yield (
                f"{what} of the {found.queries} queries judged in full: the top {POOL_DEPTH} of {len(runs)} "
                f"systems had {found.pooled} of {found.relevant}, {share}"
            )


def _left_out(collection: Collection, runs: dict[str, Run]) -> Iterator[str]:
    every = leave_one_out(runs, collection.qrels, depth=POOL_DEPTH)
    yield ""
    yield "nDCG@5 and rank, then without the judgements that only this system's top 10 brought"
    width = max(map(len, runs))
    for one in sorted(every, key=lambda one: one.rank):
        yield f"{one.system:{width}}  {one.score:.4f} {one.rank:3}   {one.without:.4f} {one.rank_without:3}"
    worst = every[0]
    moved = max(abs(one.rank - one.rank_without) for one in every)
    yield f"largest change: {abs(worst.score - worst.without):.4f} ({worst.system}), {moved} ranks"


def _again(runs: dict[str, Run], log: Sequence[Judgement], assessors: Sequence[str]) -> Iterator[str]:
    passes = [name for name in assessors if name.startswith("pass-")]
    if len(passes) < 2:
        return
    yield ""
    for one in ranked_again(runs, log, passes[0], passes[1]):
        turned = ", ".join(f"{a} > {b}" for a, b in one.changed) or "none"
        yield f"systems under {one.way}: tau {one.tau:.3f} with {passes[0]}; verdicts that change: {turned}"
