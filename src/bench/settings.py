"""The plain settings of a configuration: measures, numbers, flags. BenchError names the key that is wrong."""

from __future__ import annotations

from collections.abc import Sequence

from omegaconf import DictConfig, OmegaConf

from bench.errors import BenchError, check_one_of
from bench.measure import LARGEST_K, Measure
from bench.metrics import MEASURES, parse


def measures(cfg: DictConfig) -> tuple[Measure, ...]:
    """The measures that are to be computed, each once."""
    names = cfg.measures
    if not OmegaConf.is_list(names) or not names:
        raise BenchError(f"measures={names}: a list of measures, measures=[ndcg,recall]")
    parsed = {str(name): parse(str(name)) for name in names}
    for name, (measure, cut) in parsed.items():
        if cut is not None:
            raise BenchError(
                f"measures: {name}: k is a setting of its own, measures=[{measure.name}] k={cut}"
            )
    asked = [measure for measure, _ in parsed.values()]
    for measure, name in zip(asked, parsed, strict=True):
        if measure != MEASURES[measure.name]:
            raise BenchError(f"measures: the grid has columns for the usual parameters alone, not for {name}")
    return tuple(dict.fromkeys(asked))


def numbers(cfg: DictConfig, key: str, *, fewest: int, such_as: str) -> tuple[int, ...]:
    """A whole number or several, at least so many, rising, each once."""
    asked = list(cfg[key]) if OmegaConf.is_list(cfg[key]) else [cfg[key]]
    if len(asked) < fewest or any(type(one) is not int or one < 1 for one in asked):
        raise BenchError(f"{key}={cfg[key]}: {key} is a whole number from 1, or a list of them, {such_as}")
    if max(asked, default=1) > LARGEST_K:
        raise BenchError(f"{key}={max(asked)}: {key} is at most {LARGEST_K:,}")
    return tuple(sorted(set(asked)))


def whole(cfg: DictConfig, key: str, *, least: int, most: int | None = None) -> int:
    """A whole number within its bounds."""
    value = cfg[key]
    if type(value) is not int or value < least or (most is not None and value > most):
        raise BenchError(
            f"{key}={value}: {key} is a whole number from {least}{f' to {most}' if most else ''}"
        )
    return value


def word(cfg: DictConfig, key: str, *, of: Sequence[str]) -> str:
    """One of some words."""
    check_one_of(key, cfg[key], of)
    return str(cfg[key])


def flag(cfg: DictConfig, key: str) -> bool:
    """Yes or no."""
    value = cfg[key]
    if not isinstance(value, bool):
        raise BenchError(f"{key}={value}: {key} is true or false")
    return value
