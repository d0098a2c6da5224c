"""Learning from graded lists: the loss by hand, stopping in time, and going on after a kill to the bit."""

from __future__ import annotations

import math
import zipfile

import pytest
import torch

from bench.errors import BenchError
from bench.training.checkpoint import State
from bench.training.examples import Example
from bench.training.learning import Schedule, _loss, _share, learn

TEXTS = [f"{color} {shape}" for color in ("red", "blue", "green") for shape in ("disc", "cube", "cone")]


class Model(torch.nn.Module):
    """A question and a document as vectors of their words; the score is a bilinear form, 0 at first."""

    def __init__(self):
        super().__init__()
        words = sorted({word for text in TEXTS for word in text.split()})
        self.vectors = {text: torch.tensor([float(word in text.split()) for word in words]) for text in TEXTS}
        self.form = torch.nn.Parameter(torch.zeros(len(words), len(words)))
        self.fixed = torch.nn.Parameter(torch.ones(1), requires_grad=False)

    def score(self, pairs):
        asked, told = (torch.stack([self.vectors[pair[side]] for pair in pairs]) for side in (0, 1))
        return ((asked @ self.form) * told).sum(1)

    def right(self):
        """How many of the texts are found by their own words."""
        with torch.inference_mode():
            scores = self.score([(text, other) for text in TEXTS for other in TEXTS]).view(len(TEXTS), -1)
        return float((scores.argmax(1) == torch.arange(len(TEXTS))).float().mean())


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def examples(count=60):
    """Each text is asked for by its own words among all others that share a word with it."""
    made = []
    for text in (TEXTS * count)[:count]:
        others = [other for other in TEXTS if other != text and set(other.split()) & set(text.split())]
        made.append(Example(text, (text, *others), (2.0,) + (0.0,) * len(others), (0.0,) * (1 + len(others))))
    return made


def trained(folder, *, test=None, told=None, made_of="this", **settings):
    """A model that has learned, and what is said of it."""
    folder.mkdir(exist_ok=True)
    model = Model()
    course = learn(
        model,
        examples(),
        score=model.score,
        test=test or model.right,
        schedule=Schedule(**{"learning_rate": 0.1, "lists": 3, "tests": 5, **settings}),
        checkpoint=folder / "state.pt",
        made_of=made_of,
        tell=told or (lambda progress: None),
    )
    return model, course


def stopping_at(step):
    """Hears of the steps and stops the program at one."""

    def told(progress):
        if progress.step == step:
            raise KeyboardInterrupt

    return told


@pytest.mark.parametrize("agreement", [0.0, 0.7])
@pytest.mark.parametrize("grades", [(2.0, 0.0), (1.0, 2.0, 0.0, 0.0), (1.0,), (3.0, 0.5, 0.0)])
def test_the_loss_is_that_of_a_computation_by_hand(grades, agreement):
    scores = [0.3, -1.2, 2.5, 0.0][: len(grades)]
    gains = [2**grade - 1 for grade in grades]
    log_sum = math.log(sum(math.exp(score) for score in scores))
    listwise = -sum(gain / sum(gains) * (score - log_sum) for gain, score in zip(gains, scores, strict=True))
    pointwise = 0.0
    for grade, score in zip(grades, scores, strict=True):
        target, chance = grade / max(grades), 1 / (1 + math.exp(-score))
        pointwise -= (target * math.log(chance) + (1 - target) * math.log(1 - chance)) / len(grades)
    systems = [1.5, -0.5, 0.2, 0.0][: len(grades)]
    shares = [math.exp(one) / sum(map(math.exp, systems)) for one in systems]
    distilled = -sum(share * (score - log_sum) for share, score in zip(shares, scores, strict=True))
    example = Example("q", ("d",) * len(grades), grades, tuple(systems))
    found = _loss(torch.tensor(scores), example, agreement=agreement)
    assert float(found) == pytest.approx(listwise + pointwise + agreement * distilled, rel=1e-5)


def test_the_rate_rises_to_its_highest_and_falls_in_a_straight_line():
    shares = [_share(step, 10, 0.3) for step in range(1, 11)]
    assert shares == pytest.approx([1 / 3, 2 / 3, 1, 7 / 8, 6 / 8, 5 / 8, 4 / 8, 3 / 8, 2 / 8, 1 / 8])
    assert [_share(step, 3, 0.1) for step in (1, 2, 3)] == pytest.approx([1, 2 / 3, 1 / 3])
    assert _share(1, 1, 1.0) == 1


def test_what_can_be_learned_is_learned(tmp_path):
    model, course = trained(tmp_path)
    assert course.tests[0] == (0, pytest.approx(1 / 9))
    assert course.tests[-1][1] == 1
    assert model.right() == 1
    assert [step for step, _ in course.tests] == [0, 4, 8, 12, 16, 20]
    assert course.steps == 20
    assert course.seconds > 0
    assert model.fixed.tolist() == [1]


def test_it_is_told_where_it_stands(tmp_path):
    heard = []
    trained(tmp_path, told=heard.append)
    assert [progress.step for progress in heard] == list(range(1, 21))
    assert {progress.steps for progress in heard} == {20}
    assert [progress.step for progress in heard if progress.tested is not None] == [4, 8, 12, 16, 20]
    assert heard[-1].loss < heard[0].loss
    assert heard[-1].left == 0
    assert heard[0].left > 0


def test_it_ends_after_so_many_tests_without_a_better_one_and_keeps_the_best(tmp_path):
    figures = iter([0.1, 0.5, 0.4, 0.3, 0.9, 0.9])
    seen = []
    model = Model()

    def test():
        seen.append(model.form.detach().clone())
        return next(figures)

    course = learn(
        model,
        examples(),
        score=model.score,
        test=test,
        schedule=Schedule(learning_rate=0.1, lists=3, tests=5, patience=2),
        checkpoint=tmp_path / "state.pt",
        made_of="this",
        tell=lambda progress: None,
    )
    assert course.tests == ((0, 0.1), (4, 0.5), (8, 0.4), (12, 0.3))
    assert course.steps == 12
    assert torch.equal(model.form, seen[1])
    assert not torch.equal(model.form, seen[3])


def test_where_nothing_is_better_the_untrained_model_stays(tmp_path):
    figures = iter([0.9, 0.1, 0.1, 0.1])
    model, course = trained(tmp_path, test=lambda: next(figures))
    assert len(course.tests) == 4
    assert not model.form.any()


@pytest.mark.parametrize("stops", [(1,), (6,), (8,), (5, 13), (20,), (3, 3, 10)])
def test_stopped_and_started_again_it_comes_to_the_same_weights_to_the_bit(tmp_path, stops):
    whole, course = trained(tmp_path / "whole")
    broken = tmp_path / "broken"
    for step in stops:
        with pytest.raises(KeyboardInterrupt):
            trained(broken, told=stopping_at(step))
    resumed, again = trained(broken)
    assert torch.equal(resumed.form, whole.form)
    assert again.tests == course.tests
    assert again.steps == course.steps


def test_a_training_that_had_ended_is_not_gone_on_with(tmp_path):
    model, course = trained(tmp_path)
    heard = []
    again, told = trained(tmp_path, told=heard.append)
    assert heard == []
    assert torch.equal(again.form, model.form)
    assert told.tests == course.tests
    assert told.seconds > 0


def test_the_seconds_of_both_processes_are_told(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        trained(tmp_path, told=stopping_at(9))
    kept = torch.load(tmp_path / "state.pt", weights_only=True)
    assert kept["step"] == 8
    assert kept["seconds"] > 0
    assert trained(tmp_path)[1].seconds > kept["seconds"]


def test_a_checkpoint_of_another_training_is_refused(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        trained(tmp_path, told=stopping_at(9))
    with pytest.raises(
        BenchError, match=r"state\.pt belongs to a training on other settings or data: delete"
    ):
        trained(tmp_path, made_of="another")


def cut(file):
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def changed(file):
    """One bit of a tensor."""
    data = bytearray(file.read_bytes())
    with zipfile.ZipFile(file) as archive:
        tensor = archive.read(max(archive.infolist(), key=lambda entry: entry.file_size))
    data[data.index(tensor) + len(tensor) // 2] ^= 1
    file.write_bytes(data)


@pytest.mark.parametrize(
    "damage",
    [
        cut,
        changed,
        lambda file: file.write_bytes(b""),
        lambda file: file.write_text("no checkpoint at all"),
        lambda file: file.write_bytes(bytes(range(256)) * 40),
        lambda file: torch.save([1, 2, 3], file),
    ],
    ids=["cut", "changed", "empty", "a text", "bytes", "a list"],
)
def test_a_damaged_checkpoint_is_refused_with_what_to_do(tmp_path, damage):
    with pytest.raises(KeyboardInterrupt):
        trained(tmp_path, told=stopping_at(9))
    damage(tmp_path / "state.pt")
    with pytest.raises(BenchError, match=r"state\.pt is damaged \(.+\): delete it to start again"):
        trained(tmp_path)


def test_a_file_that_lacks_what_a_checkpoint_has_is_refused(tmp_path):
    torch.save({"made_of": "this"}, tmp_path / "state.pt")
    with pytest.raises(BenchError, match=r"state\.pt belongs to a training on other settings"):
        trained(tmp_path)


def test_nothing_in_a_checkpoint_is_run(tmp_path):
    class Malicious:
        def __reduce__(self):
            return print, ("run",)

    torch.save(Malicious(), tmp_path / "state.pt")
    with pytest.raises(BenchError, match=r"state\.pt is damaged"):
        trained(tmp_path)


def test_a_loss_that_is_no_number_says_what_to_lower(tmp_path):
    model = Model()
    with pytest.raises(BenchError, match=r"the loss became nan: lower train.learning_rate=0\.1"):
        learn(
            model,
            examples(),
            score=lambda pairs: model.score(pairs) * math.nan,
            test=lambda: 0.0,
            schedule=Schedule(learning_rate=0.1),
            checkpoint=tmp_path / "state.pt",
            made_of="this",
            tell=lambda progress: None,
        )


def test_an_unbroken_best_is_the_last_of_equals():
    state = State("this")
    for step, figure in enumerate([0.1, 0.5, 0.2, 0.5]):
        state.step = step
        state.tested(figure, [("form", torch.full((1,), float(step)))])
    assert state.best["form"].tolist() == [3]
    assert state.tests_since_best == 0


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"learning_rate": -1}, r"train\.learning_rate=-1"),
        ({"learning_rate": "fast"}, r"train\.learning_rate='fast'"),
        ({"warmup": 1.5}, r"train\.warmup=1\.5"),
        ({"lists": 0}, r"train\.lists=0: a whole number from 1"),
        ({"tests": 2.5}, r"train\.tests=2\.5: a whole number from 1"),
        ({"patience": 0}, r"train\.patience=0: a whole number from 1"),
    ],
)
def test_settings_are_checked(setting, message):
    with pytest.raises(BenchError, match=message):
        Schedule(**setting)
