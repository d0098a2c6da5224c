"""The command line: a verb or overrides in, a table out, and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bench.errors import BenchError, did_you_mean

if TYPE_CHECKING:
    from bench.api import Results

HELP = """\
bench runs retrievers over a collection of documents with judged queries and writes a grid of
precision, recall, MRR and nDCG at every k, with latency, to Parquet.

  python -m bench retriever=faiss k=5                     one system on Aurora, the collection that comes along
  python -m bench 'k=[1,3,5,10]' retriever=hybrid         one system at several k: one search
  python -m bench -m retriever=bm25,faiss,hybrid reranker=none,overlap 'k=[1,3,5,10]'
                                                          a sweep: every combination
  python -m bench +experiment=k_vs_reranker               a named sweep: conf/experiment/k_vs_reranker.yaml
  python -m bench collection=beir collection.path=DIR     your own: corpus.jsonl, queries.jsonl, qrels/test.tsv

  retriever   what searches: bm25, faiss, dense (any store=), hybrid (fusion.sides)
  reranker    what reorders the first rerank_depth=50 candidates: none, overlap, late_interaction, cross_encoder,
              endpoint
  k           how many chunks go to the model: a number or a list
  budget      beside k, as many chunks as have so many tokens: budget=[500,1000]
  depth       how many candidates are stored (100)
  name        the folder under outputs/ (default)
  dry_run=true says what would be done; fresh=true does and measures it again; timing=off skips the latency pass

Verbs:
  run         what is done without a verb
  list        every part and option, and when to use it:  python -m bench list [group]
  cache       what the cache holds, and prune DAYS:       python -m bench cache prune 30

  data        check NAME_OR_FOLDER: what is odd, what a score can reach; audit NAME: how far judgements can be trusted
  evaluate    score rankings of any system, or stored runs on other judgements:  python -m bench evaluate --help
  compare     which system may be the best, which k, which reranker; or before and after, tested:
                                                          python -m bench compare outputs/default --baseline bm25
  report      what a folder shows, as one HTML page, tables for papers, plots:  python -m bench report --help
  gate        hold a system to rules, for a build server: python -m bench gate --help
  train       a reranker from a collection's judgements:  python -m bench train reranker --help
  selftest    every measure that trec_eval has too, beside it, on your files:   python -m bench selftest --help
  abstention  how well scores tell questions that have an answer from those that have none:
                                                          python -m bench abstention outputs/default
  similarity  how alike the rankings of the systems are:  python -m bench similarity outputs/default

Any setting of conf/ can be given as key=value (python -m bench --cfg job shows them all).
Exit codes: 0 done, 1 a cell failed or a disk did, 2 asked wrongly (then nothing has been written).
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Do what the command line asks and return the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        return _answer(arguments)
    except BenchError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("bench: stopped; the same command goes on from here", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1


def _answer(arguments: list[str]) -> int:
    first = arguments[0] if arguments else ""
    if first == "help" or ({"-h", "--help"} & set(arguments) and first not in HELPFUL):
        print(HELP, end="")
        return 0
    if first == "--version":
        from importlib.metadata import version

        print(version("bench"))
        return 0
    if "=" in first or first[:1] in ("-", "+", "~", ""):
        return _run(arguments)
    if first not in VERBS:
        raise BenchError(f"there is no verb '{first}'{did_you_mean(first, VERBS)} (python -m bench --help)")
    return VERBS[first](arguments[1:])


def _run(overrides: list[str]) -> int:
    if _shows_config(overrides):
        return _hydra(overrides)
    from bench.api import run
    from bench.tables import told

    results = run(*overrides)
    code = told(results)
    if results.plan is None and results.grid.loc[results.grid["status"] == "ok", "system_id"].nunique() > 1:
        _tell_page(results.folder)
    return code


def _tell_page(folder: Path) -> None:
    """Make the report of a sweep and say where it is. Where that fails the sweep stands, and the reason is said."""
    from bench.report.told import told
    from bench.verbs.report import reported
    from bench.verbs.report_request import Request

    asked = Request(folder=folder)
    try:
        told(reported(asked), asked.paths, file=sys.stderr)
    except Exception as error:  # whatever it is, no sweep is lost to it
        why = str(error) if isinstance(error, BenchError) else f"{type(error).__name__}: {error}"
        print(f"no report was made: {why} (python -m bench report {folder})", file=sys.stderr)


def _shows_config(overrides: Sequence[str]) -> bool:
    """Whether Hydra itself is asked: for the composed configuration or for what it knows."""
    return any(word.split("=")[0] in ("--cfg", "-c", "--info", "-i", "--hydra-help") for word in overrides)


def _hydra(overrides: list[str]) -> int:
    from hydra import main as hydra_main

    from bench.config import conf_folder
    from bench.overrides import understood

    sys.argv = ["bench", *understood(overrides, conf_folder())]
    hydra_main(config_path=str(conf_folder()), config_name="config", version_base="1.3")(lambda _: None)()
    return 0


def _list(arguments: list[str]) -> int:
    from bench.catalogue import catalogue

    print(catalogue(arguments))
    return 0


def _cache(arguments: list[str]) -> int:
    from bench.verbs.cache import cache

    print(cache(arguments))
    return 0


def _data(arguments: list[str]) -> int:
    from bench.verbs.data import data

    print(data(arguments))
    return 0


def _evaluate(arguments: list[str]) -> int:
    from bench.verbs.evaluate_request import request

    asked = request(arguments)
    if asked.folder is not None:
        from bench.tables import told
        from bench.verbs.evaluate import rescored

        return told(rescored(asked))
    from bench.tables.scores import told as scores_told
    from bench.verbs.evaluate import scored

    return scores_told(
        scored(asked), form=asked.form, output=asked.output, per_query=asked.per_query, beside=asked.beside
    )


def _compare(arguments: list[str]) -> int:
    from bench.tables.compare import told
    from bench.verbs.compare import compared
    from bench.verbs.compare_request import request

    asked = request(arguments)
    return told(compared(asked), form=asked.form, output=asked.output)


def _gate(arguments: list[str]) -> int:
    from bench.tables.gate import told
    from bench.verbs.gate import gated
    from bench.verbs.gate_request import request

    asked = request(arguments)
    return told(gated(asked), junit=asked.junit, markdown=asked.markdown)


def _report(arguments: list[str]) -> int:
    from bench.report.told import told
    from bench.verbs.report import reported
    from bench.verbs.report_request import request

    asked = request(arguments)
    return told(reported(asked), asked.paths, rows=asked.rows, columns=asked.columns)


def _selftest(arguments: list[str]) -> int:
    from bench.verbs.selftest import selftest

    found = selftest(arguments)
    print("\n".join(found.lines()))
    return 0 if found.passed else 1


def _train(arguments: list[str]) -> int:
    from bench.verbs.train import trained
    from bench.verbs.train_request import request

    print("\n".join(trained(request(arguments)).lines()))
    return 0


def _abstention(arguments: list[str]) -> int:
    from bench.tables import shown
    from bench.tables.runs import abstention_tables

    shown(abstention_tables(_loaded("abstention", arguments).kept))
    return 0


def _similarity(arguments: list[str]) -> int:
    from bench.tables import shown
    from bench.tables.runs import similarity_tables

    shown(similarity_tables(_loaded("similarity", arguments).kept))
    return 0


def _loaded(verb: str, arguments: list[str]) -> Results:
    from bench.api import load

    if len(arguments) != 1:
        raise BenchError(
            f"{' '.join([verb, *arguments])}: of which folder? python -m bench {verb} outputs/default"
        )
    return load(arguments[0])


VERBS: dict[str, Callable[[list[str]], int]] = {
    "run": _run,
    "list": _list,
    "cache": _cache,
    "data": _data,
    "evaluate": _evaluate,
    "compare": _compare,
    "gate": _gate,
    "report": _report,
    "selftest": _selftest,
    "train": _train,
    "abstention": _abstention,
    "similarity": _similarity,
}
HELPFUL = ("evaluate", "compare", "gate", "report", "selftest", "train")
"""The verbs that answer --help themselves."""
