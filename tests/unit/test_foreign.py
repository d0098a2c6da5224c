"""Contestants that are not ours: a search behind an address, a Python function, a stored run."""

from __future__ import annotations

import gzip
import json
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.program import bench, grid, jobs
from tests.conftest import TINY, ranking_of

from bench.artifacts import JobFolder
from bench.collection import Doc, Query
from bench.errors import BenchError, Unavailable
from bench.identity import identity
from bench.loading import BeirFolder
from bench.reading import read_hits
from bench.retrievers.bm25 import BM25
from bench.retrievers.function import Function
from bench.retrievers.http import Http
from bench.retrievers.json_places import at, filled, filled_address
from bench.retrievers.run_file import RunFile
from bench.text.analyzer import Analyzer

DOCS = tuple(Doc(id=name, text=name) for name in "dcba")
QUERIES = (Query(id="q1", text="one"), Query(id="q2", text="two"))


def searched(recipe, *, depth: int = 10) -> dict[str, list[str]]:
    index = recipe.index(DOCS)
    try:
        run = index.search(QUERIES, depth)
    finally:
        index.close()
    return {query.id: ranking_of(run, query.id) for query in QUERIES}


# A search behind an address.


class Server:
    """A server of this machine that answers as `answer` says and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[dict] = []
        self.answer: Callable[[dict], tuple[int, object]] = lambda request: (200, {"hits": []})
        self.head, self.probed = 405, 0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1

            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length)) if length else None
                request = {"method": self.command, "path": self.path, "body": body, "headers": self.headers}
                outer.asked.append(request)
                status, told = outer.answer(request)
                data = told if isinstance(told, bytes) else json.dumps(told).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST  # noqa: N815

            def do_HEAD(self) -> None:
                outer.probed += 1
                self.send_response(outer.head)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/search"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    started = Server()
    yield started
    started.close()


@pytest.fixture(scope="module")
def closed_port() -> int:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        return int(reserved.getsockname()[1])


def hits(*ids: object) -> dict:
    return {"hits": [{"id": one} for one in ids]}


def answering_like_bm25(server: Server) -> None:
    collection = BeirFolder(path=str(TINY)).load()
    index = BM25(analyzer=Analyzer(language="spanish")).index(collection.docs)

    def answer(request: dict) -> tuple[int, object]:
        body = request["body"]
        run = index.search([Query(id="q", text=body["query"])], body["depth"])
        places = zip(run.rows[0].tolist(), run.scores[0].tolist(), strict=True)
        return 200, {"hits": [{"id": run.docs[row], "score": score} for row, score in places if row >= 0]}

    server.answer = answer


def test_ones_own_search_stands_beside_ours_in_one_grid(server, in_folder):
    answering_like_bm25(server)

    answer = bench("-m", "retriever=bm25,http", f"http.url={server.url}", "http.hit_score=/score", "k=[1,3]")

    assert answer.code == 0, answer.err
    measures = ["k", "ndcg", "recall", "precision", "mrr"]
    ours, theirs = (grid().query("retriever == @name")[measures] for name in ("bm25", "http"))
    assert ours.to_numpy().tolist() == theirs.to_numpy().tolist()
    assert "are kept as version 1" in answer.err


def test_what_it_answered_holds_until_the_version_changes_or_fresh_is_asked(server, in_folder):
    words = ("retriever=http", f"http.url={server.url}", "k=1")
    server.answer = lambda request: (200, hits("garantia"))
    bench(*words)
    server.answer = lambda request: (200, hits("factura"))

    def first_found(*more: str) -> str:
        bench(*words, *more)
        folder = max(jobs().values(), key=lambda path: JobFolder(path).stamp)
        return (folder / "run.trec").read_text().split()[2]

    assert first_found() == "garantia"
    assert first_found("http.version=2") == "factura"
    assert first_found("fresh=true") == "factura"


def test_hits_come_in_their_order_or_by_their_score_and_no_more_than_asked(server):
    server.answer = lambda request: (
        200,
        {"found": {"list": [{"_id": "b", "s": 1}, {"_id": "c", "s": 3.5}, {"_id": "a", "s": 2}]}},
    )
    asked = {"url": server.url, "hits": "/found/list", "hit_id": "/_id"}

    assert searched(Http(**asked))["q1"] == ["b", "c", "a"]
    assert searched(Http(**asked, hit_score="/s"))["q1"] == ["c", "a", "b"]
    assert searched(Http(**asked, hit_score="/s"), depth=2)["q2"] == ["c", "a"]


def test_a_query_can_stand_in_the_address_and_hits_can_be_ids(server):
    server.answer = lambda request: (200, [["b", "a"]])
    recipe = Http(url=f"{server.url}?q={{query}}&n={{depth}}", method="GET", hits="/0", hit_id="")

    assert searched(recipe, depth=7)["q1"] == ["b", "a"]
    assert server.asked[0]["path"] == "/search?q=one&n=7"
    assert server.asked[0]["body"] is None


def test_a_list_that_is_null_is_empty(server):
    server.answer = lambda request: (200, {"hits": None})

    assert searched(Http(url=server.url)) == {"q1": [], "q2": []}


def test_the_body_is_a_mapping_or_json_text(server):
    server.answer = lambda request: (200, hits("a"))
    template = {"text": "[{query}]", "size": "{depth}", "filters": [{"live": True}]}

    for body in (template, json.dumps(template)):
        searched(Http(url=server.url, body=body), depth=3)
        assert server.asked[-1]["body"] == {"text": "[two]", "size": 3, "filters": [{"live": True}]}
    assert identity(Http(url=server.url, body=template)) == identity(
        Http(url=server.url, body=json.dumps(template))
    )


@given(query=st.text(), depth=st.integers(1, 1000))
def test_any_query_arrives_as_it_is(query, depth):
    body = filled({"a": ["x {query}", "{depth}", 5, None]}, query=query, depth=depth)
    assert body == {"a": [f"x {query}", depth, 5, None]}

    clean = query.encode("utf-8", "ignore").decode()
    target = filled_address("/s?q={query}&n={depth}", query=clean, depth=depth)
    arguments = parse_qs(urlsplit(target).query, keep_blank_values=True, strict_parsing=True)
    assert arguments == {"q": [clean], "n": [str(depth)]}


def test_a_pointer_leads_through_lists_and_odd_names():
    value = {"a/b": [{"~": 7}]}
    assert at(value, "/a~1b/0/~0") == 7
    assert at(value, "") is value


def test_documents_that_the_collection_does_not_have_are_listed_or_left_out(server):
    server.answer = lambda request: (200, hits("b", 12, "x", "a"))

    with pytest.raises(
        BenchError, match=r"2 documents that are not in the collection \(12, x\).*like d, c, b"
    ):
        searched(Http(url=server.url))

    index = Http(url=server.url, unknown="drop").index(DOCS)
    assert ranking_of(index.search(QUERIES, 10), "q1") == ["b", "a"]
    assert index.facts()["unknown_documents"] == 2
    assert index.facts()["unknown_hits"] == 4
    index.close()


def test_ids_that_differ_only_in_unicode_form_are_told(server):
    server.answer = lambda request: (200, hits("envi\u0301o"))
    index = Http(url=server.url).index([Doc(id="envío", text="")])

    with pytest.raises(BenchError, match="1 of them differ only in Unicode form"):
        index.search(QUERIES, 10)
    index.close()


def test_a_document_that_comes_twice_is_refused_or_counted_once(server):
    server.answer = lambda request: (200, hits("b", "a", "b"))

    with pytest.raises(BenchError, match=r"stand twice in a ranking \(q1 / b, q2 / b\)"):
        searched(Http(url=server.url))

    assert searched(Http(url=server.url, duplicates="keep-first"))["q1"] == ["b", "a"]


def test_a_key_is_taken_from_the_environment_and_stands_in_no_name(server, monkeypatch):
    server.answer = lambda request: (200, hits("a"))
    recipe = Http(url=server.url, headers={"Authorization": "Bearer $SEARCH_KEY"})

    with pytest.raises(
        Unavailable, match=r"http\.headers.Authorization: the environment variable SEARCH_KEY"
    ):
        recipe.check(1)
    monkeypatch.setenv("SEARCH_KEY", "secret")
    searched(recipe)

    assert server.asked[0]["headers"]["Authorization"] == "Bearer secret"
    assert "secret" not in identity(recipe)


def test_the_key_stands_nowhere_in_the_outputs(server, in_folder, monkeypatch):
    monkeypatch.setenv("SEARCH_KEY", "very-secret")
    server.answer = lambda request: (200, hits("garantia"))

    answer = bench(
        "retriever=http", f"http.url={server.url}", "http.headers={Authorization: Bearer $SEARCH_KEY}", "k=1"
    )

    assert answer.code == 0, answer.err
    assert server.asked[-1]["headers"]["Authorization"] == "Bearer very-secret"
    written = [path for path in in_folder.rglob("*") if path.is_file()]
    assert not [path for path in written if b"very-secret" in path.read_bytes()]


def test_where_nothing_answers_the_job_fails_before_any_starts(closed_port, in_folder):
    answer = bench("-m", "retriever=bm25,http", f"http.url=http://127.0.0.1:{closed_port}/", "k=1")

    assert answer.code == 1
    assert "cannot be reached" in answer.err
    assert grid().set_index("retriever")["status"].to_dict() == {"bm25": "ok", "http": "failed"}


def test_a_passing_trouble_is_asked_again_later_and_a_lasting_one_is_not(server, monkeypatch):
    waits: list[float] = []
    monkeypatch.setattr("bench.patience.pause", waits.append)
    troubles = [(503, {}), (429, {})]
    server.answer = lambda request: troubles.pop() if troubles else (200, hits("a"))
    assert searched(Http(url=server.url))["q1"] == ["a"]
    assert waits == [0.5, 1.0]

    server.answer = lambda request: (503, {"why": "busy"})
    with pytest.raises(Unavailable, match=r"answered 503 .*busy"):
        searched(Http(url=server.url, retries=1))

    server.asked.clear()
    server.answer = lambda request: (400, {"why": "no such index"})
    with pytest.raises(Unavailable, match=r"answered 400 .*no such index"):
        searched(Http(url=server.url))
    assert len(server.asked) == 1


def test_a_password_in_an_address_is_refused_and_not_repeated():
    with pytest.raises(BenchError, match=r"http.url: .*without user or password") as raised:
        Http(url="http://me:secret@search.example/{query}")
    assert "secret" not in str(raised.value)


def test_a_check_asks_once_and_briefly_and_tells_that_a_key_is_refused(server, closed_port, monkeypatch):
    monkeypatch.setattr("bench.patience.pause", lambda seconds: pytest.fail("a check waits for nothing"))
    Http(url=server.url).check(1)
    assert (server.probed, server.asked) == (1, [])
    for status in (401, 403):
        server.head = status
        with pytest.raises(Unavailable, match=f"answered {status}"):
            Http(url=server.url).check(1)
    with pytest.raises(Unavailable, match="cannot be reached"):
        Http(url=f"http://127.0.0.1:{closed_port}/", retries=9).check(1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setattr("bench.retrievers.http.CHECK_SECONDS", 0.2)
        with pytest.raises(Unavailable, match="cannot be reached: timed out"):
            Http(url=f"http://127.0.0.1:{silent.getsockname()[1]}/", timeout=60).check(1)


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (b"<html>", "did not answer query q1 in JSON"),
        (
            {"results": [], "took": 3},
            "/hits leads nowhere: there is no 'hits' in an object with results, took",
        ),
        ({"hits": {"total": 0}}, "/hits is an object, not a list"),
        (hits({"nested": 1}), "the id of a hit is an object"),
        ({"hits": [{"id": "a", "score": "high"}]}, "the score of a hit is a text, not a number"),
        (b'{"hits": [{"id": "a", "score": NaN}]}', "query q1: a score is NaN"),
    ],
)
def test_an_answer_that_is_not_as_told_says_what_it_is(server, told, said):
    server.answer = lambda request: (200, told)

    with pytest.raises(BenchError, match=said):
        searched(Http(url=server.url, hit_score="/score" if "score" in str(told) else None))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"url": "search.example/find"}, "http.url: must be http(s)://host:port/path"),
        ({"url": "http://x/", "body": {"q": "fixed"}}, "{query} stands neither in http.url nor in http.body"),
        ({"url": "http://x/", "method": "GET"}, "{query} stands neither"),
        ({"url": "http://x/", "method": "PUT"}, "http.method='PUT': one of GET, POST"),
        ({"url": "http://x/", "body": '{"q": {query}}'}, "http.body is not JSON"),
        ({"url": "http://x/", "hits": "hits.list"}, "http.hits='hits.list': a JSON pointer"),
        ({"url": "http://x/", "retries": -1}, "http.retries=-1: a whole number from 0"),
        ({"url": "http://x/", "timeout": 0}, "http.timeout=0: a number above 0"),
        ({"url": "http://x/", "hits": None}, "http.hits=None: a JSON pointer"),
        ({"url": "http://x/", "hit_id": 0}, "http.hit_id=0: a JSON pointer"),
        ({"url": "http://x/", "timeout": 1e12}, "http.timeout=1000000000000.0: a number above 0 to 86400"),
        ({"url": "http://x/", "headers": 5}, "http.headers=5: a value by name"),
        (
            {"url": "http://x/", "headers": {"two words": "v"}},
            "http.headers: 'two words' is no name of a header",
        ),
        ({"url": "http://x/", "unknown": "keep"}, "http.unknown='keep': one of error, drop"),
        ({"url": "http://x/", "duplicates": "last"}, "http.duplicates='last': one of error, keep-first"),
    ],
)
def test_a_wrong_setting_of_http_is_named(settings, said):
    with pytest.raises(BenchError) as raised:
        Http(**settings)
    assert said in str(raised.value)


def test_a_path_in_any_script_is_asked_for_percent_encoded(server):
    searched(Http(url=f"{server.url}/búsqueda?q={{query}}&país=españa", method="GET"))
    assert server.asked[0]["path"] == "/search/b%C3%BAsqueda?q=one&pa%C3%ADs=espa%C3%B1a"


def test_a_host_that_cannot_be_is_not_reached():
    with pytest.raises(Unavailable, match="cannot be reached"):
        Http(url="http://a..b/").check(1)


def test_a_header_that_cannot_be_sent_is_refused_and_not_repeated(server, monkeypatch):
    monkeypatch.setenv("SEARCH_KEY", "secret\nX-More: 1")
    with pytest.raises(BenchError, match=r"http.headers.Authorization: its value holds what") as raised:
        Http(url=server.url, headers={"Authorization": "$SEARCH_KEY"}).check(1)
    assert "secret" not in str(raised.value)


def test_where_nothing_that_was_found_is_known_leaving_it_out_leaves_nothing(server):
    server.answer = lambda request: (200, hits("x", "y"))
    recipe = Http(url=server.url, unknown="drop")
    with pytest.raises(
        BenchError, match=r"http.unknown=drop would leave nothing: all .* are 2 documents .*x, y"
    ):
        searched(recipe)
    alone = recipe.index(DOCS).search(QUERIES[:1], 10)
    assert alone.returned.tolist() == [0]


def test_patience_changes_no_identity_and_the_version_does():
    plain = identity(Http(url="http://x/"))
    assert identity(Http(url="http://x/", timeout=1, retries=9)) == plain
    assert identity(Http(url="http://x/", version=2)) != plain


# A Python function.

SEARCH = """
def search(texts, depth):
    return [[("c", 2), ("b", 9.5), ("a", 1)][:depth] if text == "one" else ["d"] for text in texts]

def one(text, depth):
    return ["c", "b"] if text == "one" else []

class Engine:
    def find(self, text, depth):
        return ["a"]

engine = Engine()
number = 3
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module of one's own in the working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "my_search.py").write_text(SEARCH)
    yield tmp_path / "my_search.py"
    sys.modules.pop("my_search", None)


def test_a_function_ranks_all_queries_at_once_by_score_or_in_its_order(module):
    assert searched(Function(function="my_search:search")) == {"q1": ["b", "c", "a"], "q2": ["d"]}
    assert searched(Function(function="my_search.search")) == {"q1": ["b", "c", "a"], "q2": ["d"]}


def test_a_function_ranks_one_query_at_a_time(module):
    assert searched(Function(function="my_search:one", batch=False)) == {"q1": ["c", "b"], "q2": []}
    assert searched(Function(function="my_search:engine.find", batch=False)) == {"q1": ["a"], "q2": ["a"]}


def test_a_changed_source_or_version_is_another_function_and_its_folder_is_not(module):
    before = identity(Function(function="my_search:search"))
    assert identity(Function(function="my_search.search")) == before
    assert identity(Function(function="my_search:search", version=2)) != before
    assert str(module.parent) not in before

    module.write_text(SEARCH + "\n# another\n")
    assert identity(Function(function="my_search:search")) != before


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"function": "nowhere_at_all:search"}, "there is no module nowhere_at_all where Python looks"),
        ({"function": "my_search:serch"}, "has no attribute 'serch'"),
        ({"function": "my_search:number"}, "number of my_search is no function"),
        ({"function": "search"}, "callable.function='search': module:function"),
        ({"function": "my_search:search", "batch": "yes"}, "callable.batch='yes': true or false"),
        ({"function": "my_search:search", "unknown": "ignore"}, "callable.unknown='ignore'"),
    ],
)
def test_a_function_that_cannot_be_had_says_why(module, settings, said):
    with pytest.raises(BenchError) as raised:
        Function(**settings).check(1)
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        ("[['a']]", "returned 1 rankings for 2 queries"),
        ("None", "the function returned NoneType, not a list"),
        ("['a', 'b']", "query q1: the function returned str, not a list"),
        ("[[('a', 'high')], []]", "query q1: ('a', 'high') is no pair of document id and score"),
        ("[[('a', 1, 2)], []]", "is no pair of document id and score"),
        ("[['a', 'x'], []]", "1 documents that are not in the collection (x)"),
        ("[[], ['a', 'a']]", "stand twice in a ranking (q2 / a)"),
        ("[{'a': 1.0}, {}]", "query q1: the function returned dict, which has no order: return a list"),
        ("__import__('sys').exit(3)", "the function asked Python to end (sys.exit(3))"),
        ("[[('a', float('nan'))], []]", "query q1: a score is NaN"),
    ],
)
def test_what_a_function_returns_wrongly_is_told(module, returned, said):
    module.write_text(f"def search(texts, depth):\n    return {returned}\n")

    with pytest.raises(BenchError) as raised:
        searched(Function(function="my_search:search"))
    assert said in str(raised.value)


def test_a_module_that_ends_python_is_unavailable(module):
    module.write_text("raise SystemExit(4)\n")
    with pytest.raises(Unavailable, match="my_search cannot be imported: SystemExit: 4"):
        Function(function="my_search:search").check(1)


def test_a_function_stands_beside_ours_in_one_grid(module, in_folder):
    module.write_text("def search(texts, depth):\n    return [['garantia'] for _ in texts]\n")

    answer = bench("-m", "retriever=bm25,callable", "callable.function=my_search:search", "k=1")

    assert answer.code == 0, answer.err
    found = grid().set_index("retriever")
    assert list(found.index) == ["bm25", "callable"]
    assert found.loc["callable", "recall"] == pytest.approx(1 / 8)


# A stored run.


def run_of(path: Path, text: str) -> RunFile:
    (gzip.open if path.suffix == ".gz" else open)(path, "wb").write(text.encode())
    return RunFile(path=str(path))


def test_a_stored_run_of_ours_has_the_figures_of_its_job_and_no_latency(in_folder):
    bench("retriever=bm25", "k=[1,3]", "name=ours")
    (folder,) = jobs("ours").values()

    answer = bench("retriever=run_file", f"run_file.path={folder / 'run.trec'}", "k=[1,3]", "timing=default")

    assert answer.code == 0, answer.err
    measures = ["k", "ndcg", "recall", "precision", "mrr"]
    assert grid()[measures].to_numpy().tolist() == grid("ours")[measures].to_numpy().tolist()
    assert grid()["latency_p50_ms"].isna().all()


def test_scores_order_a_stored_run_whatever_its_ranks_say(tmp_path):
    text = "q1 Q0 a 1 0.5 tag\nq1 Q0 b 2 inf tag\nq1 Q0 c 3 -inf tag\nq2 Q0 d 1 1e-3 tag\n"

    assert searched(run_of(tmp_path / "run.trec", text)) == {"q1": ["b", "a", "c"], "q2": ["d"]}


def test_a_run_is_read_however_it_was_written(tmp_path):
    messy = "\ufeff# made by hand\r\nq1\tQ0  a 1 \t2.0 tag\r\n\r\n  q1 Q0 b 2 1 tag\r\n"

    read = read_hits(run_of(tmp_path / "run.txt.gz", messy) and tmp_path / "run.txt.gz")

    assert read.to_pylist() == [
        {"query_id": "q1", "doc_id": "a", "score": 2.0},
        {"query_id": "q1", "doc_id": "b", "score": 1.0},
    ]


def test_every_broken_line_of_a_run_is_told(tmp_path):
    path = tmp_path / "run.trec"
    path.write_text("q1 Q0 a 1 0.5 tag\nq1 Q0 b 2 tag\nq1 Q0 c 3 high tag\nq1 Q0 d 4 nan tag\n")

    with pytest.raises(BenchError) as raised:
        read_hits(path)
    for said in ("3 problems", ":2: 5 columns", ":3: 'high' is no score", ":4: 'nan' is no score"):
        assert said in str(raised.value)
    path.write_text("\n")
    with pytest.raises(BenchError, match="it holds no hit"):
        read_hits(path)
    false = tmp_path / "run.trec.gz"
    false.write_text("q1 Q0 a 1 0.5 tag\n")
    with pytest.raises(BenchError, match=r"run.trec.gz: cannot be read to its end: Not a gzipped file"):
        RunFile(path=str(false)).index(DOCS)


def test_a_run_is_named_by_what_it_holds(tmp_path):
    text = "q1 Q0 a 1 0.5 tag\n"
    one, same = run_of(tmp_path / "one.trec", text), run_of(tmp_path / "two.trec", text)

    assert identity(one) == identity(same)
    assert identity(run_of(tmp_path / "three.trec", text * 2)) != identity(one)


def test_queries_of_a_run_that_nobody_asked_are_counted_and_missing_ones_go_unanswered(tmp_path):
    index = run_of(tmp_path / "run.trec", "q9 Q0 a 1 2 tag\nq1 Q0 a 1 2 tag\n").index(DOCS)

    run = index.search(QUERIES, 10)

    assert run.returned.tolist() == [1, 0]
    assert index.facts()["unknown_queries"] == 1


def test_a_run_of_other_queries_is_refused(tmp_path):
    with pytest.raises(
        BenchError, match=r"ranks none of the 2 queries: its ids are like 1, those .* like q1, q2"
    ):
        searched(run_of(tmp_path / "run.trec", "1 Q0 a 1 2 tag\n"))


def test_a_run_of_other_documents_is_refused_or_their_hits_are_left_out(tmp_path):
    recipe = run_of(tmp_path / "run.trec", "q1 Q0 x 1 3 tag\nq1 Q0 a 2 2 tag\n")

    with pytest.raises(BenchError, match=r"run_file\.unknown=drop"):
        searched(recipe)
    assert searched(RunFile(path=recipe.path, unknown="drop"))["q1"] == ["a"]


def test_a_missing_run_is_asked_wrongly(in_folder):
    answer = bench("retriever=run_file", "run_file.path=theirs.trec")

    assert answer.code == 2
    assert "run_file.path: there is no file theirs.trec" in answer.err
    assert "run_file.path must be given: run_file.path=…" in bench("retriever=run_file").err
    assert not any(in_folder.iterdir())
