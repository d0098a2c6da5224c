"""The verb `train`: a reranker from a collection's judgements, or several that are cross-fitted."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.artifacts import OUTPUTS, write_beside, write_json, write_text
from bench.cached import cached
from bench.collection import Collection
from bench.errors import BenchError
from bench.pipeline import cache_of
from bench.progress import Tell, telling
from bench.rerankers import adapter, cross_fit
from bench.rerankers.cross_encoder import CrossEncoderScorer
from bench.runs import Run
from bench.training.card import card, gain_lines
from bench.training.examples import Mined
from bench.training.folds import holding_out, parts
from bench.training.held_out import Gain, gains
from bench.training.lesson import lesson
from bench.training.mining import Plan, plan, searched
from bench.training.reranker import train
from bench.verbs.train_request import Request

WORK = ".work"
"""Where checkpoints are while it is trained, below the folder that is written."""


@dataclass(frozen=True, kw_only=True)
class Made:
    """A folder that holds a reranker, and what it is worth on the questions that it did not see."""

    folder: Path
    gains: tuple[Gain, ...]

    def lines(self) -> list[str]:
        """What the terminal says; the last line is where it is."""
        return [*gain_lines(self.gains), "", f"reranker=cross_encoder cross_encoder.model={self.folder}"]


@dataclass(frozen=True, kw_only=True)
class _Round:
    """One adapter to be made."""

    folder: Path
    tested: tuple[str, ...]
    """The questions that it is judged on."""
    stopping: tuple[str, ...]
    """Those that say when to stop; held out as well."""
    seed: int


@dataclass(frozen=True, eq=False)
class _Setting:
    """What all rounds of a command share."""

    plan: Plan
    runs: Mapping[str, Run]
    mined: Mined
    folder: Path
    tell: Tell

    @property
    def collection(self) -> Collection:
        return self.plan.collection


def trained(request: Request) -> Made:
    """Train what is asked for, or go on with it; BenchError before any work where that cannot be done."""
    asked = plan(request.overrides)
    folder = request.output or _folder(asked.collection, request.cross_fit)
    _refuse_foreign(folder, request.cross_fit)
    rounds = _rounds(asked, folder, request.cross_fit)
    for one in rounds:
        holding_out(asked.collection, one.stopping, one.tested)
    with telling() as tell:
        tell("searching", 0, 1, "")
        runs = searched(asked)
        mined = Mined.by(
            [(runs[name], weight) for name, (_, weight) in asked.settings.searches.items()],
            asked.collection,
            within=asked.settings.within,
        )
        setting = _Setting(asked, runs, mined, folder, tell)
        for one in rounds:
            _learn(setting, one)
        if request.cross_fit is not None:
            facts = {"adapter_of": _adapter_of(asked.collection, rounds)}
            write_beside(folder / cross_fit.FACTS, write_json(facts))
        return _told(setting, tuple(sorted(query for one in rounds for query in one.tested)))


def _folder(collection: Collection, count: int | None) -> Path:
    """Where it is written unless the request says: one place for one reranker, another for a cross-fitted one."""
    name = re.sub(r"[^A-Za-z0-9._-]", "_", collection.name)
    return OUTPUTS / "rerankers" / (name if count is None else f"{name}-cross-fit")


def _rounds(asked: Plan, folder: Path, count: int | None) -> list[_Round]:
    """One, or so many that each question with an answer is tested in one of them."""
    collection, seed = asked.collection, asked.seed
    if count is None:
        stopping, tested = parts(collection, asked.settings.parts, seed=seed)[:2]
        return [_Round(folder=folder, tested=tested, stopping=stopping, seed=seed)]
    # A fold is two pieces; the piece behind it says when to stop.
    pieces = parts(collection, 2 * count, seed=seed)
    return [
        _Round(
            folder=folder / f"fold-{number + 1}",
            tested=tuple(sorted((*pieces[2 * number], *pieces[2 * number + 1]))),
            stopping=pieces[(2 * number + 2) % len(pieces)],
            seed=seed + number,
        )
        for number in range(count)
    ]


def _adapter_of(collection: Collection, rounds: Sequence[_Round]) -> dict[str, str]:
    """The folder of every question's adapter; one that nothing answers has taught none of them."""
    fold_of = {query: one.folder.name for one in rounds for query in one.tested}
    of_text = {query.text: fold_of[query.id] for query in collection.queries if query.id in fold_of}
    of_need = {query.need: fold_of[query.id] for query in collection.queries if query.id in fold_of}
    any_of_them = rounds[0].folder.name
    return {
        cross_fit.question(query.text): of_text.get(query.text, of_need.get(query.need, any_of_them))
        for query in collection.queries
    }


def _learn(setting: _Setting, one: _Round) -> None:
    """Train one adapter into its folder, unless the very same stands there."""
    settings, folder = setting.plan.settings, one.folder
    made = lesson(setting.mined, (one.stopping, one.tested), one.stopping, settings=settings, seed=one.seed)
    if (folder / adapter.FACTS).is_file():
        if _made_of(folder) == made.made_of:
            return
        raise BenchError(
            f"{folder} holds a reranker that was trained on other settings or data: name another folder (-o DIR), "
            "or delete it"
        )
    work = setting.folder / WORK
    work.mkdir(parents=True, exist_ok=True)
    done = train(
        made, setting.mined, settings=settings, checkpoint=work / f"{folder.name}.pt", tell=setting.tell
    )
    facts = {
        "made_of": made.made_of,
        "collection": {"name": setting.collection.name, **setting.collection.digests},
        "settings": settings.told(),
        "seed": made.seed,
        "questions": len(made.examples),
        "pairs": made.pairs,
        "held_out": len(one.tested),
        "steps": done.course.steps,
        "seconds": round(done.course.seconds),
        "tests": [[step, round(figure, 4)] for step, figure in done.course.tests],
    }
    adapter.write(folder, done.learned, base=settings.encoder, facts=facts)


def _made_of(folder: Path) -> object:
    """The name of the training that a folder holds; none where its facts cannot be read."""
    try:
        return json.loads((folder / adapter.FACTS).read_text(encoding="utf-8"))["made_of"]
    except (ValueError, LookupError, TypeError):
        return None


def _told(setting: _Setting, tested: Sequence[str]) -> Made:
    """Rerank what no adapter has seen, write the card, and throw the checkpoints away."""
    setting.tell("reranking the questions that were held out", 0, 1, "")
    # Scored pairs are kept, so that the same command answers at once, and a run with this reranker sooner.
    job = next(iter(setting.plan.jobs.values()))
    scorer = cached(CrossEncoderScorer(model=str(setting.folder)), cache_of(job))
    found = gains(setting.runs, scorer, setting.collection, tested, seed=setting.plan.seed)
    write_beside(setting.folder / "README.md", write_text(card(setting.folder, found)))
    shutil.rmtree(setting.folder / WORK, ignore_errors=True)
    return Made(folder=setting.folder, gains=found)


def _refuse_foreign(folder: Path, count: int | None) -> None:
    """BenchError where a folder holds anything that this verb does not write, or a reranker of the other kind."""
    if folder.exists() and not folder.is_dir():
        raise BenchError(f"-o {folder}: it is a file; name a folder")
    single, several = rf"{adapter.FACTS}|{adapter.WEIGHTS}", rf"{cross_fit.FACTS}|fold-\d+"
    ours, others = (single, several) if count is None else (several, single)
    found = sorted(path.name for path in folder.glob("*"))
    if any(re.fullmatch(others, name) for name in found):
        kind = "a cross-fitted reranker" if count is None else "a reranker that is not cross-fitted"
        raise BenchError(f"-o {folder}: it holds {kind}; name another folder")
    # A kill may leave a file that was being written under a name with a dot before it.
    known = re.compile(rf"{ours}|README\.md|{WORK}|\.({ours}|README\.md)(-.*)?")
    if foreign := [name for name in found if not known.fullmatch(name)]:
        raise BenchError(f"-o {folder}: there is something else in it ({foreign[0]}); name another folder")
