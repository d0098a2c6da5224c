"""What holds of every yaml in conf/: it says when to use it, composes, and makes a part named without a path."""

from __future__ import annotations

import copy
import functools
from pathlib import Path
from typing import Any

import pytest
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf
from tests.conftest import TINY

from bench.catalogue import catalogue
from bench.config import compose_config, conf_folder
from bench.errors import Unavailable
from bench.identity import identity, parts_of

CONF = conf_folder()
FILES = sorted(path for path in CONF.rglob("*.yaml") if "hydra" not in path.relative_to(CONF).parts)
OPTIONS = [path for path in FILES if path.parent.name not in (CONF.name, "experiment")]
# What the user must say, where an option asks for it.
ASKED = {
    "callable.function": "json:loads",
    "collection.path": str(TINY),
    "endpoint.model": "tiny",
    "endpoint.url": "http://127.0.0.1:9/rerank",
    "embedder.model": "intfloat/multilingual-e5-small",
    "http.url": "http://127.0.0.1:9/search",
    "run_file.path": str(TINY / "qrels" / "test.tsv"),
}


def name_of(path: Path) -> str:
    return path.relative_to(CONF).with_suffix("").as_posix()


def every(paths):
    return pytest.mark.parametrize("path", paths, ids=name_of)


def user_of(group: str) -> str:
    """The group that the part of an option stands in, or for mere settings `group=option` of what reads them."""
    readers = [*(CONF / "retriever").glob("*.yaml"), *(CONF / "reranker").glob("*.yaml")]
    named = (
        name_of(path).replace("/", "=") for path in sorted(readers) if f"${{{group}." in path.read_text()
    )
    return next(named, group)


@functools.cache
def node_of(path: Path) -> DictConfig:
    """The configuration of the part that an option makes, or of the one that reads it."""
    group, _, option = name_of(path).rpartition("/")
    user = user_of(group.split("/")[0])
    # Training alone composes its settings.
    overrides = [f"{'+' if group == 'train' else ''}{group}={option}", *([user] if "=" in user else [])]
    cfg = compose_config(overrides)
    for key, value in ASKED.items():
        if OmegaConf.is_missing(cfg.get(key.split(".")[0]) or {}, key.split(".")[1]):
            OmegaConf.update(cfg, key, value)
    if cfg.analyzer.language == "auto":
        cfg.analyzer.language = "spanish"  # what a job takes from its collection
    return cfg[user.split("=")[0]]


def made(path: Path) -> Any:
    return instantiate(copy.deepcopy(node_of(path)), _convert_="all")


@every(FILES)
def test_it_says_first_when_to_use_it(path):
    first, second = path.read_text().splitlines()[:2]
    # Hydra wants the package of an experiment on the first line.
    comment = second if first == "# @package _global_" else first
    assert comment.startswith("# ")
    assert len(comment.split()) >= 6
    assert comment.removeprefix("# ")[0].isupper()


@every(OPTIONS)
def test_it_composes_and_makes_its_part(path):
    part = made(path)

    settings = OmegaConf.load(path)
    if "_target_" in settings:
        assert {str(key) for key in settings} - {"_target_"} <= set(type(part).__dataclass_fields__)


@every([path for path in OPTIONS if path.parent.name not in ("collection", "timing", "train")])
def test_its_identity_is_the_same_for_equal_parts_and_holds_no_path(path):
    part = made(path)
    try:
        name = identity(part)
    except Unavailable as error:
        pytest.skip(f"the model cannot be had here: {error}")

    assert name == identity(made(path))
    assert "\n" not in name
    for folder in (str(CONF.parent), str(Path.home()), "/tmp", "site-packages"):
        assert folder not in name


@every([path for path in OPTIONS if path.parent.name in ("embedder", "store", "retriever", "reranker")])
def test_it_can_be_had_here(path):
    try:
        for part in parts_of(made(path)):
            if hasattr(part, "check"):
                part.check(1000)
    except Unavailable as error:
        pytest.skip(f"cannot be had here: {error}")


@every([path for path in FILES if path.parent.name == "collection"])
def test_it_loads(path):
    collection = made(path).load()

    assert len(collection.docs) > 0
    assert len(collection.queries) > 0


def test_the_default_configuration_is_the_main_job_of_the_readme():
    choices = compose_config([]).hydra.runtime.choices

    assert {
        group: choices[group] for group in ("collection", "embedder", "store", "retriever", "reranker")
    } == {
        "collection": "aurora",
        "embedder": "e5_small",
        "store": "faiss_flat",
        "retriever": "faiss",
        "reranker": "none",
    }


def test_list_shows_every_option_with_its_first_comment():
    shown = catalogue([])
    for path in FILES:
        if path.parent.parent == CONF:
            lines = path.read_text().splitlines()
            comment = lines[1] if lines[0].startswith("# @package") else lines[0]
            assert f"  {path.stem}" in shown
            assert comment.removeprefix("# ") in shown
