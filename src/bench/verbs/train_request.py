"""What `python -m bench train reranker` is asked: its options and settings, read and checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.errors import BenchError, did_you_mean
from bench.verbs.arguments import Arguments

ABOUT = """\
Train a reranker on a collection's judgements: a cross-encoder from the packaged multilingual-e5-small, or another
encoder, with hard negatives from the configured retrievers."""

EXAMPLES = """\
examples:
  python -m bench train reranker collection=beir collection.path=DIR
  python -m bench -m collection=beir collection.path=DIR reranker=none,cross_encoder \\
      cross_encoder.model=outputs/rerankers/DIR          what it is worth, on other questions
  python -m bench train reranker collection=beir collection.path=DIR --cross-fit 5
                                                         five, each for the questions that it did not see
  python -m bench train reranker collection=aurora train.epochs=2 train.together=6 seed=1 -o outputs/rerankers/six

Any setting of conf/train/reranker.yaml can be given as train.NAME=VALUE, and the collection, the retrievers' and the
embedder's settings as in a run. Stopped or killed, the same command goes on from its last test. docs/reranker.md
tells what is done. Exit codes: 0 done, 2 asked wrongly (then nothing has been written).
"""


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is trained on what, and where it is written."""

    overrides: tuple[str, ...]
    cross_fit: int | None
    """How many parts are held out in turn; None trains one reranker."""
    output: Path | None
    """The folder; None is one by the name of the collection."""


def request(words: Sequence[str]) -> Request:
    """The request that the words make; BenchError says what is wrong with them."""
    if words and not words[0].startswith("-") and words[0] != "reranker":
        raise BenchError(
            f"train {words[0]}: what can be trained is a reranker{did_you_mean(words[0], ['reranker'])}"
        )
    overrides = [word for word in words[1:] if "=" in word and not word.startswith("-")]
    options = [word for word in words if word not in overrides]
    made = Arguments("train reranker", about=ABOUT, examples=EXAMPLES)
    made.add_argument("what", choices=("reranker",), help="the one kind there is")
    made.add_argument(
        "--cross-fit",
        type=int,
        metavar="N",
        help="train N, each on the questions that the others are tested on",
    )
    made.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="the folder (outputs/rerankers/<collection>)"
    )
    given = made.read(options)
    if given.cross_fit is not None and given.cross_fit < 2:
        raise BenchError(f"--cross-fit {given.cross_fit}: at least 2 parts")
    return Request(overrides=tuple(overrides), cross_fit=given.cross_fit, output=given.output)
