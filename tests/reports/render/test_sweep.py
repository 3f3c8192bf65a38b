"""The summary of an aggregated sweep as text."""

from __future__ import annotations

import copy
import csv
import io
from typing import Any

import pytest

from reports.render.report_formats import report_csv, report_markdown, report_text
from reports.render.sweep import MAX_SHOWN, sweep_report

Json = dict[str, Any]


def draw(summary: Json, width: int) -> str:
    return report_text(sweep_report(summary, width=width), width, color=False)


OBJECTIVES = ["cross_rack_usd_per_day", "active_moves", "time_to_converge_ms"]


def cell(setting: int, assignor: str, means: list[float | None], best_of: list[str]) -> Json:
    by_name = dict(zip(OBJECTIVES, means, strict=True))
    intervals = {name: None if mean is None else [mean * 0.9, mean * 1.1] for name, mean in by_name.items()}
    key = {"sweep": "weights", "setting": setting, "label": f"traffic_cost={setting}", "assignor": assignor}
    return key | {"runs": 4, "stable": 0.75, "best_of": best_of, "means": by_name, "intervals": intervals}


def best(objective: str, of: Json, equal: int = 0) -> Json:
    key = {name: of[name] for name in ("sweep", "setting", "label", "assignor")}
    return {"objective": objective, "mean": of["means"][objective], "interval": None, "others_equal": equal} | key


STICKY = cell(1, "sticky", [12.5, 4.0, 90_000.0], ["active_moves", "time_to_converge_ms"])
RACKS = cell(10, "min_traffic", [2.0, 30.0, None], ["cross_rack_usd_per_day"])

SUMMARY: Json = {
    "kind": "aggregate",
    "sweeps": [
        {
            "sweep": "weights",
            "scenario": "orders",
            "baseline": "sticky",
            "assignors": ["sticky", "min_traffic"],
            "seeds": 4,
        }
    ],
    "scenarios": [
        {
            "scenario": "orders",
            "objectives": OBJECTIVES,
            "cells_considered": 6,
            "cells_on_front": 2,
            "front": [RACKS, STICKY],
            "best": [
                best("cross_rack_usd_per_day", RACKS),
                best("active_moves", STICKY, 2),
                best("time_to_converge_ms", STICKY),
            ],
        }
    ],
    "sensitivity": [
        {
            "sweep": "weights",
            "metric": "active_moves",
            "factors": [{"factor": "traffic_cost", "share": 0.834}, {"factor": "assignor", "share": 0.004}],
        },
        {"sweep": "weights", "metric": "load_skew", "factors": [{"factor": "standbys", "share": 0.5}]},
    ],
    "against_baseline": [
        {"metric": name, "settings": 6, "less": less, "more": 0}
        | {"sweep": "weights", "baseline": "sticky", "assignor": "min_traffic"}
        for name, less in (("active_moves", 0), ("cross_rack_usd_per_day", 5))
    ],
    "left_out": [{"sweep": "weights", "what": "runs", "number": 1200, "why": "not made yet"}],
}


def test_front_has_means_stars_and_intervals() -> None:
    lines = draw(SUMMARY, width=120).splitlines()
    assert lines[0] == "orders: 2 of 6 combinations are Pareto-optimal (mean, 95 % CI below)"
    [racks] = [number for number, line in enumerate(lines) if line.startswith("min_traffic   traffic_cost=10")]
    assert lines[racks].split()[2:] == ["$2.00*", "30", "75", "%", "stable"]
    assert lines[racks + 1].split() == ["$1.80–$2.20", "27–33"]
    assert lines[racks + 2].split() == ["sticky", "traffic_cost=1", "$12.50", "4*", "90", "s*"]


def test_narrow_terminal_has_no_intervals_and_every_line_fits() -> None:
    text = draw(SUMMARY, width=72)
    assert "27–33" not in text
    assert max(map(len, text.splitlines())) <= 72


def test_best_cell_has_number_of_equal_cells() -> None:
    lines = draw(SUMMARY, width=140).splitlines()
    [moves] = [line for line in lines if line.startswith("Active task moves")]
    assert " ".join(moves.split()) == "Active task moves sticky traffic_cost=1 (and 2 more with equal mean) 4"


def test_only_factors_with_influence_on_objectives_are_listed() -> None:
    text = draw(SUMMARY, width=120)
    assert "– Active task moves: traffic_cost 83 %\n" in text
    assert "skew" not in text


def test_significant_differences_from_baseline_share_a_line() -> None:
    expected = "– min_traffic vs. sticky: Cross-rack cost per day lower in 5 of 6 settings\n"
    assert expected in draw(SUMMARY, width=120)


def test_no_significant_difference_is_reported() -> None:
    summary = copy.deepcopy(SUMMARY)
    summary["against_baseline"][1]["less"] = 0
    assert "– min_traffic vs. sticky: no significant difference\n" in draw(summary, width=120)


def test_left_out_runs_are_reported() -> None:
    assert "– weights: 1,200 runs: not made yet\n" in draw(SUMMARY, width=120)


def test_single_excluded_cell_is_in_the_singular() -> None:
    summary = copy.deepcopy(SUMMARY)
    summary["left_out"][0] |= {"what": "cells", "number": 1}
    assert "– weights: 1 cell: not made yet\n" in draw(summary, width=120)


def test_conclusion_is_last_and_does_not_choose_what_did_not_converge() -> None:
    lines = draw(SUMMARY, width=80).splitlines()
    assert lines[lines.index("Conclusion") + 1 :] == [
        "– Start with sticky (the baseline) and traffic_cost=1: lowest active task moves",
        "  (4) and time to converge (90 s). In exchange: cross-rack cost per day $12.50",
        "  (lowest: $2.00).",
        "– With this combination, 75 % of the runs converge.",
        "– Lowest cross-rack cost per day ($2.00): min_traffic and traffic_cost=10; in",
        "  exchange, active task moves 30 and time to converge unknown for some runs.",
        "– Figures are means over 4 seeds; small differences may be chance.",
    ]


def test_long_front_is_cut() -> None:
    summary = copy.deepcopy(SUMMARY)
    front = [cell(setting, "sticky", [float(setting), 1.0, None], []) for setting in range(MAX_SHOWN + 5)]
    summary["scenarios"][0] |= {"front": front, "cells_on_front": 300}
    text = draw(summary, width=120)
    assert text.count("75 % stable") == MAX_SHOWN
    assert f"… and {300 - MAX_SHOWN} more in the table front." in text
    assert "assignor-sim report" in text[text.index("Conclusion") :], "a part of the front has no recommendation"


def test_cells_with_equal_means_share_a_row() -> None:
    summary = copy.deepcopy(SUMMARY)
    equal_cells = [RACKS | {"setting": setting, "label": f"traffic_cost={setting}"} for setting in (10, 11, 12)]
    summary["scenarios"][0] |= {"front": [*equal_cells, STICKY], "cells_on_front": 4}
    text = draw(summary, width=160)
    assert "traffic_cost=10 (and 2 more with equal means)" in text
    assert text.count("75 % stable") == 1
    assert "more in the table front" not in text


def test_settings_of_several_sweeps_have_their_sweep() -> None:
    summary = copy.deepcopy(SUMMARY)
    summary["sweeps"].append(summary["sweeps"][0] | {"sweep": "others"})
    assert "weights: traffic_cost=10" in draw(summary, width=140)


def test_scenario_without_complete_setting_says_so() -> None:
    summary = copy.deepcopy(SUMMARY)
    summary["scenarios"][0] |= {"objectives": [], "cells_considered": 0, "cells_on_front": 0, "front": [], "best": []}
    text = draw(summary, width=120)
    assert "No setting where all runs produced an assignment.\n" in text
    assert "– No combination to recommend: in each, a run failed or assigned nothing.\n" in text


def test_control_characters_of_names_are_escaped() -> None:
    summary = copy.deepcopy(SUMMARY)
    summary["scenarios"][0]["scenario"] = summary["sweeps"][0]["scenario"] = "orders\x1b[2J[red]"
    assert draw(summary, width=120).startswith("orders\\x1b[2J[red]: 2 of 6")


def test_csv_has_every_point_of_the_front_with_means_and_intervals() -> None:
    [racks, sticky] = csv.DictReader(io.StringIO(report_csv(sweep_report(SUMMARY))))
    assert (racks["assignor"], racks["label"], racks["best_of"]) == (
        "min_traffic",
        "traffic_cost=10",
        "cross_rack_usd_per_day",
    )
    assert [float(racks[key]) for key in ("cross_rack_usd_per_day", "cross_rack_usd_per_day_low")] == [2.0, 1.8]
    assert (racks["time_to_converge_ms"], racks["time_to_converge_ms_low"]) == ("", "")
    assert float(sticky["time_to_converge_ms_high"]) == pytest.approx(99_000)


def test_markdown_has_factors_and_differences_as_tables() -> None:
    text = report_markdown(sweep_report(SUMMARY))
    assert "| weights | active\\_moves | traffic\\_cost | 0\\.834 |" in text
    assert "| weights | min\\_traffic | sticky | cross\\_rack\\_usd\\_per\\_day | 6 | 5 | 0 |" in text
    assert "load\\_skew" not in text
