"""Where a model is, what it is called, whether it can be had; and folders that are made once."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from bench.errors import BenchError, Unavailable
from bench.model_folders import built_folder, folder_digest, user_cache
from bench.models import Model, check_computation, check_device

OLD, NEW = "a" * 40, "b" * 40


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def a_folder(path, weights=b"weights"):
    (path / "1_Pooling").mkdir(parents=True, exist_ok=True)
    (path / "config.json").write_text("{}")
    (path / "1_Pooling" / "config.json").write_text("{}")
    (path / "model.safetensors").write_bytes(weights)
    return path


def model(name, revision=None):
    return Model(name=str(name), revision=revision, setting="embedder.model", instead="take another")


# Folders


def test_a_folder_is_known_by_what_it_holds_wherever_it_lies_and_whatever_it_is_called(tmp_path):
    here, there = a_folder(tmp_path / "here" / "model"), a_folder(tmp_path / "renamed")
    (there / "README.md").write_text("nothing that a loader reads")
    assert model(here).identity == model(there).identity == folder_digest(here)
    (there / "model.safetensors").write_bytes(b"Weights")
    assert model(here).identity != model(there).identity


def test_the_place_of_a_file_in_its_folder_is_part_of_what_it_is(tmp_path):
    here, there = a_folder(tmp_path / "here"), a_folder(tmp_path / "there")
    (there / "1_Pooling").rename(there / "2_Pooling")
    assert folder_digest(here) != folder_digest(there)
    around = tmp_path / "around"
    inner = a_folder(around / "inner")
    assert folder_digest(inner) == folder_digest(here)
    assert folder_digest(around) != folder_digest(inner)


def test_weights_of_the_older_format_count_where_no_others_lie_beside_them(tmp_path):
    folder = a_folder(tmp_path / "model")
    before = folder_digest(folder)
    (folder / "pytorch_model.bin").write_bytes(b"not read beside safetensors")
    assert folder_digest(folder) == before
    (folder / "1_Pooling" / "pytorch_model.bin").write_bytes(b"read: alone in its folder")
    assert folder_digest(folder) != before


def test_a_folder_trained_anew_is_another_model_from_one_moment_to_the_next(tmp_path):
    # As many writes of one size as fit into a tick of the file system's clock.
    digests = {folder_digest(a_folder(tmp_path / "model", b"%03d" % number)) for number in range(100)}
    assert len(digests) == 100


def test_what_a_folder_holds_is_read_once_and_remembered_on_disk(tmp_path, cache):
    folder = a_folder(tmp_path / "model")
    real = folder_digest(folder)
    (remembered,) = (cache / "digests").iterdir()
    remembered.write_text("0123456789abcdef")
    os.utime(remembered, (2e9, 2e9))
    assert folder_digest(folder) == "0123456789abcdef"
    remembered.write_text("0123")
    assert folder_digest(folder) == real


def test_a_folder_that_is_not_there_cannot_be_had(tmp_path):
    missing = model(tmp_path / "nowhere")
    assert missing.identity == "nowhere"
    for ask in (missing.check, lambda: missing.folder):
        with pytest.raises(
            Unavailable, match=r"^embedder.model=/.*nowhere: the folder does not exist; take another$"
        ):
            ask()


@pytest.mark.parametrize("lacking", ["config.json", "model.safetensors"])
def test_a_folder_without_weights_or_configuration_is_no_model(tmp_path, lacking):
    folder = a_folder(tmp_path / "model")
    model(folder).check()
    (folder / lacking).unlink()
    with pytest.raises(Unavailable, match=r"holds no model: a modules.json or config.json and weights"):
        model(folder).check()


def test_a_model_without_a_name_is_refused():
    with pytest.raises(BenchError, match=r"embedder.model is empty"):
        model("")


# The hub


@pytest.fixture
def hub_cache(tmp_path, monkeypatch):
    """The hub's local cache, empty, and no network."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


def a_snapshot(hub_cache, name, commit):
    repository = hub_cache / f"models--{name.replace('/', '--')}"
    (repository / "refs").mkdir(parents=True, exist_ok=True)
    (repository / "refs" / "main").write_text(commit)
    return a_folder(repository / "snapshots" / commit)


def test_a_model_in_the_hubs_cache_is_its_name_and_commit(hub_cache):
    older = a_snapshot(hub_cache, "org/cached", OLD)
    newer = a_snapshot(hub_cache, "org/cached", NEW)
    found, pinned = model("org/cached"), model("org/cached", OLD)
    found.check()
    assert (found.identity, found.folder) == (f"org/cached@{NEW}", newer)
    assert (pinned.identity, pinned.folder) == (f"org/cached@{OLD}", older)


def test_the_commit_first_found_is_the_commit_loaded(hub_cache):
    older = a_snapshot(hub_cache, "org/moving", OLD)
    found = model("org/moving")
    assert found.identity == f"org/moving@{OLD}"
    a_snapshot(hub_cache, "org/moving", NEW)
    assert found.folder == older


def test_a_snapshot_without_weights_is_not_here(hub_cache):
    (a_snapshot(hub_cache, "org/torn", OLD) / "model.safetensors").unlink()
    with pytest.raises(Unavailable, match="not whole in the hub's local cache"):
        model("org/torn").check()


def test_a_model_that_is_nowhere_says_so_and_what_to_take_instead(hub_cache):
    unknown = model("org/nowhere", "v2")
    assert unknown.identity == "org/nowhere@v2"
    for ask in (unknown.check, lambda: unknown.folder):
        with pytest.raises(
            Unavailable, match=r"org/nowhere: .* at revision v2 \(.*HF_HUB_OFFLINE.*\); take another$"
        ):
            ask()


def test_a_folder_comes_before_the_hubs_model_of_its_name(hub_cache, tmp_path, monkeypatch):
    a_snapshot(hub_cache, "org/both", OLD)
    monkeypatch.chdir(tmp_path)
    folder = a_folder(tmp_path / "org" / "both")
    assert model("org/both").folder == folder
    assert model("org/both").identity == folder_digest(folder)


@pytest.fixture
def hub(tmp_path):
    """A hub on this machine with one model, `org/served`, at the commit that `served.commit` says."""
    files = a_folder(tmp_path / "served")
    (files / "pytorch_model.bin").write_bytes(b"the same weights again")

    class Served(BaseHTTPRequestHandler):
        def do_HEAD(self):
            self.do_GET()

        def do_GET(self):
            path, headers = self.path.split("?")[0], {}
            paths = [file for file in files.rglob("*") if file.is_file()]
            if "/resolve/" in path:
                commit, name = path.split("/resolve/")[1].split("/", 1)
                body = (files / name).read_bytes()
                headers = {"X-Repo-Commit": commit, "ETag": f'"{hashlib.sha1(body).hexdigest()}"'}
            elif "/tree/" in path:
                oids = {file: hashlib.sha1(file.read_bytes()).hexdigest() for file in paths}
                listed = [
                    {
                        "type": "file",
                        "path": f.relative_to(files).as_posix(),
                        "size": f.stat().st_size,
                        "oid": oid,
                    }
                    for f, oid in oids.items()
                ]
                body = json.dumps(listed).encode()
            else:
                body = json.dumps({"id": "org/served", "sha": server.commit}).encode()
            self.send_response(200)
            for header, value in {"Content-Length": len(body), **headers}.items():
                self.send_header(header, str(value))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Served) as server:
        server.commit = OLD
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def in_a_new_process(code, hub, tmp_path, **environment):
    """What a process prints that has this hub and an empty cache of its own."""
    place = {"HF_ENDPOINT": f"http://127.0.0.1:{hub.server_port}", "HF_HOME": str(tmp_path / "home")}
    environment = {"HF_HUB_OFFLINE": "0", "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1", **environment}
    made = "from bench.models import Model; m = Model(name='org/served', revision=None, setting='s', instead='i'); "
    done = subprocess.run(
        [sys.executable, "-c", made + code],
        env={**os.environ, **place, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_a_model_of_the_hub_is_named_without_a_download_and_stays_at_its_commit(hub, tmp_path):
    assert in_a_new_process("m.check(); print(m.identity)", hub, tmp_path) == f"org/served@{OLD}"
    assert not list((tmp_path / "home").rglob("*.safetensors"))
    # Once brought it is known by its revision's name: neither a newer commit nor a lost network changes it.
    brought = in_a_new_process("print(m.folder)", hub, tmp_path)
    hub.commit = NEW
    again = "print(m.identity, m.folder)"
    assert in_a_new_process(again, hub, tmp_path) == f"org/served@{OLD} {brought}"
    assert in_a_new_process(again, hub, tmp_path, HF_HUB_OFFLINE="1") == f"org/served@{OLD} {brought}"
    read = {path.name for path in (tmp_path / "home").rglob(f"snapshots/{OLD}/*")}
    assert read == {"1_Pooling", "config.json", "model.safetensors"}


def test_a_snapshot_that_lacks_what_another_program_did_not_read_is_made_whole(hub, tmp_path):
    snapshot = a_snapshot(tmp_path / "home" / "hub", "org/served", OLD)
    (snapshot / "1_Pooling" / "config.json").unlink()
    assert in_a_new_process("print(m.folder)", hub, tmp_path) == str(snapshot)
    assert (snapshot / "1_Pooling" / "config.json").is_file()


# How a model is computed


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"device": "tpu"}, "cross_encoder.device='tpu': one of auto, cpu, cuda"),
        ({"dtype": "int8"}, "cross_encoder.dtype='int8': one of float32"),
        ({"batch_size": True}, "cross_encoder.batch_size=True: a whole number from 1"),
    ],
)
def test_a_setting_that_does_not_exist_is_named_with_its_group(setting, message):
    with pytest.raises(BenchError, match=message):
        check_computation(
            "cross_encoder", **{"device": "cpu", "dtype": "float32", "batch_size": 1, **setting}
        )


def test_a_gpu_that_is_not_there_is_unavailable():
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    check_device("embedder", "auto")
    with pytest.raises(Unavailable, match=r"embedder.device=cuda: torch finds no GPU .*embedder.device=auto"):
        check_device("embedder", "cuda")


# Folders that are made


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "model.safetensors").write_bytes(b"wei"),
        lambda folder: (folder / "model.safetensors").write_bytes(b"WEIGHTS"),
        lambda folder: (folder / "config.json").unlink(),
        lambda folder: (folder / ".complete").unlink(),
    ],
    ids=["cut short", "altered", "file gone", "never finished"],
)
def test_a_damaged_folder_is_made_again(tmp_path, damage):
    made = []

    def build(folder):
        made.append(folder)
        a_folder(folder)

    folder = built_folder(tmp_path / "models" / "model", build)
    whole = folder_digest(folder)
    built_folder(folder, build)
    assert len(made) == 1
    damage(folder)
    built_folder(folder, build)
    assert len(made) == 2
    assert folder_digest(folder) == whole


def test_a_build_that_fails_leaves_nothing_behind(tmp_path):
    def build(folder):
        a_folder(folder)
        raise Unavailable("no source")

    with pytest.raises(Unavailable, match="no source"):
        built_folder(tmp_path / "models" / "model", build)
    assert [path.name for path in (tmp_path / "models").iterdir()] in ([], [".model.lock"])


def test_the_cache_is_where_bench_cache_says(cache, monkeypatch):
    assert user_cache() == cache
    monkeypatch.delenv("BENCH_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert user_cache().as_posix() == "/somewhere/bench"
