"""Folders that hold a model: where ours are kept, what names their contents, how one is made safely."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

from bench.identity import digest

_READ_BY_A_MODEL = {".safetensors", ".bin", ".npz", ".json", ".txt", ".model", ".py"}
_DIGEST = re.compile(r"[0-9a-f]{16}")
_MARKER = ".complete"


def user_cache() -> Path:
    """`$BENCH_CACHE`, else `bench` in the user's cache folder (`$XDG_CACHE_HOME` or `~/.cache`)."""
    if own := os.environ.get("BENCH_CACHE"):
        return Path(own).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bench"


def folder_digest(folder: Path) -> str:
    """A name for the model in a folder, whatever its path: weights, configuration, tokenizer, code.

    16 hexadecimal digits, remembered in the user's cache under path, size and times of change: weights of a
    gigabyte are read once, not at the start of every job.
    """
    folder = folder.resolve()
    files = _files_read(folder)
    # The time of the inode's change too: unpacked archives give every file the same time of writing.
    facts = [file.stat() for file in files]
    stamps = (
        f"{file} {f.st_size} {f.st_mtime_ns} {f.st_ctime_ns}" for file, f in zip(files, facts, strict=True)
    )
    remembered = user_cache() / "digests" / digest(str(folder), *stamps)
    # Two writes within one tick of the file system's clock leave one time: what was remembered in the tick of
    # the last change may be of an earlier state.
    last_change = max((f.st_ctime_ns for f in facts), default=0)
    if remembered.is_file() and remembered.stat().st_mtime_ns > last_change:
        known = remembered.read_text(encoding="utf-8")
        if _DIGEST.fullmatch(known):
            return known
    value = digest(
        *(part for file in files for part in (file.relative_to(folder).as_posix(), _content(file)))
    )
    _write_whole(remembered, value)
    return value


def built_folder(folder: Path, build: Callable[[Path], None]) -> Path:
    """The folder, filled by `build` unless it is complete; one that is damaged is made again.

    Parallel jobs wait for the one that builds. The digest of the contents is written last, so a folder that
    is half written, cut short or altered never counts as complete.
    """
    if _is_complete(folder):
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.parent / f".{folder.name}.lock"):
        if not _is_complete(folder):
            shutil.rmtree(folder, ignore_errors=True)
            with tempfile.TemporaryDirectory(prefix=".", dir=folder.parent) as scratch:
                made = Path(scratch) / folder.name
                made.mkdir()
                build(made)
                made.rename(folder)
            _write_whole(folder / _MARKER, folder_digest(folder))
    return folder


def _files_read(folder: Path) -> list[Path]:
    """What a loader reads of a folder. Of weights in both formats, side by side, it reads the safetensors."""
    files = [file for file in sorted(folder.rglob("*")) if file.suffix in _READ_BY_A_MODEL and file.is_file()]
    safe = {file.parent for file in files if file.match("model*.safetensors")}
    return [file for file in files if not (file.match("pytorch_model*.bin") and file.parent in safe)]


def _content(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _is_complete(folder: Path) -> bool:
    marker = folder / _MARKER
    return marker.is_file() and marker.read_text(encoding="utf-8") == folder_digest(folder)


def _write_whole(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=file.parent, delete=False) as scratch:
        scratch.write(text)
    Path(scratch.name).replace(file)
