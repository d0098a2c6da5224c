"""What a rerank server is asked, what of its answers is believed, and how it fails."""

from __future__ import annotations

import json
import re
import threading

import pytest
from tests.cli.program import bench, grid
from tests.contract import rerank_server
from tests.contract.rerank_server import COHERE, TEI, ranked, reranking

from bench.errors import BenchError, Unavailable
from bench.identity import identity

pytest.importorskip("httpx2", reason="the extra http is not installed")

from bench.rerankers.endpoint import EndpointScorer

QUERY = "plazo de devolución"
DOCS = ["gastos de envío", "el plazo de devolución", "una garantía"]
FORMS = {"cohere": (COHERE, "relevance_score"), "tei": (TEI, "score")}


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    """How long was waited each time, in no time."""
    waited: list[float] = []
    monkeypatch.setattr("bench.patience.pause", waited.append)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return waited


@pytest.fixture
def server():
    with reranking() as served:
        yield served


@pytest.fixture(params=FORMS)
def form(request):
    """One of the interfaces, with a server that speaks it."""
    with reranking(FORMS[request.param][0]) as served:
        yield request.param, served


def asking(served, **settings):
    return EndpointScorer(**{"url": served.url, "model": "tiny", "retries": 2, **settings})


def scored(served, documents=DOCS, **settings):
    return asking(served, **settings).score([QUERY] * len(documents), documents).values


def status(code, content=None, **headers):
    return lambda handler, _: handler.reply(code, content or {"message": "told"}, **headers)


def changed(change):
    """The right answer with something about its results changed."""

    def answer(handler, asked):
        content = ranked(handler.path, asked)
        change(content if isinstance(content, list) else content["results"])
        handler.reply(200, content)

    return answer


def answering(content):
    return lambda handler, _: handler.reply(200, content)


def expected(documents=DOCS, query=QUERY):
    return [rerank_server.score(query, document) for document in documents]


def test_scores_are_those_of_the_server_whatever_the_order_of_its_results(form):
    api, served = form
    assert scored(served, api=api).tolist() == expected()
    assert asking(served, api=api).score([QUERY], DOCS[:1]).cut.tolist() == [0]
    served.instead.append(changed(lambda results: results.reverse()))
    assert scored(served, api=api).tolist() == expected()


def test_a_request_holds_what_the_interface_documents(server):
    scored(server)
    assert server.asked == [{"model": "tiny", "query": QUERY, "documents": DOCS, "top_n": 3}]
    with reranking(TEI) as tei:
        scored(tei, api="tei", model=None)
    assert tei.asked == [{"query": QUERY, "texts": DOCS, "raw_scores": True, "truncate": True}]


def test_every_query_is_asked_once_with_all_its_candidates_wherever_they_stand(server):
    queries = ["plazo", "envío", "plazo", "envío", "plazo"]
    documents = [DOCS[0], DOCS[0], DOCS[1], DOCS[2], DOCS[2]]
    values = asking(server).score(queries, documents).values
    assert [(asked["query"], asked["documents"]) for asked in server.asked] == [
        ("plazo", DOCS), ("envío", [DOCS[0], DOCS[2]]),
    ]  # fmt: skip
    assert values.tolist() == [rerank_server.score(q, d) for q, d in zip(queries, documents, strict=True)]
    assert len(server.clients) == 1


def test_a_batch_is_the_most_documents_of_a_request(server):
    documents = [f"plazo {i}" for i in range(5)]
    assert scored(server, documents, batch_size=2).tolist() == expected(documents)
    assert [asked["documents"] for asked in server.asked] == [documents[:2], documents[2:4], documents[4:]]
    assert [asked["top_n"] for asked in server.asked] == [2, 2, 1]


def test_equal_documents_are_sent_once_and_equal_scores_stay_equal(server):
    assert scored(server, [DOCS[1], DOCS[2], DOCS[1]]).tolist() == expected([DOCS[1], DOCS[2], DOCS[1]])
    assert server.asked[0]["documents"] == DOCS[1:]
    server.instead.append(changed(lambda results: [one.update(relevance_score=1) for one in results]))
    assert scored(server).tolist() == [1.0, 1.0, 1.0]


def test_nothing_is_asked_of_nothing(server):
    scores = asking(server).score([], [])
    assert (scores.values.shape, scores.cut.shape, server.asked) == ((0,), (0,), [])


NO_SCORES = [
    (float("nan"), "nan"), (float("inf"), "inf"), (-float("inf"), "-inf"), ("0.5", "0.5"), (None, "None"),
    (True, "True"), ([1], r"\[1\]"), (10**400, "1" + "0" * 59),
]  # fmt: skip


def changing_score_to(wrong):
    return lambda results, field: results[0].update({field: wrong})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda results, _: results.pop(0), r"no score for document 1$"),
        (lambda results, _: results.clear(), r"no score for document 0, 1, 2$"),
        (lambda results, _: results.append(results[0]), r"several scores for document 1$"),
        (
            lambda results, _: results[0].update(index=0),
            r"no score for document 1; several scores for document 0$",
        ),
        (lambda results, _: results[0].update(index=3), r"a score for what was not sent, document 3$"),
        (lambda results, _: results[0].update(index=-1), r"what was not sent, document -1$"),
        (lambda results, _: results[0].update(index="1"), r"an index is '1', not a whole number"),
        (lambda results, _: results[0].update(index=True), r"an index is 'True', not a whole number"),
        (lambda results, _: results[0].update(index=1.0), r"an index is '1.0', not a whole number"),
        *(
            (changing_score_to(wrong), rf"score of document 1 is '{said}', not a finite number")
            for wrong, said in NO_SCORES
        ),
        (lambda results, field: results[0].pop(field), r"it has no list of results with index and \w*score"),
        (lambda results, _: results.append(7), r"it has no list of results with index and \w*score"),
    ],
)
def test_an_answer_that_is_not_one_finite_score_for_each_document_is_refused(form, change, message):
    api, served = form
    served.instead.append(changed(lambda results: change(results, FORMS[api][1])))
    where = (
        rf"endpoint.url={served.url}: the answer to the query '{QUERY}' is not one score for each of its 3 "
    )
    with pytest.raises(BenchError, match=where + rf"documents: .*{message}"):
        scored(served, api=api)


@pytest.mark.parametrize(
    "content", [b"<html>hello</html>", b"", b"null", b"7", {"data": []}, {"results": None}, b"[" * 100_000]
)
def test_an_answer_of_another_kind_is_refused(form, content):
    api, served = form
    served.instead.append(answering(content))
    with pytest.raises(BenchError, match=rf"endpoint.url={served.url}: the answer to the query"):
        scored(served, api=api)


def test_an_answer_of_the_other_interface_says_which_was_expected(form):
    api, served = form
    other = TEI if api == "cohere" else COHERE
    asked = {"query": QUERY, "documents": DOCS, "texts": DOCS}
    served.instead.append(answering(ranked(other, asked)))
    with pytest.raises(BenchError, match=rf"is endpoint.api={api} what the server speaks\?"):
        scored(served, api=api)


def test_more_documents_than_the_server_takes_are_its_error_and_go_in_batches():
    with reranking(TEI) as served:
        documents = [f"plazo {i}" for i in range(40)]
        with pytest.raises(
            Unavailable, match=r"answered 422 \(batch size 40 > maximum allowed batch size 32"
        ):
            scored(served, documents, api="tei")
        assert scored(served, documents, api="tei", batch_size=32).tolist() == expected(documents)


@pytest.mark.parametrize("code", [429, 500, 502, 503])
def test_a_passing_error_is_followed_by_another_request_after_a_wait(server, code, no_waiting):
    server.instead += [status(code, Retry_After="7"), status(code)]
    assert scored(server).tolist() == expected()
    assert no_waiting == [7, 1]


def test_when_the_tries_are_used_up_the_last_trouble_is_told(server):
    server.instead += [status(503, {"message": "warming up"})] * 3
    words = r"endpoint.url=\S+ answered 503 \(warming up\), request 3 of 3: .*reranker=overlap .* no server"
    with pytest.raises(Unavailable, match=words):
        scored(server)


def test_a_lasting_error_is_told_in_the_words_of_the_server_and_not_tried_again(server):
    server.instead.append(status(404, {"message": "model 'tiny' not found"}))
    with pytest.raises(Unavailable, match=r"answered 404 \(model 'tiny' not found\), request 1 of 3"):
        scored(server)


def test_a_slow_server_is_asked_again(server):
    asleep = threading.Event()
    server.instead.append(lambda handler, asked: asleep.wait(5))
    assert scored(server, timeout_seconds=0.2).tolist() == expected()
    asleep.set()
    assert len(server.asked) == 2


def test_a_redirect_is_not_followed_with_the_key(server):
    server.instead.append(status(307, Location="http://elsewhere.example/rerank"))
    with pytest.raises(Unavailable, match=r"answered 307 "):
        scored(server)


def test_a_server_that_cannot_be_reached_is_unavailable_and_says_what_needs_none(server):
    with reranking() as gone:
        url = gone.url
    instead = "reranker=none, reranker=overlap and reranker=cross_encoder need no server"
    with pytest.raises(Unavailable, match=rf"endpoint.url={url} cannot be reached \(.+\): {instead}"):
        asking(server, url=url).check(1)
    with pytest.raises(Unavailable, match=r"gave no whole answer \(.+\), request 1 of 1"):
        scored(server, url=url, retries=0)


def test_an_address_that_is_only_posted_to_is_there(server, caplog):
    asking(server, model="renamed", version=3).check(1)
    assert server.asked == []
    assert f"the scores of renamed at {server.url} are kept as version 3" in caplog.text
    assert "set another endpoint.version" in caplog.text


def test_a_key_goes_into_the_header_and_nowhere_else(server, monkeypatch, caplog):
    caplog.set_level("DEBUG")
    monkeypatch.setenv("MY_KEY", "sk-secret")
    server.wanted_key = "sk-secret"
    scorer = asking(server, key_env="MY_KEY")
    scorer.check(1)
    scorer.score([QUERY], DOCS[:1])
    assert server.headers[0]["Authorization"] == "Bearer sk-secret"
    assert "sk-" not in json.dumps(server.asked)
    monkeypatch.setenv("MY_KEY", "sk-wrong")
    for ask in (lambda: scorer.check(1), lambda: scorer.score([QUERY], DOCS[:1])):
        with pytest.raises(Unavailable, match=r"answered 401 \(Incorrect API key provided: Bearer \[key\]\)"):
            ask()
    assert "sk-" not in identity(scorer) + repr(scorer) + caplog.text


def test_a_key_at_the_end_of_what_is_told_is_hidden_whole(server, monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-secret")
    server.instead.append(status(400, {"message": "x" * 295 + "sk-secret"}))
    with pytest.raises(Unavailable) as refusal:
        scored(server, key_env="MY_KEY")
    assert "sk-" not in str(refusal.value)


@pytest.mark.parametrize("key", [None, "", "  \n"])
def test_a_key_that_is_not_set_is_unavailable_before_anything_is_asked(server, monkeypatch, key):
    monkeypatch.delenv("MY_KEY", raising=False) if key is None else monkeypatch.setenv("MY_KEY", key)
    words = r"variable MY_KEY is not set: .*endpoint.key_env=null.*reranker=overlap .* no server"
    with pytest.raises(Unavailable, match=words):
        asking(server, key_env="MY_KEY").check(1)
    assert server.asked == []


@pytest.mark.parametrize(
    "url", ["", "example.org/rerank", "https://", "https://me:secret@example.org/rerank",
            "https://example.org/rerank?key=secret", "https://example.org/rerank#x", None],
)  # fmt: skip
def test_an_address_that_is_none_or_holds_a_secret_is_refused_and_not_repeated(url):
    with pytest.raises(BenchError, match=r"endpoint.url: must be http\(s\)://host/path, without") as refusal:
        EndpointScorer(url=url, model="tiny")
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": None}, "endpoint.model is empty: give the model's name on the server"),
        ({"model": ""}, "endpoint.model is empty"),
        ({"model": 5}, "endpoint.model=5: a text"),
        ({"api": "openai"}, "endpoint.api='openai': one of cohere, tei"),
        ({"batch_size": 0}, "endpoint.batch_size=0: a whole number from 1"),
        ({"batch_size": True}, "endpoint.batch_size=True: a whole number from 1"),
        ({"retries": -1}, "endpoint.retries=-1: a whole number from 0"),
        ({"timeout_seconds": 0}, "endpoint.timeout_seconds=0: a number above 0"),
        ({"key_env": 5}, "endpoint.key_env=5: a text"),
    ],
)
def test_a_setting_without_meaning_is_refused(server, settings, message):
    with pytest.raises(BenchError, match=re.escape(message)):
        asking(server, **settings)


def test_only_what_can_change_a_score_is_in_the_identity(server):
    plain = identity(asking(server))
    assert identity(asking(server, timeout_seconds=5, retries=0, key_env="MY_KEY", version=1)) == plain
    for settings in (
        {"model": "other"},
        {"version": 2},
        {"api": "tei"},
        {"batch_size": 8},
        {"url": "https://x"},
    ):
        assert identity(asking(server, **settings)) != plain


def words_of(served, *more):
    return ("retriever=bm25", "reranker=endpoint", f"endpoint.url={served.url}", "k=[1,3]", *more)


def test_a_system_with_a_server_stands_in_the_grid_and_its_pairs_are_asked_for_once(
    server, in_folder, monkeypatch
):
    monkeypatch.setenv("MY_KEY", "sk-secret")
    server.wanted_key = "sk-secret"
    asked = words_of(server, "endpoint.model=tiny", "endpoint.key_env=MY_KEY")
    answer = bench(*asked)
    assert answer.code == 0, answer.err
    assert "are kept as version 1" in answer.err
    assert set(grid()["reranker"]) == {"endpoint"}
    requests = len(server.asked)
    assert requests == len({one["query"] for one in server.asked})
    assert bench(*asked, "name=again").code == 0
    assert len(server.asked) == requests
    written = [path.read_bytes() for path in in_folder.rglob("*") if path.is_file()]
    assert not any(b"sk-secret" in one for one in [*written, answer.out.encode(), answer.err.encode()])


def test_a_server_that_is_not_there_fails_its_own_system_before_any_work(in_folder):
    with reranking() as gone:
        pass
    answer = bench("-m", *words_of(gone, "endpoint.model=tiny", "reranker=none,endpoint"))
    assert answer.code == 1
    cells = grid().set_index("reranker")
    assert set(cells.loc["none", "status"]) == {"ok"}
    assert set(cells.loc["endpoint", "status"]) == {"failed"}
    assert cells.loc["endpoint", "reason"].str.contains("need no server").all()


def test_an_address_must_be_given(in_folder):
    answer = bench("retriever=bm25", "reranker=endpoint", "k=1")
    assert (answer.code, "endpoint.url must be given: endpoint.url=…" in answer.err) == (2, True)
