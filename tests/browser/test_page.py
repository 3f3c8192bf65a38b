"""The page of runs in Chromium: mouse, keyboard, layout and content."""

from __future__ import annotations

import csv
import io
from functools import cache
from pathlib import Path

import pytest
from PIL import Image, ImageChops
from playwright.sync_api import Browser, Error, Locator, Page, expect

from reports.render.page import page as report_page
from tests.browser.conftest import Open
from tests.reports.sample_player_runs import player_runs
from tests.reports.sample_runs import HOSTILE, MANIFEST, four_assignors

pytestmark = pytest.mark.browser

SENTENCE = "Balance, first → away: from 2 and 0 tasks per thread to 1 and 1."
NAMES = ("first", "away", "late", "az1", "az2", "0_0", "0_1", "1_0", "eager", "calm", "balance")


@cache
def sample_page() -> str:
    return report_page(player_runs(), MANIFEST)


@cache
def comparison_page() -> str:
    return report_page(four_assignors(), MANIFEST)


@cache
def hostile_page() -> str:
    return report_page(
        player_runs(dict(zip(NAMES, (*HOSTILE, "</script><script>alert(2)</script>"), strict=False))), MANIFEST
    )


def slider(page: Page) -> Locator:
    return page.get_by_role("slider", name="Time")


def panel(page: Page, number: int) -> Locator:
    return page.get_by_role("group", name=f"Run {number}")


def chips(page: Page, number: int, client: str) -> list[str]:
    """Return the labels of a client's chips for screen readers."""
    box = panel(page, number).get_by_role("group", name=f"{client}: ")
    return [chip.get_attribute("aria-label") or "" for chip in box.locator(".chip").all()]


def seek(page: Page, moment: int) -> None:
    slider(page).fill(str(moment))


def test_both_runs_follow_the_slider(open_page: Open) -> None:
    page = open_page(sample_page())
    expect(panel(page, 1)).to_contain_text("Round 1 of 3")
    assert chips(page, 1, "first") == ["0_0, running", "1_0, running", "0_1, standby"]
    seek(page, 2)
    for number in (1, 2):
        expect(panel(page, number)).to_contain_text("Round 2 of 3, since 0:10:00")
    restoring = "restoring state, moved in this round"
    assert chips(page, 1, "late") == [f"0_1, {restoring}", f"1_1, {restoring}"]
    assert chips(page, 2, "first") == ["0_0, running", f"0_1, {restoring}", "1_0, running", f"1_1, {restoring}"]
    expect(panel(page, 1)).to_contain_text("2 running · 2 restoring · 1 copy · 2 moved in this round")


def test_tasks_of_a_missing_client_are_not_running(open_page: Open) -> None:
    page = open_page(sample_page())
    seek(page, 1)
    tray = panel(page, 1).locator(".tray")
    expect(tray).to_be_visible()
    assert [chip.inner_text().split()[-1] for chip in tray.locator(".chip").all()] == ["0_1", "1_1"]
    expect(page.locator("output")).to_contain_text("away goes down")
    seek(page, 2)
    expect(tray).to_be_hidden()
    expect(panel(page, 1).get_by_role("group", name="away: not in the group")).to_be_visible()


def test_steps_can_be_every_change(open_page: Open) -> None:
    page = open_page(sample_page())
    assert slider(page).get_attribute("max") == "4"
    page.get_by_label("Steps").select_option("every")
    assert slider(page).get_attribute("max") == "6"
    seek(page, 3)
    assert chips(page, 1, "late") == ["0_1, running, moved in this round", "1_1, running, moved in this round"]


def test_warm_up_looks_different_from_a_standby(open_page: Open) -> None:
    page = open_page(sample_page())
    seek(page, 3)
    warm_up = "warm-up: a copy that takes over the task once it has caught up"
    assert f"1_0, {warm_up}" in chips(page, 1, "first")
    assert "0_1, standby" in chips(page, 1, "first")
    expect(page.locator(".legend")).to_contain_text(warm_up)
    expect(panel(page, 1)).to_contain_text("2 copies (1 warm-up)")


def test_play_stops_at_the_end(open_page: Open) -> None:
    page = open_page(sample_page())
    page.get_by_label("Speed").select_option("fast")
    page.get_by_role("button", name="Play").click()
    expect(slider(page)).to_have_value("4")
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_keyboard_moves_the_slider_plays_and_selects_tasks(open_page: Open) -> None:
    page = open_page(sample_page())
    slider(page).focus()
    page.keyboard.press("ArrowRight")
    expect(slider(page)).to_have_value("1")
    page.keyboard.press("End")
    expect(slider(page)).to_have_value("4")
    page.keyboard.press("Home")
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    page.keyboard.press("Home")
    first_chip = panel(page, 1).locator(".chip").first
    assert panel(page, 1).locator(".chip[tabindex='0']").count() == 1
    first_chip.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator("aside h3")).to_have_text("Task 1_0")
    page.keyboard.press("Escape")
    expect(page.locator("aside")).to_be_hidden()
    expect(panel(page, 1).locator(".chip:focus")).to_contain_text("1_0")


def test_click_on_a_task_shows_its_history_in_both_runs(open_page: Open) -> None:
    page = open_page(sample_page())
    panel(page, 1).get_by_role("button", name="0_1, running").click()
    history = page.locator("aside")
    expect(history.locator("h3")).to_have_text("Task 0_1")
    eager, calm = (section.locator("li").all_inner_texts() for section in history.locator("section").all())
    lines = [" ".join(text.split()) for text in eager]
    assert lines == [
        "0:00:00, round 1 Assigned to away (az2). Ran immediately.",
        "0:00:00, round 1 Standby added on first (az1).",
        "0:10:00, round 2 From away (az2) to late (az1): client lost. "
        "Balance, away → late: from 2 and 0 tasks per thread to 1 and 1. "
        "Down for 90 s, 30 s of it restoring state.",
    ]
    assert "The copy on first (az1) becomes the active task. No copies remain." in " ".join(calm[-1].split())
    history.get_by_role("button", name="0:10:00, round 2").first.click()
    expect(slider(page)).to_have_value("2")
    expect(panel(page, 1).locator(".chip.marked").first).to_contain_text("0_1")


def test_history_contains_decisions_and_warm_ups(open_page: Open) -> None:
    page = open_page(sample_page())
    page.get_by_label("Find a task").fill("1_0")
    page.keyboard.press("Enter")
    expect(page.locator("aside section").first).to_contain_text(SENTENCE)
    expect(page.locator("aside section").first).to_contain_text("Warm-up added on first (az1).")


def test_unknown_task_is_reported(open_page: Open) -> None:
    page = open_page(sample_page())
    page.get_by_label("Find a task").fill("7_7")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").get_by_text("unknown task")).to_be_visible()
    expect(page.locator("aside")).to_be_hidden()


def test_runs_can_be_chosen_and_hidden(open_page: Open) -> None:
    page = open_page(sample_page())
    seek(page, 2)
    page.get_by_label("Run 1").locator("select").select_option("calm")
    assert chips(page, 1, "late") == []
    page.get_by_label("Run 2").locator("select").select_option("(none)")
    expect(panel(page, 2).locator(".racks")).to_be_hidden()
    seek(page, 3)
    expect(panel(page, 1)).to_contain_text("Round 3 of 3")


def test_click_on_a_metric_sorts_the_assignors(open_page: Open) -> None:
    page = open_page(comparison_page())
    heads = page.locator("table.comparison thead th")
    original = heads.all_inner_texts()
    row = page.get_by_role("button", name="Active task moves").first
    row.click()
    assert heads.all_inner_texts() == ["sticky", "HA none", "HA balance_subtopology", "HA min_traffic"]
    row.click()
    assert heads.all_inner_texts() == ["HA min_traffic", "HA balance_subtopology", "HA none", "sticky"]
    assert page.locator("th[aria-sort='descending']").count() == 1
    row.click()
    assert heads.all_inner_texts() == original
    page.get_by_role("button", name="Kafka's rack-aware cost, stateful tasks").click()
    assert heads.all_inner_texts()[-1] == "sticky"


def test_click_on_a_header_sorts_the_lines(open_page: Open) -> None:
    page = open_page(sample_page())
    page.get_by_text("Every client: active + standby / threads").click()
    table = page.locator("table[data-csv='load_per_thread']")
    table.get_by_role("button", name="eager").click()
    assert table.locator("tbody th").all_inner_texts() == ["away", "late", "first"]
    table.get_by_role("button", name="Client").click()
    assert table.locator("tbody th").all_inner_texts() == ["away", "first", "late"]


def saved_csv(page: Page, name: str) -> list[list[str]]:
    with page.expect_download() as download:
        page.locator(f"table[data-csv='{name}']").locator("xpath=../following-sibling::*//button").click()
    assert download.value.suggested_filename == f"{name}.csv"
    return list(csv.reader(io.StringIO(download.value.path().read_text(encoding="utf-8"))))


def test_saved_table_has_unrounded_numbers(open_page: Open) -> None:
    rows = saved_csv(open_page(comparison_page()), "comparison")
    assert rows[0] == ["", "HA none", "HA min_traffic", "HA balance_subtopology", "sticky"]
    assert ["cross_rack_bytes_per_s", "48300000.0", "30100000.0", "32600000.0", "48300000.0"] in rows


def test_saved_names_are_not_formulas(open_page: Open) -> None:
    text = report_page(player_runs({"eager": '=cmd|"/c calc"!A1', "calm": "-1+1"}), {})
    assert saved_csv(open_page(text), "moves")[0][1:] == ['\'=cmd|"/c calc"!A1', "'-1+1"]


def test_traffic_can_be_shown_by_kind(open_page: Open) -> None:
    page = open_page(sample_page())
    cell = page.locator("table.matrix").first.locator("tbody tr").first.locator("td").nth(1)
    expect(cell).to_have_text("4 GB")
    page.get_by_label("Kind of traffic").select_option("restore_read")
    expect(cell).to_have_text("1 GB")
    expect(cell).to_have_class("heat-10")
    assert saved_csv(page, "rack_to_rack-1")[1] == ["az1", "0", "1000000000"]


def test_theme_can_be_switched(open_page: Open) -> None:
    page = open_page(sample_page(), scheme="dark")
    background = "getComputedStyle(document.documentElement).backgroundColor"
    dark = page.evaluate(background)
    button = page.get_by_role("button", name="Theme")
    button.click()
    light = page.evaluate(background)
    assert light != dark
    button.click()
    assert page.evaluate(background) == dark


def test_hostile_names_are_drawn_as_text(open_page: Open) -> None:
    page = open_page(hostile_page())
    seek(page, 2)
    panel(page, 1).locator(".chip").first.click()
    expect(page.locator("aside h3")).to_contain_text("Task ")
    for name in ("<script>alert(1)</script>", "\"quoted\" & 'quoted'"):
        expect(panel(page, 1).get_by_text(name).first).to_be_visible()
    page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
    assert page.locator("body script").count() == 3
    assert page.locator("img, iframe, object").count() == 0


def test_policy_blocks_injected_code(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    injected = "<script>window.ran = 1</script><p id='p' style='color: red' onclick='window.ran = 2'>text</p></main>"
    file.write_text(sample_page().replace("</main>", injected), encoding="utf-8")
    page = browser.new_page()
    messages: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    page.goto(file.as_uri())
    page.locator("#p").click()
    assert page.evaluate("window.ran === undefined && getComputedStyle(p).color !== 'rgb(255, 0, 0)'")
    assert sum("Content Security Policy" in text for text in messages) == 3
    with pytest.raises(Error, match="TrustedHTML"):
        page.evaluate("p.innerHTML = '<b>markup</b>'")
    page.close()


@pytest.mark.parametrize("width", [360, pytest.param(768, marks=pytest.mark.slow), 1440])
@pytest.mark.parametrize("make", [sample_page, hostile_page])
def test_page_fits_its_width(open_page: Open, width: int, make: type[str]) -> None:
    page = open_page(make(), width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_figures_and_tables_do_not_need_scripts(open_page: Open) -> None:
    page = open_page(sample_page(), scripts=False)
    expect(page.get_by_text("The player needs JavaScript")).to_be_visible()
    expect(page.locator("table.comparison")).to_be_visible()
    expect(page.locator("#theme")).to_be_hidden()


def drawn_share(screenshot: bytes) -> float:
    """Return the share of a picture whose color differs from that of its first pixel."""
    picture = Image.open(io.BytesIO(screenshot)).convert("RGB")
    background = Image.new("RGB", picture.size, picture.getpixel((0, 0)))
    difference = ImageChops.difference(picture, background).convert("L").point(lambda value: 255 if value > 12 else 0)
    return difference.histogram()[255] / (picture.width * picture.height)


@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (360, "light"),
        (1440, "dark"),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in ((360, "dark"), (768, "light"), (768, "dark"), (1440, "light"))
        ),
    ],
)
def test_every_part_is_drawn_legibly(open_page: Open, width: int, scheme: str) -> None:
    page = open_page(comparison_page(), width, scheme)
    visible = [figure for figure in page.locator("figure").all() if figure.is_visible()]
    assert len(visible) == 7
    for part in (*visible, page.locator("table.comparison"), page.locator("#player-here")):
        box = part.bounding_box()
        assert box is not None
        assert box["height"] > 80
        assert 0.005 < drawn_share(part.screenshot()) < 0.6


def test_print_has_everything_but_controls(open_page: Open) -> None:
    page = open_page(sample_page(), scheme="dark")
    page.emulate_media(media="print")
    for control in ("#theme", "nav", ".controls button >> nth=0", ".csv >> nth=0"):
        expect(page.locator(control)).to_be_hidden()
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(32, 36, 43)"
    assert page.pdf(format="A4").startswith(b"%PDF")
