"""What a system is called: its options, and in brackets what differs from the defaults."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
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
    groups = (*used_groups(cfg), "depth", "seed")
    known = [path for group in groups for path in _leaves(cfg, group)]
    differing: list[str] = []
    for group in groups:
        plain = usual
        if choices.get(group) != usual.hydra.runtime.choices.get(group):
            plain = _composed((f"{group}={choices[group]}",), folders)
            if group not in ("retriever", "reranker"):
                differing.append(choices[group])
        differing += _differences(cfg, plain, group, known=known)
    name = choices.retriever if choices.reranker == "none" else f"{choices.retriever}+{choices.reranker}"
    return f"{name}({','.join(dict.fromkeys(differing))})" if differing else str(name)


def _differences(cfg: DictConfig, plain: DictConfig, group: str, *, known: Sequence[str]) -> list[str]:
    """What a group has otherwise than its option, each setting by the end of its path that no other has."""
    usual, own = _leaves(plain, group), _leaves(cfg, group)
    changed = {path: value for path, value in own.items() if usual.get(path) != value}
    gone = dict.fromkeys(part for path in usual if path not in own if (part := _gone_with(path, own)) != path)
    return [
        *(f"~{part}" for part in gone),
        *(
            f"{_shortest(path, known)}={json.dumps(value) if isinstance(value, bool) else value}"
            for path, value in changed.items()
        ),
    ]


def _gone_with(path: str, own: Iterable[str]) -> str:
    """The whole part that a setting is gone with, as a side of a fusion; the setting itself where others are left."""
    names = path.split(".")
    parts = [".".join(names[:end]) for end in range(1, len(names))]
    return next((part for part in parts if not any(one.startswith(f"{part}.") for one in own)), path)


def _shortest(path: str, known: Sequence[str]) -> str:
    names = path.split(".")
    ends = (".".join(names[start:]) for start in range(len(names) - 1, 0, -1))
    return next((end for end in ends if sum(f".{one}".endswith(f".{end}") for one in known) == 1), path)


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
