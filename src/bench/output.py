"""Where a verb writes its result: a file, a link to one or a pipe; what it cannot be is refused before any work."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from bench.artifacts import Writer, write_beside
from bench.errors import BenchError, listing

PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip")
"""Nothing is compressed, so no name may say so."""
KEPT = ("grid.parquet", "per_query.parquet", "command.json", "manifest.json", "run.parquet")
"""What a folder of results holds itself."""


def refuse_unwritable(option: str, path: Path, *, read: Iterable[Path] = ()) -> None:
    """BenchError, naming the option, where nothing can be written at a path, or where it is one of what is `read`.

    A file inside a folder that is read is refused where it is one of those that the folder keeps.
    """
    said = f"{option} {path}"
    if path.is_dir():
        raise BenchError(f"{said}: it is a folder; name a file in it")
    if path.suffix.lower() in PACKED:
        raise BenchError(f"{said}: nothing is compressed; leave out {path.suffix}")
    if path.exists():
        for one in read:
            if one.exists() and _belongs(path, one):
                raise BenchError(f"{said}: it is read ({one}) and would be lost; name another file")
    target = _target(path)
    if not target.parent.is_dir():
        raise BenchError(f"{said}: there is no folder {target.parent}")
    if not os.access(target if _is_stream(path) else target.parent, os.W_OK):
        raise BenchError(f"{said}: it may not be written here (no permission)")


def form_of(option: str, path: Path | None, forms: Mapping[str, str], *, named: str | None) -> str:
    """The form that is named, else the one that the ending of the path stands for, else a table.

    `forms` are the forms by ending (`.json`). BenchError for an ending that stands for none.
    """
    if named is not None or path is None:
        return named or "table"
    ending = path.suffix.lower()
    if ending and ending not in forms and not _is_stream(path):
        raise BenchError(
            f"{option} {path}: '{ending}' says no form: {listing(forms)}, or --format FORM with any other ending"
        )
    return forms.get(ending, "table")


def write_out(path: Path, write: Writer) -> None:
    """Write a result: a file at once or not at all, through links; a pipe or a device straight. Else BenchError."""
    try:
        if _is_stream(path):
            _straight(path, write)
        else:
            write_beside(_target(path), write)
    except OSError as error:
        raise BenchError(f"{path} cannot be written: {error.strerror or error}") from error


def _target(path: Path) -> Path:
    """The file that a path or a row of links leads to."""
    try:
        return path.resolve() if path.is_symlink() else path
    except (OSError, RuntimeError) as error:
        raise BenchError(f"{path}: its links lead nowhere ({error})") from error


def _is_stream(path: Path) -> bool:
    return path.exists() and not path.is_file()


def _straight(path: Path, write: Writer) -> None:
    """By way of a file, as Parquet is written with a look back."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "result"
        write(made)
        with made.open("rb") as source, path.open("wb") as stream:
            shutil.copyfileobj(source, stream)


def _belongs(path: Path, read: Path) -> bool:
    """Whether a path is what is read, or a file that a folder that is read keeps."""
    if not read.is_dir():
        return path.samefile(read)
    inside, folder = path.resolve(), read.resolve()
    return inside.is_relative_to(folder) and (inside.parent != folder or inside.name in KEPT)
