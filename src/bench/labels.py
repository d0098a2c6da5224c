"""What a system is called: its options, and in brackets what differs from the defaults."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from omegaconf import DictConfig, OmegaConf

from bench.config import GROUPS, added_folders, compose_config


def used_groups(cfg: DictConfig) -> tuple[str, ...]:
    """The groups that the retriever and the reranker draw on, found by following their interpolations."""
    raw = _raw(cfg)
    found: list[str] = []
    waiting = ["retriever", "reranker"]
    while waiting:
        group = waiting.pop(0)
        if group not in found and group in raw:
            found.append(group)
            waiting += re.findall(r"\$\{(\w+)", json.dumps(raw[group], default=str))
    return tuple(group for group in (*GROUPS, "rerank_depth") if group in found)


def options(cfg: DictConfig) -> dict[str, str | None]:
    """The grid's columns of options: as asked, the analyzer as it came out; None for a part that is not used."""
    choices, used = cfg.hydra.runtime.choices, used_groups(cfg)
    asked = {group: choices[group] if group in used else None for group in ("store", "embedder", "analyzer")}
    if asked["analyzer"] == "auto":
        asked["analyzer"] = cfg.analyzer.language
    return {"retriever": choices.retriever, "reranker": choices.reranker, **asked}


def settings(cfg: DictConfig) -> dict[str, Any]:
    """The settings of every group in use."""
    whole = OmegaConf.to_container(cfg, resolve=True)
    assert isinstance(whole, dict)
    return {group: whole[group] for group in used_groups(cfg) if group not in ("retriever", "reranker")}


def label(cfg: DictConfig) -> str:
    """`hybrid+cross_encoder`, with `(option,setting=value)` behind it where it is not all defaults.

    Of the configuration as it was asked for: the language that `auto` comes to is no choice of the system.
    """
    choices, folders = cfg.hydra.runtime.choices, added_folders(cfg)
    usual = _composed((), folders)
    differing: list[str] = []
    for group in (*used_groups(cfg), "depth", "seed"):
        plain = usual
        if choices.get(group) != usual.hydra.runtime.choices.get(group):
            plain = _composed((f"{group}={choices[group]}",), folders)
            if group not in ("retriever", "reranker"):
                differing.append(choices[group])
        differing += _differences(cfg, plain, group)
    name = choices.retriever if choices.reranker == "none" else f"{choices.retriever}+{choices.reranker}"
    return f"{name}({','.join(dict.fromkeys(differing))})" if differing else str(name)


def _differences(cfg: DictConfig, plain: DictConfig, group: str) -> list[str]:
    usual = _leaves(plain, group)
    changed = {path: value for path, value in _leaves(cfg, group).items() if usual.get(path) != value}
    names = [path.split(".")[-1] for path in changed]
    return [
        f"{name if names.count(name) == 1 else path}={json.dumps(value) if isinstance(value, bool) else value}"
        for (path, value), name in zip(changed.items(), names, strict=True)
    ]


def _leaves(cfg: DictConfig, group: str) -> dict[str, Any]:
    """The settings that stand in a group itself, not what it takes from others, by dotted path."""
    found: dict[str, Any] = {}

    def walk(node: Any, path: str) -> None:
        if isinstance(node, Mapping):
            for key, value in node.items():
                walk(value, f"{path}.{key}")
        elif not (isinstance(node, str) and node.startswith("${")):
            found[path] = node

    walk(_raw(cfg).get(group), group)
    return found


def _raw(cfg: DictConfig) -> dict[str, Any]:
    raw = OmegaConf.to_container(cfg, resolve=False)
    assert isinstance(raw, dict)
    return {str(key): value for key, value in raw.items()}


@functools.lru_cache(maxsize=64)
def _composed(choices: Sequence[str], folders: Sequence[str]) -> DictConfig:
    """The configuration with these options and no settings."""
    return compose_config(choices, folders=folders)
