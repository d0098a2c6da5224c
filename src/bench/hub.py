"""Models by hub name or by folder: where one is, what it is, and whether it can be had."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from bench.errors import Unavailable
from bench.identity import digest

_READ = (".safetensors", ".bin", ".json", ".txt", ".model", ".py")
"""What a loader reads: weights, configs, tokenizers, a model's own code. A README changes no result."""

_NOT_FOR_TORCH = ["onnx/*", "openvino/*", "*.onnx", "*.h5", "*.msgpack", "*.ot", "*.gguf", "coreml/*"]


def folder_of(model: str, revision: str | None = None) -> Path | None:
    """The folder here that holds the model: the one named, else one in the hub's local cache, else None."""
    named = Path(model).expanduser()
    if named.is_dir():
        return named if _weights(named) else None
    # Half a second to import, so not before a model is really looked for.
    from huggingface_hub import snapshot_download

    try:
        cached = Path(snapshot_download(model, revision=revision, local_files_only=True))
    except (OSError, ValueError):  # not in the cache; no name that a hub could have
        return None
    return cached if _weights(cached) else None


def obtained(model: str, revision: str | None = None) -> Path:
    """The folder of the model, brought from the hub if it is not here yet; Unavailable where that fails."""
    folder = folder_of(model, revision)
    if folder is not None:
        return folder
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(model, revision=revision, ignore_patterns=_NOT_FOR_TORCH))
    except Exception as error:  # whatever the HTTP library under the hub's client raises
        raise Unavailable(f"the model {model} cannot be downloaded: {_first_line(error)}") from error


def model_identity(model: str, revision: str | None = None) -> str:
    """What a model is: the digest of its weights, after its name if it is the hub's; never a path."""
    weights = weights_digest(obtained(model, revision))
    return weights if Path(model).expanduser().is_dir() else f"{model}@{weights}"


def weights_digest(folder: Path) -> str:
    """A name for what a loader reads in this folder: weights, configs, tokenizer; the same wherever it lies.

    Files are read once in a process as long as their sizes and times stay.
    """
    files = [path for path in sorted(folder.rglob("*")) if path.suffix in _READ and path.is_file()]
    safe = {path.parent for path in files if path.suffix == ".safetensors"}
    parts = []
    for path in files:
        # Where weights stand in both formats, as in older repositories, only the first is loaded.
        if path.suffix != ".bin" or path.parent not in safe:
            status = path.stat()
            content = _content_digest(path, status.st_size, status.st_mtime_ns)
            parts += [path.relative_to(folder).as_posix(), content]
    return digest(*parts)


def check_model(model: str, *, revision: str | None, kind: str, alternatives: str) -> None:
    """Raise Unavailable, naming the alternatives, unless the model is here or the hub has it.

    Loads and downloads nothing. The hub is asked once, for three seconds at most, and not where
    HF_HUB_OFFLINE is set.
    """
    if folder_of(model, revision) is None:
        reason = _why_not(model, revision)
        if reason:
            raise Unavailable(f"{kind} {model} cannot be had here: {reason}. {alternatives}")


@contextmanager
def no_loading_bar() -> Iterator[None]:
    """Keep the bar over the tensors of a file, a second's work, off standard error."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _why_not(model: str, revision: str | None) -> str | None:
    if Path(model).expanduser().is_dir():
        return "the folder holds no weights (*.safetensors or *.bin)"
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HFValidationError, RepositoryNotFoundError, RevisionNotFoundError

    try:
        HfApi().model_info(model, revision=revision, timeout=3)
    except HFValidationError:
        return "there is no such folder"
    except (RepositoryNotFoundError, RevisionNotFoundError):
        return "it is no folder, and the hub has no public model of this name and revision"
    except Exception as error:  # whatever the HTTP library under the hub's client raises
        return (
            f"it is no folder and not in the local cache, and the hub is out of reach ({_first_line(error)})"
        )
    return None


def _weights(folder: Path) -> bool:
    return any(path.suffix in (".safetensors", ".bin") for path in folder.rglob("*"))


@lru_cache(maxsize=4096)
def _content_digest(path: Path, _size: int, _modified: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
