"""From a composed configuration to a job: its settings checked, its parts made, its name derived."""

from __future__ import annotations

import copy
import functools
import inspect
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from hydra.utils import get_object, instantiate
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import MissingMandatoryValue, OmegaConfBaseException

from bench import labels, settings
from bench.collection import Collection
from bench.config import GROUPS, options_of, refuse_unread
from bench.errors import BenchError, Unavailable, Unsuitable, did_you_mean
from bench.identity import digest, identity, parts_of
from bench.measure import Measure
from bench.rerankers import Reranker
from bench.retrievers import Retriever
from bench.splits import split
from bench.stress import stressed
from bench.text.language import detect
from bench.timing import Timing


@dataclass(frozen=True, kw_only=True)
class System:
    """What ranks: a retriever, a reranker, and how deep they go."""

    retriever: Retriever
    reranker: Reranker
    depth: int

    @functools.cached_property
    def identity(self) -> str:
        """Everything that can change a ranking, in one line."""
        return f"{identity(self.retriever)} > {identity(self.reranker)} @ {self.depth}"

    @property
    def elsewhere(self) -> bool:
        """Whether a part has its index made elsewhere: the seconds that takes are not ours to tell."""
        return any(getattr(part, "elsewhere", False) for part in parts_of(self.retriever))

    @property
    def scores_are_ranks(self) -> bool:
        """Whether the scores only say in which order a query's documents stand, so no two queries can be compared."""
        last = self.reranker if getattr(self.reranker, "depth", 1) else self.retriever
        return any(getattr(part, "by_rank", False) for part in parts_of(last))

    @property
    def stored(self) -> bool:
        """Whether a part only reads what was ranked before: its latency would be that of a file."""
        return any(getattr(part, "stored", False) for part in parts_of(self.retriever))

    def check(self, documents: int) -> None:
        """Whether every part can be had and is suitable for so many documents, before anything runs."""
        for part in (*parts_of(self.retriever), *parts_of(self.reranker)):
            if check := getattr(part, "check", None):
                check(documents)


@dataclass(frozen=True, kw_only=True)
class Absent:
    """Stands where a part cannot be had, so that its job has a place in the grid and the others can run."""

    group: str
    asked: str
    error: BenchError

    def identity(self) -> str:
        """What was asked for."""
        return f"Absent({self.group}: {self.asked})"

    def check(self, _documents: int) -> None:
        """Say why."""
        raise self.error


@dataclass(frozen=True, kw_only=True)
class Job:
    """One system on one collection at some k and token budgets: all that a run needs to know."""

    name: str
    label: str
    system: System
    collection: Collection
    ks: tuple[int, ...]
    budgets: tuple[int, ...]
    seed: int
    measures: tuple[Measure, ...]
    timing: Timing
    options: Mapping[str, str | None]
    settings: Mapping[str, Any]
    overrides: tuple[str, ...]
    cache_dir: str | None
    fresh: bool

    @functools.cached_property
    def system_id(self) -> str:
        """A short name for the system's identity."""
        return digest(self.system.identity, length=12)

    @functools.cached_property
    def id(self) -> str:
        """Names this system on this state of the collection: neither the judgements nor the k."""
        collection = self.collection
        state = (collection.name, collection.corpus_digest, collection.queries_digest)
        return digest(self.system.identity, *state, str(self.seed), length=12)

    @property
    def folder_name(self) -> str:
        """The folder of the job, safe on every file system."""
        return f"{re.sub(r'[^A-Za-z0-9._=+(),-]', '_', self.label)[:100]}-{self.id}"


def job_of(cfg: DictConfig, *, load: Callable[[Any], Collection]) -> Job:
    """The job that a composed configuration asks for; BenchError names the key that is wrong."""
    refuse_unread(cfg)
    settings.flag(cfg, "dry_run")
    settings.word(cfg, "format", of=("table", "json"))
    for group in (*GROUPS, "collection", "timing", "tracking"):
        if group in cfg and not OmegaConf.is_dict(cfg[group]):
            raise BenchError(f"{group}={cfg[group]}: one of {', '.join(options_of(group))}")
    ks = settings.numbers(cfg, "k", fewest=1, such_as="k=[1,3,5]")
    depth = settings.whole(cfg, "depth", least=1)
    settings.whole(cfg, "rerank_depth", least=1)
    if max(ks) > depth:
        raise BenchError(
            f"k={max(ks)} is more than depth={depth} candidates; ask for a smaller k or a larger depth"
        )
    if not re.fullmatch(r"[A-Za-z0-9._-]+", str(cfg.name)) or str(cfg.name).startswith("."):
        raise BenchError(
            f"name='{cfg.name}' names a folder: letters, digits, dot, underscore and hyphen only"
        )
    measures = settings.measures(cfg)
    collection, refused = _collection_or_refusal(cfg, load=load)
    label = labels.label(cfg)
    if cfg.analyzer.get("language") == "auto":
        cfg.analyzer.language = language_of(collection) or "plain"
    retriever = _part(cfg, "retriever")
    if refused:
        retriever = Absent(group="stress", asked=f"{cfg.stress}, {label}", error=refused)
    system = System(retriever=retriever, reranker=_part(cfg, "reranker"), depth=depth)
    timing = made(cfg, "timing")
    if system.stored:
        timing = replace(timing, enabled=False)
    return Job(
        name=str(cfg.name),
        label=label,
        system=system,
        collection=collection,
        ks=ks,
        budgets=settings.numbers(cfg, "budget", fewest=0, such_as="budget=[500,1000]"),
        seed=settings.whole(cfg, "seed", least=0, most=2**32 - 1),
        measures=measures,
        timing=timing,
        options=labels.options(cfg),
        settings=labels.settings(cfg),
        overrides=tuple(cfg.hydra.overrides.task),
        cache_dir=cfg.cache_dir,
        fresh=settings.flag(cfg, "fresh"),
    )


def collection_of(cfg: DictConfig, *, load: Callable[[Any], Collection]) -> Collection:
    """The collection that a composed configuration asks for: the half of it, and under the stress, that are asked."""
    collection = split(load(made(cfg, "collection")), str(cfg.split))
    if cfg.stress == "none":
        return collection
    return stressed(collection, str(cfg.stress), language=language_of(collection))


def _collection_or_refusal(
    cfg: DictConfig, *, load: Callable[[Any], Collection]
) -> tuple[Collection, Unsuitable | None]:
    """The collection; where the stress does not suit it, the plain one under the name that was asked for, and why."""
    try:
        return collection_of(cfg, load=load), None
    except Unsuitable as error:
        plain = split(load(made(cfg, "collection")), str(cfg.split))
        return replace(plain, name=f"{plain.name}~{cfg.stress}"), error


def language_of(collection: Collection) -> str | None:
    """The collection's language: as it says, else as its stop words tell; None where they do not."""
    return collection.language or detect([doc.contents for doc in collection.docs])


def _part(cfg: DictConfig, group: str) -> Any:
    """The part that a group describes, or one that says why it cannot be had."""
    try:
        return made(cfg, group)
    except (Unavailable, Unsuitable) as error:
        asked = OmegaConf.to_container(copy.deepcopy(cfg)[group], resolve=True)
        return Absent(group=group, asked=json.dumps(asked, sort_keys=True, default=str), error=error)


def made(cfg: DictConfig, group: str) -> Any:
    """What a group describes; what its constructor says comes as it was said."""
    try:
        # Of a copy: instantiating resolves, in place, the nodes that a part refers to.
        return instantiate(copy.deepcopy(cfg)[group], _convert_="all")
    except MissingMandatoryValue as error:
        key = _asked_for(cfg, str(error.full_key))
        raise BenchError(f"{key} must be given: {key}=…") from error
    except OmegaConfBaseException as error:
        raise BenchError(f"{group}: {_first_line(error)}") from error
    except Exception as error:  # Hydra wraps whatever a constructor raises
        cause = _cause(error)
        if isinstance(cause, BenchError):
            raise cause from error
        if named := re.search(r"unexpected keyword argument '(\w+)'", str(cause)):
            path = (re.findall(r"full_key: (\S+)", str(error)) or [group])[-1]
            known = inspect.signature(get_object(OmegaConf.select(cfg, path)["_target_"])).parameters
            part = path.split(".")[-1]
            raise BenchError(f"{part} has no setting '{named[1]}'{did_you_mean(named[1], known)}") from error
        raise BenchError(f"{group} cannot be made: {_first_line(cause)}") from error


def _asked_for(cfg: DictConfig, key: str) -> str:
    """The setting that a key of a part takes its value from, through any number of interpolations."""
    whole = OmegaConf.to_container(cfg, resolve=False)
    path: list[str] = []
    for name in key.split("."):
        path = _followed(whole, [*path, name])
    return ".".join(path)


def _followed(whole: Any, path: list[str]) -> list[str]:
    """Where the value of a path stands: its own place, or the one that it is interpolated from."""
    value = whole
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    taken = re.fullmatch(r"\$\{([\w.]+)\}", str(value))
    return _followed(whole, taken[1].split(".")) if taken else path


def _cause(error: BaseException) -> BaseException:
    """What a part has raised: its own words where it has some (a missing library has an ImportError below)."""
    while error.__cause__ is not None and not isinstance(error, BenchError):
        error = error.__cause__
    return error


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
