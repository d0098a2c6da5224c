"""Models by hub name or folder: what one is, whether it can be had, where its files are, how it is computed."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from bench.errors import BenchError, Unavailable, check_one_of, check_whole
from bench.model_folders import folder_digest

# torch and transformers take seconds to import, huggingface_hub a third of one. They are imported where a
# model is loaded or the hub is asked, so that --help and a run from the cache wait for none of them.

DEVICES = ("auto", "cpu", "cuda")
DTYPES = ("float32", "bfloat16", "float16")
_HUB_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")
_HUB_SECONDS = 3
_NOT_FOR_TORCH = ("onnx/*", "openvino/*", "coreml/*", "*.onnx", "*.h5", "*.msgpack", "*.ot", "*.gguf")


@dataclass(frozen=True, kw_only=True)
class Model:
    """A model by its name on the Hugging Face hub, or by its folder, which comes first.

    What is found is kept with the value: a new one sees a folder that was trained anew.

    revision: branch, tag or commit on the hub
    setting: the config key that named the model, for messages
    instead: what can be used where it cannot be had, for messages
    """

    name: str
    revision: str | None
    setting: str
    instead: str

    def __post_init__(self) -> None:
        if not self.name:
            raise BenchError(f"{self.setting} is empty: give a name on the model hub or a folder")

    @cached_property
    def identity(self) -> str:
        """A folder's digest, a hub model's name and commit: never a path; downloads nothing."""
        if self._path is not None:
            return folder_digest(self._path) if self._path.is_dir() else self._path.name
        known = self._on_hub.commit or self.revision
        return f"{self.name}@{known}" if known else self.name

    def check(self) -> None:
        """Unavailable, with what can be used instead, unless the model is here or the hub has it.

        Loads and downloads nothing. The hub is asked once in a process, for three seconds, and not where
        HF_HUB_OFFLINE is set.
        """
        if reason := self._on_hub.refusal if self._path is None else _no_model(self._path):
            raise self._unavailable(reason)

    @cached_property
    def folder(self) -> Path:
        """Where the files are, brought from the hub if they are not here yet; else Unavailable."""
        self.check()
        if self._path is not None:
            return self._path
        commit = self._on_hub.commit
        cached = _cached(self.name, commit)
        if cached and (_is_listed(self.name, commit) or _asked_of_hub(self.name, commit).refusal):
            return cached
        try:
            # What is new is asked for by the revision's name: only so will the hub's cache know it by that
            # name without a network.
            folder = _snapshot(self.name, commit if cached else self.revision)
            return folder if folder.name == commit else _snapshot(self.name, commit)
        except Exception as error:  # whatever the HTTP library under the hub's client raises
            raise self._unavailable(f"it cannot be downloaded ({_words(error)})") from error

    @cached_property
    def _path(self) -> Path | None:
        path = Path(self.name).expanduser()
        return path.resolve() if path.is_dir() or not _HUB_NAME.fullmatch(self.name) else None

    @cached_property
    def _on_hub(self) -> _Commit:
        # The commit found is the commit loaded: a model that moves on the hub cannot take the place of the
        # one whose name stands in the results.
        cached = _cached(self.name, self.revision)
        return _Commit(cached.name) if cached else _asked_of_hub(self.name, self.revision)

    def _unavailable(self, reason: str) -> Unavailable:
        return Unavailable(f"{self.setting}={self.name}: {reason}; {self.instead}")


@contextmanager
def loading(model: Model) -> Iterator[None]:
    """Around a loader of sentence-transformers: no bar over a file's tensors, and Unavailable if it fails."""
    from safetensors import SafetensorError
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    except (OSError, ValueError, SafetensorError) as error:
        raise Unavailable(f"{model.setting}={model.name} cannot be loaded: {error}") from error
    finally:
        if shown:
            logging.enable_progress_bar()


def check_computation(group: str, *, device: str, dtype: str, batch_size: int) -> None:
    """BenchError, naming the config group, where a setting of how a model is computed is none that exists."""
    check_one_of(f"{group}.device", device, DEVICES)
    check_one_of(f"{group}.dtype", dtype, DTYPES)
    check_whole(f"{group}.batch_size", batch_size, least=1)


def check_device(group: str, device: str) -> None:
    """Unavailable where a GPU is asked for and there is none; asks torch in that case alone."""
    if device == "cuda" and torch_device("auto") == "cpu":
        raise Unavailable(f"{group}.device=cuda: torch finds no GPU here: use {group}.device=auto or cpu")


def torch_device(device: str) -> str:
    """The device in torch's words: auto is the first GPU where there is one, else the CPU."""
    if device != "auto":
        return device
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


class _Commit(NamedTuple):
    """A commit on the hub, or why there is none to be had."""

    commit: str | None
    refusal: str = ""


@functools.cache
def _asked_of_hub(model: str, revision: str | None) -> _Commit:
    from huggingface_hub import model_info

    try:
        return _Commit(model_info(model, revision=revision, timeout=_HUB_SECONDS).sha)
    # Offline, no network, no such model, no such revision, a proxy's refusal: the hub's client has no
    # common class for them, and each means that the model cannot be had.
    except Exception as error:
        at = f" at revision {revision}" if revision else ""
        where = "it is no folder, it is not whole in the hub's local cache, and the hub does not give it"
        return _Commit(None, f"{where}{at} ({_words(error)})")


def _cached(model: str, revision: str | None) -> Path | None:
    """The model's folder in the hub's local cache, if it is whole as far as the hub's client knows."""
    try:
        folder = _snapshot(model, revision, local=True)
    except (OSError, ValueError):  # not there, or not whole; no name that a hub could have
        return None
    return folder if _weights(folder) else None


def _is_listed(model: str, revision: str | None) -> bool:
    """Whether the local cache knows which files the model has.

    Without the list, a program that read the model file by file may have left out some that are read here:
    a model that lacks the file that says how it pools would be pooled in another way, without an error.
    """
    from huggingface_hub import get_cached_repo_tree
    from huggingface_hub.errors import CachedRepoTreeNotFoundError

    try:
        return bool(get_cached_repo_tree(model, revision=revision))
    except CachedRepoTreeNotFoundError:
        return False


def _snapshot(model: str, revision: str | None, *, local: bool = False) -> Path:
    from huggingface_hub import snapshot_download

    def fetched(*unread: str) -> Path:
        ignored = [*_NOT_FOR_TORCH, *unread]
        return Path(
            snapshot_download(model, revision=revision, ignore_patterns=ignored, local_files_only=local)
        )

    # Older repositories hold the same weights twice.
    folder = fetched("pytorch_model*.bin")
    return folder if any(folder.glob("*.safetensors")) else fetched()


def _no_model(folder: Path) -> str:
    """Why a folder is no model; empty where it is one."""
    if not folder.is_dir():
        return "the folder does not exist"
    if not any((folder / file).is_file() for file in ("modules.json", "config.json")) or not _weights(folder):
        return "the folder holds no model: a modules.json or config.json and weights are needed"
    return ""


def _weights(folder: Path) -> bool:
    return any(file.suffix in (".safetensors", ".bin") for file in folder.rglob("*"))


def _words(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
