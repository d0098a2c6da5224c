"""From a composed configuration to a job: parts made, settings checked, names derived."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from bench.collection import Collection
from bench.errors import BenchError, Unavailable, Unsuitable, did_you_mean
from bench.identity import digest, identity, parts_of
from bench.metrics import MEASURES, Measure
from bench.rerankers import Reranker
from bench.retrievers import Retriever
from bench.text.language import detect
from bench.timing import Timing

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
GROUPS = ("analyzer", "embedder", "store", "bm25", "cross_encoder", "fusion", "retriever", "reranker")
"""The groups that a system is made of."""


def conf_folder() -> Path:
    """Where the configuration is: inside the package where it was installed, at the top of a checkout."""
    return next(folder for folder in (HERE / "conf", ROOT / "conf") if folder.is_dir())


def data_folder(name: str) -> str:
    """Where a collection that comes with the program is."""
    return str(next((f for f in (HERE / "data" / name, ROOT / "data" / name) if f.is_dir()), ROOT / "data" / name))


OmegaConf.register_new_resolver("data", data_folder, replace=True)


@dataclass(frozen=True, kw_only=True)
class System:
    """What ranks: a retriever, a reranker, and how deep they go."""

    retriever: Retriever
    reranker: Reranker
    depth: int

    def identity(self) -> str:
        """Everything that can change a ranking, in one line."""
        return f"{identity(self.retriever)} > {identity(self.reranker)} @ {self.depth}"

    def check(self, documents: int) -> None:
        """Whether every part can be had and is suitable for so many documents, before anything runs."""
        for part in (*parts_of(self.retriever), *parts_of(self.reranker)):
            if check := getattr(part, "check", None):
                check(documents)


@dataclass(frozen=True, kw_only=True)
class Absent:
    """Stands where a part cannot be had, so that its job has a place in the grid and the others can run."""

    of: str
    settings: str
    error: BenchError

    def identity(self) -> str:
        """What was asked for."""
        return f"Absent({self.of}: {self.settings})"

    def check(self, documents: int) -> None:  # noqa: ARG002
        """Say why."""
        raise self.error


@dataclass(frozen=True, kw_only=True)
class Job:
    """One system on one collection at some k: all that a run needs to know."""

    name: str
    label: str
    system: System
    collection: Collection
    ks: tuple[int, ...]
    seed: int
    measures: tuple[Measure, ...]
    timing: Timing
    options: Mapping[str, str | None]
    settings: Mapping[str, Any]
    cache_dir: str | None = None
    fresh: bool = False
    overrides: tuple[str, ...] = field(default=(), compare=False)

    @functools.cached_property
    def system_id(self) -> str:
        """A short name for the system's identity."""
        return digest(self.system.identity(), length=12)

    @functools.cached_property
    def id(self) -> str:
        """Names this system on this state of the collection: not the judgements, not the k."""
        collection = self.collection
        state = (collection.name, collection.corpus_digest, collection.queries_digest)
        return digest(self.system.identity(), *state, str(self.seed), length=12)

    @property
    def folder_name(self) -> str:
        """The folder of the job, safe on every file system."""
        return f"{re.sub(r'[^A-Za-z0-9._=+(),-]', '_', self.label)[:100]}-{self.id}"


def job_of(cfg: DictConfig, *, load: Callable[[Any], Collection]) -> Job:
    """The job that a composed configuration asks for; BenchError names the key that is wrong."""
    choices = {group: choice for group, choice in cfg.hydra.runtime.choices.items() if "/" not in group}
    measures = _measures(cfg.measures)
    depth, ks = _depth(cfg), _ks(cfg)
    if max(ks) > depth:
        raise BenchError(f"k={max(ks)} is more than depth={depth} candidates; ask for a smaller k or a larger depth")
    if not re.fullmatch(r"[A-Za-z0-9._-]+", str(cfg.name)) or set(str(cfg.name)) <= {"."}:
        raise BenchError(f"name='{cfg.name}' names a folder: letters, digits, dot, underscore and hyphen only")
    collection = load(_made(cfg, "collection"))
    _resolve_language(cfg, collection)
    system = System(retriever=_made(cfg, "retriever"), reranker=_made(cfg, "reranker"), depth=depth)
    used = _used_groups(cfg)
    return Job(
        name=str(cfg.name),
        label=_label(cfg, choices, used),
        system=system,
        collection=collection,
        ks=ks,
        seed=int(cfg.seed),
        measures=measures,
        timing=_made(cfg, "timing"),
        options=_options(cfg, choices, used),
        settings=_settings(cfg, used),
        cache_dir=cfg.cache_dir,
        fresh=bool(cfg.fresh),
        overrides=tuple(cfg.hydra.overrides.task),
    )


def _made(cfg: DictConfig, group: str) -> Any:
    """The part that a group describes."""
    try:
        return instantiate(cfg[group], _convert_="all")
    except OmegaConfBaseException as error:
        raise BenchError(f"{group}: {_first_line(error)}") from error
    except Exception as error:
        cause: BaseException = error
        while cause.__cause__ is not None:
            cause = cause.__cause__
        if isinstance(cause, (Unavailable, Unsuitable)):
            return Absent(of=group, settings=_pretty(cfg[group]), error=cause)
        if isinstance(cause, BenchError):
            raise cause from error
        if isinstance(cause, TypeError) and (named := re.search(r"unexpected keyword argument '(\w+)'", str(cause))):
            known = [key for key in cfg[group] if key not in ("_target_", named[1])]
            raise BenchError(f"{group} has no setting '{named[1]}'{did_you_mean(named[1], known)}") from error
        raise BenchError(f"{group} cannot be made: {_first_line(cause)}") from error


def _pretty(node: Any) -> str:
    return json.dumps(OmegaConf.to_container(node, resolve=True), sort_keys=True, default=str)


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _measures(names: Sequence[str]) -> tuple[Measure, ...]:
    for name in names:
        if name not in MEASURES:
            raise BenchError(f"measures: there is no measure '{name}'{did_you_mean(str(name), MEASURES)}")
    return tuple(MEASURES[name] for name in names)


def _ks(cfg: DictConfig) -> tuple[int, ...]:
    asked = list(cfg.k) if OmegaConf.is_list(cfg.k) else [cfg.k]
    wrong = [k for k in asked if isinstance(k, bool) or not isinstance(k, int) or k < 1]
    if wrong or not asked:
        raise BenchError(f"k={cfg.k}: k is a whole number from 1, or a list of them, k=[1,3,5]")
    return tuple(sorted(set(asked)))


def _depth(cfg: DictConfig) -> int:
    for key in ("depth", "rerank_depth"):
        if not isinstance(cfg[key], int) or isinstance(cfg[key], bool) or cfg[key] < 1:
            raise BenchError(f"{key}={cfg[key]}: {key} is a whole number from 1")
    return int(cfg.depth)


def _resolve_language(cfg: DictConfig, collection: Collection) -> None:
    """Put the collection's language where the analyzer says auto; plain where it is neither."""
    if cfg.analyzer.get("language") == "auto":
        language = collection.language or detect(doc.contents for doc in collection.docs)
        cfg.analyzer.language = language or "plain"


def _used_groups(cfg: DictConfig) -> tuple[str, ...]:
    """The groups that the retriever and the reranker draw on, found by following their interpolations."""
    raw = OmegaConf.to_container(cfg, resolve=False)
    assert isinstance(raw, dict)
    found: list[str] = []
    waiting = ["retriever", "reranker"]
    while waiting:
        group = waiting.pop(0)
        if group in found or group not in raw:
            continue
        found.append(group)
        waiting += re.findall(r"\$\{(\w+)", json.dumps(raw[group], default=str))
    return tuple(group for group in (*GROUPS, "rerank_depth") if group in found)


def _options(cfg: DictConfig, choices: Mapping[str, str], used: Sequence[str]) -> dict[str, str | None]:
    options = {group: choices.get(group) if group in used else None for group in ("store", "embedder")}
    analyzer = cfg.analyzer.language if choices.get("analyzer") == "auto" else choices.get("analyzer")
    return {
        "retriever": choices["retriever"],
        "reranker": choices["reranker"],
        "analyzer": analyzer if "analyzer" in used else None,
        **options,
    }


def _settings(cfg: DictConfig, used: Sequence[str]) -> dict[str, Any]:
    """The resolved settings of the groups in use."""
    return {
        group: OmegaConf.to_container(cfg[group], resolve=True) if OmegaConf.is_config(cfg[group]) else cfg[group]
        for group in used
        if group not in ("retriever", "reranker")
    }


def _label(cfg: DictConfig, choices: Mapping[str, str], used: Sequence[str]) -> str:
    """`hybrid+cross_encoder`, and in brackets what differs from the defaults: options, then settings."""
    plain, usual = _defaults(tuple(f"{group}={choice}" for group, choice in sorted(choices.items())))
    differing = [choices[g] for g in used if g not in ("retriever", "reranker") and choices.get(g) != usual.get(g)]
    for group in (*used, "depth"):
        ours, theirs = _leaves(cfg, group), _leaves(plain, group)
        differing += [f"{path.split('.')[-1]}={value}" for path, value in ours.items() if theirs.get(path) != value]
    label = choices["retriever"] if choices["reranker"] == "none" else f"{choices['retriever']}+{choices['reranker']}"
    return f"{label}({','.join(dict.fromkeys(differing))})" if differing else label


def _leaves(cfg: DictConfig, group: str) -> dict[str, Any]:
    """The settings that stand in a group itself (not what it takes from others), by dotted path."""
    found: dict[str, Any] = {}

    def walk(node: Any, path: str) -> None:
        if isinstance(node, Mapping):
            for key, value in node.items():
                walk(value, f"{path}.{key}" if path else str(key))
        elif not (isinstance(node, str) and node.startswith("${")):
            found[path] = node

    raw = OmegaConf.to_container(cfg, resolve=False)
    assert isinstance(raw, dict)
    walk(raw.get(group), group)
    found.pop("analyzer.language", None)
    return found


@functools.lru_cache(maxsize=64)
def _defaults(options: tuple[str, ...]) -> tuple[DictConfig, Mapping[str, str]]:
    """The configuration with these options and no settings, and the options where none is chosen."""
    usual = compose_config([])
    known = [option for option in options if option.split("=")[0] in usual.hydra.runtime.choices]
    return compose_config(known), dict(usual.hydra.runtime.choices)


def compose_config(overrides: Sequence[str]) -> DictConfig:
    """The configuration that these overrides compose, with Hydra's own node, whatever Hydra is doing now."""
    running = GlobalHydra.instance().hydra
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(str(conf_folder()), version_base="1.3", job_name="bench"):
            return compose("config", overrides=list(overrides), return_hydra_config=True)
    finally:
        GlobalHydra.instance().clear()
        if running is not None:
            GlobalHydra.instance().initialize(running)


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


def explained(error: Exception) -> BenchError:
    """What Hydra could not compose, in the user's words: the nearest right name, and where the names are listed."""
    text = "\n".join(str(e) for e in (error, error.__cause__) if e is not None)
    if found := re.search(r"Could not find '([\w/]+)/([^'/]+)'", text):
        group, option = found.groups()
        return BenchError(f"{group}={option}: there is no such option{did_you_mean(option, options_of(group))}")
    if found := re.search(r"Could not override '([^']+)'", text):
        return BenchError(f"there is no setting '{found[1]}'{did_you_mean(found[1], known_keys())}")
    if found := re.search(r"Key '(\w+)' is not in struct\s+full_key: (\S+)", text):
        return BenchError(f"there is no setting '{found[2]}'{did_you_mean(found[2], known_keys())}")
    if found := re.search(r"Missing mandatory value: (\S+)", text):
        return BenchError(f"{found[1]} must be given: {found[1]}=…")
    return BenchError(f"the command cannot be understood: {text.strip()}")


def options_of(group: str) -> list[str]:
    """The options of a group: the yaml files of its folder."""
    return sorted(path.stem for path in (conf_folder() / group).glob("*.yaml"))


def known_keys() -> list[str]:
    """Every setting that can be overridden, and every group."""
    found = []

    def walk(node: Any, path: str) -> None:
        for key, value in node.items():
            name = f"{path}.{key}" if path else str(key)
            if not name.startswith("hydra") and key != "_target_":
                found.append(name)
                if isinstance(value, Mapping):
                    walk(value, name)

    walk(OmegaConf.to_container(compose_config([]), resolve=False), "")
    return [*found, "experiment"]
