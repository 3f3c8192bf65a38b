"""The measured differences between releases are consistent, and changes between two releases are listed in full."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest

from reports.analysis.comparison import compare_runs
from reports.analysis.release_changes import (
    ReleaseChanges,
    UpgradeEffect,
    cause_sentence,
    conclude_releases,
    record,
    share,
)
from reports.analysis.release_differences import ALL, AnswerDifferences, AssignorHistory, measured_differences
from reports.render.releases import releases_report
from reports.render.report_formats import report_markdown, report_text
from tests.reports.sample_runs import RUN, tables

HISTORY = AssignorHistory(
    "fair",
    ("1.0", "1.1"),
    {ALL: 40, "standbys asked for": 10},
    {
        ("1.0", "1.1", ALL): AnswerDifferences(40, actives=2, standbys=3, order_only=1, in_production=6),
        ("1.0", "1.1", "standbys asked for"): AnswerDifferences(10, standbys=3, in_production=3),
    },
    {("1.0", "1.1"): {"standbys": 3}},
)


def test_every_problem_counts_once_and_no_family_has_more_than_all() -> None:
    for history in measured_differences().assignors.values():
        for older, newer in combinations(history.releases, 2):
            whole = history.between(older, newer)
            assert 0 <= whole.in_production <= whole.different <= whole.problems
            assert all(count <= whole.different for count in history.equal_without.get((older, newer), {}).values())
            for family in history.problems:
                counts = history.between(older, newer, family)
                assert counts.problems <= whole.problems
                assert all(
                    getattr(counts, kind) <= getattr(whole, kind) for kind in ("actives", "standbys", "order_only")
                )


@pytest.mark.parametrize(
    ("present", "absent"), [("standbys asked for", "no standbys"), ("previous tasks", "no previous tasks")]
)
def test_families_with_and_without_a_feature_add_up(present: str, absent: str) -> None:
    for history in measured_differences().assignors.values():
        if present not in history.problems:
            continue
        for older, newer in combinations(history.releases, 2):
            parts = [history.between(older, newer, family) for family in (present, absent)]
            whole = history.between(older, newer)
            for kind in ("problems", "actives", "standbys", "order_only", "other", "in_production"):
                assert sum(getattr(part, kind) for part in parts) == getattr(whole, kind)
            assert parts[1].standbys == 0 or present != "standbys asked for"


def test_pairs_that_were_not_compared_are_errors() -> None:
    with pytest.raises(LookupError, match=r"fair: Kafka 1\.0 and 2\.0 were not compared"):
        HISTORY.between("1.0", "2.0")
    with pytest.raises(LookupError, match="on problems 'racks'"):
        HISTORY.between("1.0", "1.1", "racks")


def test_releases_are_in_their_order() -> None:
    releases = measured_differences().releases
    assert releases.index("4.1") < releases.index("4.2.1") < releases.index("4.2") < releases.index("4.3")


def test_share_has_the_number() -> None:
    whole = HISTORY.between("1.0", "1.1")
    assert (share(whole), share(whole, 2), share(AnswerDifferences(7))) == ("15.0 % (6)", "5.0 % (2)", "0")
    assert cause_sentence(whole, {"standbys": 3, "racks": 0}) == (
        "Of the 6 different answers, these become equal: without standbys 50 %, without racks 0 %."
    )


def changes() -> ReleaseChanges:
    slower = {**RUN, "worst_downtime_ms": RUN["worst_downtime_ms"] * 2}
    rows = [compare_runs(tables(runs=[run]))[0] for run in (RUN, slower)]
    effects = (
        UpgradeEffect("rack_outage", "a" * 30, rows[0], rows[1]),
        UpgradeEffect("cold_start", "fair", rows[0], rows[0]),
    )
    return ReleaseChanges("1.0", "1.1", (HISTORY,), ("optimal",), effects)


def test_text_has_every_change_within_80_columns() -> None:
    text = report_text(releases_report(changes()), 200, color=False)
    assert max(map(len, text.splitlines())) <= 80
    for part in ("15.0 % (6)", "standbys asked for", "30.0 % (3)", "Worst task downtime (total)", "no change"):
        assert part in text
    assert "Active task moves" not in text
    assert max(map(len, report_text(releases_report(changes()), 50, color=False).splitlines())) <= 50


def test_markdown_names_group_and_row_in_separate_columns() -> None:
    text = report_markdown(releases_report(changes())).replace("\\", "")
    assert "| fair | all | 40 | 15.0 % (6) | 2 | 3 | 1 |" in text
    assert "| cold_start, fair |  | no change |  |" in text


def test_conclusion_counts_what_differs_and_what_does_not() -> None:
    assert conclude_releases(changes()) == [
        "Of random problems, fair answers 15.0 % (6) differently.",
        f"New brokers change figures in 1 of 2 comparisons: rack_outage ({'a' * 30}).",
    ]
    same = replace(HISTORY, name="calm", pairs={("1.0", "1.1", ALL): AnswerDifferences(40)})
    effects = changes().effects[1:]
    assert conclude_releases(ReleaseChanges("1.0", "1.1", (HISTORY, same), client_effects=effects))[1:] == [
        "Same answers to all problems: calm.",
        "New clients change no figure.",
    ]
    *_, last = report_text(releases_report(changes()), 80, color=False).split("Conclusion\n")
    assert last.count("– ") == 2


def test_record_has_the_same_figures() -> None:
    content = record(changes())
    assert [(row["family"], row["different"]) for row in content["answers"]] == [(ALL, 6), ("standbys asked for", 3)]
    [slower, same] = content["scenarios"]
    downtime = RUN["worst_downtime_ms"]
    assert slower["metrics"]["worst_downtime_ms"] == {"from": downtime, "to": 2 * downtime}
    assert all(figure["from"] == figure["to"] for figure in same["metrics"].values())
