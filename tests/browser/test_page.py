"""The page in Chromium: what happens on a click and on a key, and what it looks like."""

from __future__ import annotations

import csv
import io
from functools import cache
from pathlib import Path

import pytest
from PIL import Image, ImageChops
from playwright.sync_api import Browser, Error, Locator, Page, expect

from reports.render.page import page
from tests.browser.conftest import Open
from tests.reports.sample_player_runs import player_runs
from tests.reports.sample_runs import HOSTILE, MANIFEST, four_assignors

SENTENCE = "Balance, first → away: from 2 and 0 tasks per thread to 1 and 1."
NAMES = ("first", "away", "late", "az1", "az2", "0_0", "0_1", "1_0", "eager", "calm", "balance")


@cache
def ordinary() -> str:
    return page(player_runs(), MANIFEST)


@cache
def compared() -> str:
    return page(four_assignors(), MANIFEST)


@cache
def hostile() -> str:
    return page(player_runs(dict(zip(NAMES, (*HOSTILE, "</script><script>alert(2)</script>"), strict=False))), MANIFEST)


def slider(shown: Page) -> Locator:
    return shown.get_by_role("slider", name="Time")


def panel(shown: Page, number: int) -> Locator:
    return shown.get_by_role("group", name=f"Run {number}")


def chips(shown: Page, number: int, client: str) -> list[str]:
    """The chips of a client, as they are read out."""
    box = panel(shown, number).get_by_role("group", name=f"{client}: ")
    return [chip.get_attribute("aria-label") or "" for chip in box.locator(".chip").all()]


def seek(shown: Page, moment: int) -> None:
    slider(shown).fill(str(moment))


def test_two_runs_go_in_step_from_round_to_round(open_page: Open) -> None:
    shown = open_page(ordinary())
    expect(panel(shown, 1)).to_contain_text("Round 1 of 3")
    assert chips(shown, 1, "first") == ["0_0, running", "1_0, running", "0_1, standby"]
    seek(shown, 2)
    for number in (1, 2):
        expect(panel(shown, number)).to_contain_text("Round 2 of 3, since 0:10:00")
    restoring = "restoring state, moved in this round"
    assert chips(shown, 1, "late") == [f"0_1, {restoring}", f"1_1, {restoring}"]
    assert chips(shown, 2, "first") == ["0_0, running", f"0_1, {restoring}", "1_0, running", f"1_1, {restoring}"]
    expect(panel(shown, 1)).to_contain_text("2 running · 2 restoring · 1 copy · 2 moved in this round")


def test_tasks_of_a_client_that_is_gone_run_nowhere(open_page: Open) -> None:
    shown = open_page(ordinary())
    seek(shown, 1)
    tray = panel(shown, 1).locator(".tray")
    expect(tray).to_be_visible()
    assert [chip.inner_text().split()[-1] for chip in tray.locator(".chip").all()] == ["0_1", "1_1"]
    expect(shown.locator("output")).to_contain_text("away goes down")
    seek(shown, 2)
    expect(tray).to_be_hidden()
    expect(panel(shown, 1).get_by_role("group", name="away: not in the group")).to_be_visible()


def test_every_change_can_be_a_step(open_page: Open) -> None:
    shown = open_page(ordinary())
    assert slider(shown).get_attribute("max") == "4"
    shown.get_by_label("Steps").select_option("every")
    assert slider(shown).get_attribute("max") == "6"
    seek(shown, 3)
    assert chips(shown, 1, "late") == ["0_1, running, moved in this round", "1_1, running, moved in this round"]


def test_a_warm_up_looks_different_from_a_standby(open_page: Open) -> None:
    shown = open_page(ordinary())
    seek(shown, 3)
    warm = "warm-up: a copy that takes over the task once it has caught up"
    assert f"1_0, {warm}" in chips(shown, 1, "first")
    assert "0_1, standby" in chips(shown, 1, "first")
    expect(shown.locator(".legend")).to_contain_text(warm)
    expect(panel(shown, 1)).to_contain_text("2 copies (1 warm-up)")


def test_play_goes_on_to_the_end_and_stops_there(open_page: Open) -> None:
    shown = open_page(ordinary())
    shown.get_by_label("Speed").select_option("fast")
    shown.get_by_role("button", name="Play").click()
    expect(slider(shown)).to_have_value("4")
    expect(shown.get_by_role("button", name="Play")).to_be_visible()


def test_keys_step_play_and_lead_from_task_to_task(open_page: Open) -> None:
    shown = open_page(ordinary())
    slider(shown).focus()
    shown.keyboard.press("ArrowRight")
    expect(slider(shown)).to_have_value("1")
    shown.keyboard.press("End")
    expect(slider(shown)).to_have_value("4")
    shown.keyboard.press("Home")
    shown.keyboard.press("Space")
    expect(shown.get_by_role("button", name="Pause")).to_be_visible()
    shown.keyboard.press("Space")
    expect(shown.get_by_role("button", name="Play")).to_be_visible()
    shown.keyboard.press("Home")
    first = panel(shown, 1).locator(".chip").first
    assert panel(shown, 1).locator(".chip[tabindex='0']").count() == 1
    first.focus()
    shown.keyboard.press("ArrowRight")
    shown.keyboard.press("Enter")
    expect(shown.locator("aside h3")).to_have_text("Task 1_0")
    shown.keyboard.press("Escape")
    expect(shown.locator("aside")).to_be_hidden()
    expect(panel(shown, 1).locator(".chip:focus")).to_contain_text("1_0")


def test_a_click_on_a_task_tells_its_story_in_both_runs(open_page: Open) -> None:
    shown = open_page(ordinary())
    panel(shown, 1).get_by_role("button", name="0_1, running").click()
    told = shown.locator("aside")
    expect(told.locator("h3")).to_have_text("Task 0_1")
    eager, calm = (section.locator("li").all_inner_texts() for section in told.locator("section").all())
    lines = [" ".join(text.split()) for text in eager]
    assert lines == [
        "0:00:00, round 1 Assigned to away (az2). Ran immediately.",
        "0:00:00, round 1 Standby added on first (az1).",
        "0:10:00, round 2 From away (az2) to late (az1): client lost. "
        "Balance, away → late: from 2 and 0 tasks per thread to 1 and 1. "
        "Down for 90 s, 30 s of it restoring state.",
    ]
    assert "The copy on first (az1) becomes the active task. No copies remain." in " ".join(calm[-1].split())
    told.get_by_role("button", name="0:10:00, round 2").first.click()
    expect(slider(shown)).to_have_value("2")
    expect(panel(shown, 1).locator(".chip.marked").first).to_contain_text("0_1")


def test_a_story_tells_what_else_is_known_of_a_move(open_page: Open) -> None:
    shown = open_page(ordinary())
    shown.get_by_label("Find a task").fill("1_0")
    shown.keyboard.press("Enter")
    expect(shown.locator("aside section").first).to_contain_text(SENTENCE)
    expect(shown.locator("aside section").first).to_contain_text("Warm-up added on first (az1).")


def test_a_task_that_is_not_there_is_not_found(open_page: Open) -> None:
    shown = open_page(ordinary())
    shown.get_by_label("Find a task").fill("7_7")
    shown.keyboard.press("Enter")
    expect(shown.get_by_role("status").get_by_text("unknown task")).to_be_visible()
    expect(shown.locator("aside")).to_be_hidden()


def test_another_run_can_be_chosen_and_the_second_left_out(open_page: Open) -> None:
    shown = open_page(ordinary())
    seek(shown, 2)
    shown.get_by_label("Run 1").locator("select").select_option("calm")
    assert chips(shown, 1, "late") == []
    shown.get_by_label("Run 2").locator("select").select_option("(none)")
    expect(panel(shown, 2).locator(".racks")).to_be_hidden()
    seek(shown, 3)
    expect(panel(shown, 1)).to_contain_text("Round 3 of 3")


def test_a_click_on_a_metric_puts_the_assignors_in_its_order(open_page: Open) -> None:
    shown = open_page(compared())
    heads = shown.locator("table.comparison thead th")
    came = heads.all_inner_texts()
    row = shown.get_by_role("button", name="Active task moves").first
    row.click()
    assert heads.all_inner_texts() == ["sticky", "HA none", "HA balance_subtopology", "HA min_traffic"]
    row.click()
    assert heads.all_inner_texts() == ["HA min_traffic", "HA balance_subtopology", "HA none", "sticky"]
    assert shown.locator("th[aria-sort='descending']").count() == 1
    row.click()
    assert heads.all_inner_texts() == came
    shown.get_by_role("button", name="Kafka's rack-aware cost, stateful tasks").click()
    assert heads.all_inner_texts()[-1] == "sticky"


def test_a_click_on_a_head_sorts_the_lines(open_page: Open) -> None:
    shown = open_page(ordinary())
    shown.get_by_text("Every client: active + standby / threads").click()
    table = shown.locator("table[data-csv='load_per_thread']")
    table.get_by_role("button", name="eager").click()
    assert table.locator("tbody th").all_inner_texts() == ["away", "late", "first"]
    table.get_by_role("button", name="Client").click()
    assert table.locator("tbody th").all_inner_texts() == ["away", "first", "late"]


def saved(shown: Page, name: str) -> list[list[str]]:
    with shown.expect_download() as waiting:
        shown.locator(f"table[data-csv='{name}']").locator("xpath=../following-sibling::*//button").click()
    assert waiting.value.suggested_filename == f"{name}.csv"
    return list(csv.reader(io.StringIO(waiting.value.path().read_text(encoding="utf-8"))))


def test_a_table_is_saved_with_its_numbers_unrounded(open_page: Open) -> None:
    rows = saved(open_page(compared()), "comparison")
    assert rows[0] == ["", "HA none", "HA min_traffic", "HA balance_subtopology", "sticky"]
    assert ["cross_rack_bytes_per_s", "48300000.0", "30100000.0", "32600000.0", "48300000.0"] in rows


def test_a_spreadsheet_takes_no_name_for_a_formula(open_page: Open) -> None:
    made = page(player_runs({"eager": '=cmd|"/c calc"!A1', "calm": "-1+1"}), {})
    assert saved(open_page(made), "moves")[0][1:] == ['\'=cmd|"/c calc"!A1', "'-1+1"]


def test_traffic_is_shown_one_kind_at_a_time(open_page: Open) -> None:
    shown = open_page(ordinary())
    cell = shown.locator("table.matrix").first.locator("tbody tr").first.locator("td").nth(1)
    expect(cell).to_have_text("4 GB")
    shown.get_by_label("Kind of traffic").select_option("restore_read")
    expect(cell).to_have_text("1 GB")
    expect(cell).to_have_class("heat-10")
    assert saved(shown, "rack_to_rack-1")[1] == ["az1", "0", "1000000000"]


def test_the_theme_can_be_switched(open_page: Open) -> None:
    shown = open_page(ordinary(), scheme="dark")
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    dark = shown.evaluate(ground)
    button = shown.get_by_role("button", name="Theme")
    button.click()
    light = shown.evaluate(ground)
    assert light != dark
    button.click()
    assert shown.evaluate(ground) == dark


def test_names_of_any_kind_stay_text(open_page: Open) -> None:
    shown = open_page(hostile())
    seek(shown, 2)
    panel(shown, 1).locator(".chip").first.click()
    expect(shown.locator("aside h3")).to_contain_text("Task ")
    for name in ("<script>alert(1)</script>", "\"quoted\" & 'quoted'"):
        expect(panel(shown, 1).get_by_text(name).first).to_be_visible()
    shown.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert shown.locator("body script").count() == 3
    assert shown.locator("img, iframe, object").count() == 0


def test_the_policy_stops_what_might_slip_in(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    slipped = "<script>window.ran = 1</script><p id='p' style='color: red' onclick='window.ran = 2'>text</p></main>"
    file.write_text(ordinary().replace("</main>", slipped), encoding="utf-8")
    shown = browser.new_page()
    refused: list[str] = []
    shown.on("console", lambda message: refused.append(message.text))
    shown.goto(file.as_uri())
    shown.locator("#p").click()
    assert shown.evaluate("window.ran === undefined && getComputedStyle(p).color !== 'rgb(255, 0, 0)'")
    assert sum("Content Security Policy" in text for text in refused) == 3
    with pytest.raises(Error, match="TrustedHTML"):
        shown.evaluate("p.innerHTML = '<b>markup</b>'")
    shown.close()


@pytest.mark.parametrize("width", [360, 768, 1440])
@pytest.mark.parametrize("make", [ordinary, hostile])
def test_nothing_sticks_out_at_any_width(open_page: Open, width: int, make: type[str]) -> None:
    shown = open_page(make(), width)
    assert shown.evaluate("document.documentElement.scrollWidth") <= width


def test_without_scripts_figures_and_tables_are_still_there(open_page: Open) -> None:
    shown = open_page(ordinary(), scripts=False)
    expect(shown.get_by_text("The player needs JavaScript")).to_be_visible()
    expect(shown.locator("table.comparison")).to_be_visible()
    expect(shown.locator("#theme")).to_be_hidden()


def share_of_ink(shot: bytes) -> float:
    """Which part of a picture is not of the colour of its first pixel."""
    picture = Image.open(io.BytesIO(shot)).convert("RGB")
    ground = Image.new("RGB", picture.size, picture.getpixel((0, 0)))
    differing = ImageChops.difference(picture, ground).convert("L").point(lambda value: 255 if value > 12 else 0)
    return differing.histogram()[255] / (picture.width * picture.height)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 768, 1440])
def test_every_part_is_drawn_and_none_is_a_smear(open_page: Open, width: int, scheme: str) -> None:
    shown = open_page(compared(), width, scheme)
    visible = [figure for figure in shown.locator("figure").all() if figure.is_visible()]
    assert len(visible) == 6
    for part in (*visible, shown.locator("table.comparison"), shown.locator("#player-here")):
        box = part.bounding_box()
        assert box is not None
        assert box["height"] > 80
        assert 0.005 < share_of_ink(part.screenshot()) < 0.6


def test_paper_gets_everything_but_the_controls(open_page: Open) -> None:
    shown = open_page(ordinary(), scheme="dark")
    shown.emulate_media(media="print")
    for control in ("#theme", "nav", ".controls button >> nth=0", ".csv >> nth=0"):
        expect(shown.locator(control)).to_be_hidden()
    assert shown.evaluate("getComputedStyle(document.body).color") == "rgb(32, 36, 43)"
    assert shown.pdf(format="A4").startswith(b"%PDF")
