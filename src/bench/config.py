"""The configuration: where it is, how it is composed, and what is meant when a name in it is wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from bench.errors import BenchError, did_you_mean
from bench.overrides import misread, understood

PACKAGE = Path(__file__).parent
CHECKOUT = PACKAGE.parent.parent
GROUPS = (
    "analyzer", "embedder", "store", "bm25", "cross_encoder", "late_interaction", "endpoint", "fusion",
    "http", "callable", "run_file", "retriever", "reranker",
)  # fmt: skip
"""The groups that a system is made of."""


def conf_folder() -> Path:
    """Where the configuration is: inside the package where it was installed, at the top of a checkout."""
    return next(folder for folder in (PACKAGE / "conf", CHECKOUT / "conf") if folder.is_dir())


def data_folder(name: str) -> str:
    """Where a collection that comes with the program is."""
    installed = PACKAGE / "data" / name
    return str(installed if installed.is_dir() else CHECKOUT / "data" / name)


OmegaConf.register_new_resolver("data", data_folder, replace=True)


def compose_config(overrides: Sequence[str], *, folders: Sequence[str] = ()) -> DictConfig:
    """The configuration that these overrides compose, with Hydra's own node, whatever Hydra is doing now.

    BenchError for overrides that the program cannot do with.
    `folders` are folders of configuration beside our own, as file:// addresses.
    """
    running = GlobalHydra.instance().hydra
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(str(conf_folder()), version_base="1.3", job_name="bench"):
            added = [f"hydra.searchpath=[{','.join(folders)}]"] if folders else []
            words = [*understood(overrides, conf_folder()), *added]
            return compose("config", overrides=words, return_hydra_config=True)
    finally:
        GlobalHydra.instance().clear()
        if running is not None:
            GlobalHydra.instance().initialize(running)


def composed(overrides: Sequence[str]) -> DictConfig:
    """As `compose_config`; what Hydra cannot compose is a BenchError in the user's words."""
    try:
        return compose_config(overrides)
    except (HydraException, OmegaConfBaseException) as error:
        raise explained(error, overrides) from error


def added_folders(cfg: DictConfig) -> tuple[str, ...]:
    """The folders of configuration that the user has added (--config-dir, hydra.searchpath)."""
    ours = ("hydra", "main", "schema")
    sources = cfg.hydra.runtime.config_sources
    return tuple(f"file://{source.path}" for source in sources if source.path and source.provider not in ours)


def explained(error: Exception, overrides: Sequence[str]) -> BenchError:
    """What Hydra could not compose of these overrides, in the user's words, with the nearest right name."""
    text = "\n".join(str(e) for e in (error, error.__cause__) if e is not None)
    if found := re.search(r"Could not find '([\w/]+)/([^'/]+)'", text):
        group, option = found.groups()
        return BenchError(
            f"{group}={option}: there is no such option{did_you_mean(option, options_of(group))}"
        )
    if found := re.search(r"Could not override '([^']+)'", text):
        return _no_setting(found[1], known_keys(compose_config(_options(overrides))))
    if found := re.search(r"Key '\w+' is not in struct\s+full_key: (\S+)", text):
        return _no_setting(found[1], known_keys(compose_config(_options(overrides))))
    if found := re.search(r"Missing mandatory value: (\S+)", text):
        return BenchError(f"{found[1]} must be given: {found[1]}=…")
    return BenchError(misread(overrides) or f"the command cannot be understood: {text.strip()}")


def options_of(group: str) -> list[str]:
    """The options of a group: the yaml files of its folder."""
    return sorted(path.stem for path in (conf_folder() / group).glob("*.yaml"))


def refuse_unread(cfg: DictConfig) -> None:
    """BenchError where a setting was added (+key=value) that no part reads: it would change nothing.

    A group with a `_target_` needs no look: the constructor refuses what it does not know.
    """
    added = [word.lstrip("+").split("=")[0] for word in cfg.hydra.overrides.task if word.startswith("+")]
    heads = [key.split(".")[:2] for key in added if not (conf_folder() / key).is_dir()]
    doubtful = [".".join(head) for head in heads if OmegaConf.select(cfg, f"{head[0]}._target_") is None]
    if doubtful:
        choices = {group: cfg.hydra.runtime.choices[group] for group in GROUPS}
        plain = [f"{group}={option}" for group, option in choices.items()]
        known = known_keys(compose_config(plain, folders=added_folders(cfg)))
        for key in doubtful:
            if key not in known:
                raise _no_setting(key, known)


def known_keys(cfg: DictConfig) -> list[str]:
    """Every setting of a configuration that can be overridden, by dotted path, and every group."""
    found = ["experiment"]

    def walk(node: Mapping[str, Any], path: str) -> None:
        for key, value in node.items():
            if key not in ("_target_", "hydra"):
                found.append(f"{path}{key}")
                if isinstance(value, Mapping):
                    walk(value, f"{path}{key}.")

    whole = OmegaConf.to_container(cfg, resolve=False)
    assert isinstance(whole, dict)
    walk({str(key): value for key, value in whole.items()}, "")
    return found


def _options(overrides: Sequence[str]) -> list[str]:
    """Those of the overrides that choose one of our options."""
    return [
        word for word in overrides if (conf_folder() / f"{word.lstrip('+').replace('=', '/')}.yaml").is_file()
    ]


def _no_setting(key: str, known: Sequence[str]) -> BenchError:
    return BenchError(f"there is no setting '{key}'{did_you_mean(key, known)}")
