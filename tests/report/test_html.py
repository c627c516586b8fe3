"""The page of a run is one well-formed, self-contained file, whatever the run left behind."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from made_runs import EVIL, FINDINGS, dataset_of, digits, train, write_papers

from torchstone.core.run import Run
from torchstone.flows.report import ReportData, gather
from torchstone.report.html import duration, render
from torchstone.report.judged import confused_pairs

VOID = {"meta", "img", "br", "link", "input", "hr"}
CLOSED = {"path", "line", "rect"}


class Page(HTMLParser):
    """Checks that tags pair, and collects them with their attributes and texts."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.texts = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert len(dict(attrs)) == len(attrs), f"an attribute stands twice in <{tag}>"
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        assert tag in CLOSED
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    def named(self, tag):
        """The attributes of all tags of this name."""
        return [attrs for name, attrs in self.tags if name == tag]


@pytest.fixture(scope="module")
def digits_run(tmp_path_factory):
    """(run, dataset) of digits, one of whose classes has a name that is a script."""
    return digits(tmp_path_factory.mktemp("digits"), classes=[EVIL, *(str(i) for i in range(1, 10))])


@pytest.fixture(scope="module")
def page(digits_run):
    """The page of digits as text."""
    return render(gather(*digits_run))


def _check(text):
    page = Page(text)
    assert len(page.named("script")) == 1
    for _, attrs in page.tags:
        for name in ("src", "href", "xlink:href"):
            assert (attrs.get(name) or "#").startswith(("#", "data:image/jpeg;base64,"))
    assert "url(" not in text
    assert "@import" not in text
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert {attrs["href"][1:] for attrs in page.named("a")} <= set(ids)
    assert not re.search(r"\bnan\b|\binf\b", re.sub(r"<script>.*?</script>", "", text, flags=re.S))
    return page


def test_the_page_is_well_formed_and_loads_nothing(page):
    _check(page)
    assert len(page) < 1_000_000


def test_a_class_named_like_a_script_is_only_text(page):
    assert EVIL not in page
    assert EVIL in Page(page).texts


def test_the_page_shows_every_curve_that_the_trace_has(page):
    titles = re.findall(r"<figcaption>([^<]*)", page)
    assert titles == ["Loss", "Metric on validation", "Learning rate", "Gradient norm", "Throughput",
                      "Time spent waiting for data", "Update-to-weight ratio"]  # fmt: skip


def test_every_curve_tells_its_values_to_pointer_keyboard_and_reader(page):
    charts = [attrs for attrs in Page(page).named("svg") if "data-points" in attrs]
    assert charts
    for attrs in charts:
        assert attrs["tabindex"] == "0"
        assert attrs["aria-label"]
        for curve in json.loads(attrs["data-points"]):
            assert curve["n"]
            assert all(len(point) == 4 for point in curve["p"])


def test_pictures_are_inside_and_have_their_place_as_text(page):
    pictures = Page(page).named("img")
    assert len(pictures) == 48
    assert all(attrs["src"].startswith("data:image/jpeg;base64,") for attrs in pictures)
    assert all(attrs["alt"].startswith("place/") for attrs in pictures)


def test_the_best_metric_stands_in_the_header_with_its_interval(page, digits_run):
    value, low, high = gather(*digits_run).judged[0].metrics["accuracy"]
    assert f"<b>{value:.3f}</b>" in page
    assert f"95 % [{low:.3f}, {high:.3f}]" in page


def test_plan_findings_notes_and_environment_are_there(page):
    for finding in FINDINGS:
        assert finding.code in page
        assert finding.what in page
    for text in ("optimizer.lr", "0.05", "He et al. 2015", "changes with", "precision fp16", "packages.torch"):
        assert text in page
    assert page.index("RUN203") < page.index("DAT201") < page.index("PLN104")


def test_a_run_that_was_killed_still_has_a_page(tmp_path, digits_run):
    old, dataset = digits_run
    run = Run(tmp_path / "killed")
    run.folder.mkdir()
    data = old.trace.read_bytes()
    run.trace.write_bytes(data[: len(data) // 2])
    run.plan.write_bytes(old.plan.read_bytes())
    text = render(gather(run, dataset))
    _check(text)
    assert "unfinished" in text
    assert "There are no predictions yet" in text
    assert "Gradient norm" in text


def test_an_empty_folder_still_has_a_page(tmp_path):
    text = render(gather(Run(tmp_path), None))
    _check(text)
    assert "plan.yaml cannot be read" in text


def test_a_failed_run_shows_its_finding_and_breaks_the_curve_at_the_gap(tmp_path):
    step = {"event": "step", "examples": 8, "lr": 1, "wait_ms": 1, "step_ms": 1}
    rows = [{**step, "step": s, "loss": loss} for s, loss in ((1, 1.0), (2, 0.5), (3, None))]
    rows += [{"event": "finish", "step": 3, "status": "failed", "reason": "the loss is not finite"}]
    run = Run(tmp_path)
    run.trace.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run.findings.write_text(json.dumps(FINDINGS[1].to_json()) + "\n")
    text = render(gather(run, None))
    _check(text)
    assert '<span class="badge failed">failed</span>' in text
    assert "the loss is not finite" in text
    assert "RUN203" in text


def test_77_classes_become_pairs_instead_of_a_picture_and_stay_below_two_megabytes(tmp_path):
    draw = np.random.default_rng(0)
    target = np.repeat(np.arange(77), 40)
    inputs = np.eye(77)[target] * 2 + draw.normal(size=(len(target), 77))
    is_train = draw.random(len(target)) < 0.6
    words = np.array([f"how do I & my <card> {i} " + "very " * 200 for i in range(len(target))], dtype=object)
    dataset = dataset_of("text-classification", {"text": words}, {"text": "text"}, target,
                         [f"intent_number_{k}" for k in range(77)], is_train)  # fmt: skip
    run = Run(tmp_path / "run")
    train(run, inputs, target, is_train, epochs=12, num_classes=77, batch=4)
    write_papers(run, dataset)
    data = gather(run, dataset)
    text = render(data)
    _check(text)
    assert len(text.encode()) < 2_000_000
    assert '<svg class="heat"' not in text
    pairs = confused_pairs(data.judged[0])
    matrix = data.judged[0].confusion
    assert pairs[0][2] == (matrix - np.diag(np.diag(matrix))).max()
    assert [pair[2] for pair in pairs] == sorted((pair[2] for pair in pairs), reverse=True)
    assert "&lt;card&gt;" in text


def test_a_regression_shows_its_residuals(tmp_path):
    draw = np.random.default_rng(0)
    target = draw.normal(100, 20, 400)
    scores = (target + draw.normal(0, 5, 400)).astype(np.float32)
    run = Run(tmp_path)
    run.predictions.mkdir()
    np.savez(run.predictions / "validation.npz", rows=np.arange(400), scores=scores[:, None], target=target,
             loss=np.square(scores - target).astype(np.float32))  # fmt: skip
    columns = {"age": target / 2, "town": np.array(["Gießen", None] * 200, dtype=object)}
    dataset = dataset_of("tabular-regression", columns, {"age": "number", "town": "category"}, target, [],
                         np.zeros(400, dtype=bool))  # fmt: skip
    text = render(gather(run, dataset))
    _check(text)
    for part in ("Predicted against true", "Residuals", "Spread of the residuals", "Gießen", "rmse"):
        assert part in text
    assert "Most uncertain" not in text


def test_several_labels_have_a_table_by_label(tmp_path):
    draw = np.random.default_rng(0)
    target = (draw.random((200, 4)) < 0.3).astype(np.uint8)
    scores = np.clip(target * 0.6 + draw.random((200, 4)) * 0.5, 0, 1).astype(np.float32)
    run = Run(tmp_path)
    run.predictions.mkdir()
    loss = np.ones(200, np.float32)
    np.savez(run.predictions / "test.npz", rows=np.arange(200), scores=scores, target=target, loss=loss)
    run.data.write_text(json.dumps({"digest": "x", "classes": ["sun", "rain", EVIL]}))
    text = render(gather(run, None))
    page = _check(text)
    assert "By label, lowest F1 first" in text
    assert {"sun", "rain", EVIL, "3"} <= set(page.texts)
    assert "mean_average_precision" in text


@pytest.mark.parametrize("seconds, text", [(0.5, "0.5 s"), (59, "59 s"), (200, "3 min 20 s"), (7500, "2 h 05 min")])
def test_a_time_is_said_as_a_person_would(seconds, text):
    assert duration(seconds) == text


def test_a_page_without_anything_says_that_no_rule_found_anything():
    assert "No rule found anything" in render(ReportData("r", "/r", "stopped"))
