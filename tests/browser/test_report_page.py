"""The page of a report in a real browser: it asks for nothing, tells the grid's figures, and can be used by anybody."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.report_facts import HOSTILE, WORDLESS, in_language, shared_folder, shared_report

from bench.report.page import page
from bench.report.words import Words

DESK, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
CONTRAST = 4.5
COLUMNS = {
    "P": "precision",
    "R": "recall",
    "RR": "mrr",
    "nDCG": "ndcg",
    "Complete": "complete",
    "Judged": "judged",
}


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> dict[str, Path]:
    """The page in each language."""
    folder = tmp_path_factory.mktemp("pages")
    for lang in ("en", "es"):
        folder.joinpath(f"{lang}.html").write_text(page(in_language(shared_report(), lang)), encoding="utf-8")
    return {lang: folder / f"{lang}.html" for lang in ("en", "es")}


@pytest.fixture
def opened(browser, written):
    """A function that opens the page in a window of its own; what it asked for and complained of is held against it."""
    contexts, asked, complaints = [], [], []

    def open_page(lang: str = "en", *, size=DESK, **options):
        context = browser.new_context(viewport=size, **options)
        contexts.append(context)
        shown = context.new_page()
        shown.on("request", lambda request: asked.append(request.url))
        shown.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
        shown.on("pageerror", lambda error: complaints.append(str(error)))
        shown.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
        shown.goto(written[lang].as_uri())
        return shown

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []


def test_the_page_has_no_outside_address(written):
    for path in written.values():
        addresses = re.findall(
            r"(?:href|src|action|poster|data)\s*=\s*[\"']([^\"']*)", path.read_text(encoding="utf-8")
        )
        assert {address for address in addresses if not address.startswith(("#", "data:,"))} <= {"x"}
        assert "@import" not in path.read_text() and "url(" not in path.read_text()


def test_its_figures_are_those_of_the_grid_to_the_printed_digit(opened):
    grid = pq.read_table(shared_folder() / "grid.parquet").to_pylist()
    rows = {(row["system"], row["k"]): row for row in grid if row["collection"] == "hostile" and row["k"]}
    table = opened().locator("#cells-0 table").first
    heads = [text.strip(" ↕↑↓") for text in table.locator("thead th").all_inner_texts()]
    told = 0
    for texts in cells_of(table):
        row = rows[texts[0].split("\n")[0], int(texts[1])]
        if row["status"] != "ok":
            assert row["status"] in texts[2] and row["reason"][:60] in texts[2]
            continue
        for head, text in zip(heads, texts, strict=True):
            if head in COLUMNS:
                value = row[COLUMNS[head]]
                assert text.startswith("–" if value is None else f"{value:.3f}"), (head, text, value)
        told += 1
    assert told == sum(row["status"] == "ok" for row in rows.values()) == 16
    assert len(cells_of(table)) == len(rows)


def test_the_figures_behind_a_mark_are_those_of_its_row(opened):
    shown = opened()
    mark = shown.locator("#tradeoff-0 .om:visible .chart.lines use[data-i]").first
    mark.scroll_into_view_if_needed()
    box = mark.bounding_box()
    shown.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tip = shown.locator(".tip")
    system, k = re.match(r"(.*), k = (\d+)", tip.locator("b").inner_text()).groups()
    said = dict(row.split("\t") for row in tip.locator("tr").all_inner_texts())
    cell = next(
        cell for cell in shared_report().findings[0].cells if (cell.system, cell.k) == (system, int(k))
    )
    assert said[f"nDCG@{k}"] == Words("en").figure(cell.values["ndcg"])
    shown.mouse.move(2, 2)
    assert tip.is_hidden()


def test_arrows_go_from_mark_to_mark_and_escape_leaves(opened):
    shown = opened()
    shown.locator("#tradeoff-0 .om:visible .chart.lines .plot > svg").focus()
    seen = set()
    for _ in range(4):
        shown.keyboard.press("ArrowRight")
        seen.add(shown.locator(".tip b").inner_text())
    assert len(seen) == 4
    shown.keyboard.press("Escape")
    assert shown.locator(".tip").is_hidden()


@pytest.mark.parametrize("javascript", [True, False])
def test_the_measure_can_be_switched_with_scripts_and_without(opened, javascript):
    shown = opened(java_script_enabled=javascript)
    charts = shown.locator("#tradeoff-0 .chart.lines:visible .y-name")
    before = charts.all_inner_texts()
    shown.locator("#a0 .measures label", has_text=re.compile("^nDCG$")).click()
    after = charts.all_inner_texts()
    assert len(before) == len(after) == 1 and before != after and after[0].startswith("nDCG@k")


def test_without_scripts_all_but_sorting_filters_and_rankings_is_there(opened):
    shown = opened(java_script_enabled=False)
    assert shown.locator("#answer-0 .lead").is_visible()
    assert shown.locator("#cells-0 tbody tr:visible").count() == 24
    assert shown.locator("#queries-0 .list li:visible").count() > 20
    assert shown.locator("#queries-0 noscript").inner_text()
    assert shown.locator("button:visible, input[type=search]:visible").count() == 0


@pytest.mark.parametrize("keys", [False, True])
def test_a_column_is_sorted_by_click_and_by_keyboard_with_what_has_no_figure_last(opened, keys):
    shown = opened()
    table = shown.locator("#cells-0 table").first
    head = table.locator("thead th", has_text="nDCG")
    column = [text.strip(" ↕") for text in table.locator("thead th").all_inner_texts()].index("nDCG")

    def press():
        if keys:
            head.locator("button").focus()
            shown.keyboard.press("Enter")
        else:
            head.locator("button").click()

    for way, order in (("descending", -1), ("ascending", 1)):
        press()
        assert head.get_attribute("aria-sort") == way
        rows = cells_of(table)
        figures = [float(row[column][:5]) for row in rows if len(row) > 3]
        assert figures == sorted(figures, key=lambda figure: order * figure)
        assert all(len(row) == 3 for row in rows[len(figures) :]) and len(rows) > len(figures)
    assert table.locator("[aria-sort]").count() == 1


def test_rows_are_filtered_by_system_and_k(opened):
    shown = opened()
    shown.locator("#cells-0 input[type=search]").fill("OVERLAP")
    assert {row[0].split("\n")[0] for row in cells_of(shown.locator("#cells-0 table").first)} == {
        "bm25+overlap", "hybrid+overlap(hashing)",
    }  # fmt: skip
    shown.locator("#cells-0 select").select_option("5")
    assert [row[1] for row in cells_of(shown.locator("#cells-0 table").first)] == ["5", "5"]
    assert shown.locator("#cells-0 [role=status]").inner_text() == "2 of 24 rows"


def test_a_query_is_found_without_its_accents_and_opened_with_two_rankings(opened):
    shown = opened()
    section = shown.locator("#queries-0")
    section.locator("input[type=search]").fill("recogeis")
    section.locator(".list li:visible button").first.click()
    panel = section.locator(".opened")
    assert "¿la recogéis?" in panel.locator("h3").inner_text()
    assert panel.locator("select").count() == 2
    panel.locator("select[data-side=left]").select_option(label="bm25")
    panel.locator("select[data-side=right]").select_option(label="hybrid(hashing)")
    found = next(r for r in shared_report().findings[0].ranked if "recogéis" in r.text)
    hits = shared_report().findings[0].rankings[found.query_id].lists["hybrid(hashing)"]
    titles = shared_report().findings[0].documents
    shown_titles = panel.locator(".sides > div").nth(1).locator(".title").all_inner_texts()
    assert shown_titles[:5] == [titles[hit.doc_id].title or hit.doc_id for hit in hits[:5]]
    assert "rank in the other" in panel.inner_text().replace("\xa0", " ")


def test_the_hardest_query_is_first_and_open(opened):
    shown = opened()
    first = shared_report().findings[0].ranked[0]
    button = shown.locator("#queries-0 .list button").first
    assert first.query_id in button.inner_text() and button.get_attribute("aria-current") == "true"


def test_hostile_texts_stay_text_and_an_empty_query_has_a_name(opened):
    shown = opened()
    assert shown.locator("img").count() == 0
    assert HOSTILE in shown.locator("#queries-0 .list").inner_text()
    section = shown.locator("#queries-0")
    section.locator("input[type=search]").fill(WORDLESS)
    assert section.locator(".list li:visible").inner_text().startswith("(no text)")
    section.locator("input[type=search]").fill("q-</b>")
    section.locator(".list li:visible button").click()
    assert section.locator(".opened h3").inner_text() == HOSTILE
    section.locator(".opened summary", has_text="</script>").first.click()
    assert HOSTILE in section.locator(".opened details[open] p").last.inner_text()


def test_a_name_brings_its_system_forward_in_every_chart(opened):
    shown = opened()
    name = shown.locator("#tradeoff-0 .names:visible button").first
    name.click()
    assert name.get_attribute("aria-pressed") == "true"
    assert (
        shown.locator("#tradeoff-0 .chart.has-hl:visible").count()
        == shown.locator("#tradeoff-0 .chart:visible").count()
    )
    name.click()
    assert shown.locator(".has-hl").count() == 0


def test_collections_are_switched(opened):
    shown = opened()
    assert shown.locator("article:visible").count() == 1
    shown.locator(".collections label", has_text="tiny").click()
    assert shown.locator("article:visible").get_attribute("aria-label") == "tiny"


@pytest.mark.parametrize("lang", ["en", "es"])
@pytest.mark.parametrize("javascript", [True, False])
def test_nothing_reaches_beyond_a_phone(opened, lang, javascript):
    shown = opened(lang, size=PHONE, java_script_enabled=javascript)
    if javascript:
        for measure in shown.locator("#a0 .measures label").all():
            measure.click()
            assert shown.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    else:
        width = shown.locator("body").bounding_box()["width"]
        assert width <= PHONE["width"]


@pytest.mark.parametrize("width", [1280, 1201, 1000, 721, 390, 320])
def test_no_two_texts_of_a_chart_overlap(opened, width):
    shown = opened(size={"width": width, "height": 900})
    for measure in shown.locator("#a0 .measures label").all():
        measure.click()
        assert shown.evaluate(OVERLAPS) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_what_it_stands_on(opened, scheme):
    assert opened(color_scheme=scheme).evaluate(POOR_CONTRAST, CONTRAST) == []


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_a_checker_of_accessibility_finds_nothing_serious(opened, scheme):
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed"
    )
    found = axe.Axe().run(opened(color_scheme=scheme)).response["violations"]
    told = [
        f"{one['id']}: {one['help']}: {node['html'][:160]}"
        for one in found
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]
    assert told == []


def test_the_theme_can_be_chosen_against_the_system(opened):
    shown = opened(color_scheme="light")
    before = shown.evaluate("getComputedStyle(document.body).backgroundColor")
    shown.locator("#theme").click()
    assert shown.evaluate("getComputedStyle(document.body).backgroundColor") != before


def test_on_paper_there_is_no_control_and_no_dark(opened):
    shown = opened(color_scheme="dark")
    shown.emulate_media(media="print", color_scheme="dark")
    assert (
        shown.locator(".quiet:visible, input:visible, select:visible, .bar:visible, .opened:visible").count()
        == 0
    )
    assert shown.locator("#queries-0 .list li:visible").count() > 20
    assert shown.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert shown.locator("article:visible").count() == 2


def test_in_spanish_words_and_numbers_are_spanish(opened):
    shown = opened("es")
    assert shown.evaluate("document.documentElement.lang") == "es"
    assert "La respuesta" not in shown.locator("#answer-0 .lead").inner_text()
    assert re.search(r"0,\d{3}", shown.locator("#answer-0 .lead").inner_text())
    assert shown.locator("#cells-0 h2").inner_text() == "Cada sistema con cada k"
    assert re.search(r"\d,\d{3}", shown.locator("#queries-0 .side-figures").first.inner_text())


OVERLAPS = """() => {
  const shown = (node) => node.getClientRects().length && getComputedStyle(node).visibility !== 'hidden';
  const found = [];
  for (const chart of document.querySelectorAll('#a0 .chart')) {
    if (!shown(chart)) continue;
    const texts = [...chart.querySelectorAll('text, .names li, .x-name, .y-name')].filter(shown)
      .filter((node) => node.textContent.trim() && node.getBoundingClientRect().width > 0);
    const boxes = texts.map((node) => node.getBoundingClientRect());
    boxes.forEach((a, i) => boxes.slice(0, i).forEach((b, j) => {
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (across > 1 && down > 3) found.push([texts[i].textContent, texts[j].textContent, across, down]);
    }));
  }
  return found;
}"""
"""The pairs of texts in the charts that lie on each other, by more than the room that a line has around its letters."""

POOR_CONTRAST = """(least) => {
  const rgb = (text) => {
    const numbers = text.match(/[\\d.]+/g).map(Number);
    return text.startsWith('color(') ? [...numbers.slice(0, 3).map((c) => 255 * c), numbers[3] ?? 1] : [...numbers, 1];
  };
  const light = (colour) => {
    const [r, g, b] = colour.map((c) => { c /= 255; return c <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4; });
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const behind = (node) => {
    for (; node; node = node.parentElement) {
      const colour = rgb(getComputedStyle(node).backgroundColor);
      if (colour[3] > .99 || colour.length === 3) return colour;
    }
    return [255, 255, 255];
  };
  const poor = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !node.getClientRects().length) continue;
    if (node.closest('script, style, .vh, option')) continue;
    const style = getComputedStyle(node);
    let opacity = 1;
    for (let up = node; up; up = up.parentElement) opacity *= Number(getComputedStyle(up).opacity);
    const ink = rgb(node.namespaceURI.endsWith('svg') ? style.fill : style.color), paper = behind(node);
    const seen = ink.slice(0, 3).map((c, i) => opacity * c + (1 - opacity) * paper[i]);
    const [a, b] = [light(seen), light(paper.slice(0, 3))];
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < least) poor.add(`${node.tagName} ${node.textContent.slice(0, 30)}: ${ratio.toFixed(2)}`);
  }
  return [...poor];
}"""
"""Texts whose contrast with what is behind them is less (WCAG 2.2, 1.4.3)."""


def cells_of(table) -> list[list[str]]:
    """The texts of the rows that are shown."""
    return table.evaluate(
        "table => [...table.tBodies[0].rows].filter((row) => row.getClientRects().length)"
        ".map((row) => [...row.cells].map((cell) => cell.innerText))"
    )
