"""The figures of the benchmark's pages; the same results give the same bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reports.analysis.metrics import COMPARABLE_METRICS
from reports.analysis.review.leaderboard import WinsAndLosses
from reports.render.drawing.canvas import new_figure
from reports.render.drawing.style import FAINT, INK, PAPER, line_style
from reports.render.figures.run_figures import figure_bytes, figure_style

LOWER, HIGHER = line_style(0).color, line_style(1).color
Points = Mapping[str, Sequence[tuple[float, float]]]


def wins_and_losses(title: str, found: Sequence[WinsAndLosses]) -> bytes:
    """Draw one bar for each comparison: scenarios in which the assignor is lower, equal and higher."""
    names = list(dict.fromkeys(one.assignor for one in found))
    with figure_style():
        figure = new_figure(0.9 + 0.3 * (len(found) + len(names)), narrow=False)
        axes = figure.add_subplot()
        axes.set_title(title)
        ticks, labels, row = [], [], 0.0
        for name in names:
            axes.text(0, row, name, va="center", fontsize=9, fontweight="bold")
            row += 1
            for one in (one for one in found if one.assignor == name):
                parts = ((one.wins, LOWER, ""), (one.ties, FAINT, ""), (one.losses, HIGHER, "////"))
                edge = 0
                for value, color, hatch in parts:
                    axes.barh(
                        row, value, 0.7, left=edge, color=color, hatch=hatch, edgecolor=PAPER, linewidth=0.8, zorder=2
                    )
                    edge += value
                axes.annotate(
                    f"{one.wins}–{one.losses}–{one.ties} {one.verdict}",
                    (edge, row),
                    (4, 0),
                    textcoords="offset points",
                    va="center",
                    fontsize=8,
                )
                ticks.append(row)
                labels.append(COMPARABLE_METRICS[one.metric].title)
                row += 1
        axes.set_yticks(ticks, labels)
        axes.set_ylim(row - 0.4, -0.6)
        axes.set_xlabel("scenarios")
        scenarios = max(one.wins + one.losses + one.ties for one in found)
        axes.set_xlim(0, 1.25 * scenarios)
        axes.set_xticks(range(0, scenarios + 1, 20 if scenarios > 60 else 10))
        axes.grid(visible=False, axis="y")
        handles = [
            axes.barh([0], [0], color=c, hatch=h, edgecolor=PAPER)
            for c, h in ((LOWER, ""), (FAINT, ""), (HIGHER, "////"))
        ]
        figure.legend(handles, ["lower (better)", "equal", "higher (worse)"], loc="outside lower left", ncols=3)
        return figure_bytes(figure, "svg")


def shares_at_or_below(title: str, x_label: str, values: Mapping[str, Sequence[float]], maximum: float) -> bytes:
    """Draw the share of instances, in per cent, whose value is at most x, one line for each assignor."""
    with figure_style():
        figure = new_figure(3.4, narrow=False)
        axes = figure.add_subplot()
        axes.set_title(title)
        for number, (name, found) in enumerate(values.items()):
            ordered = sorted(found)
            x = [0.0, *(value for value in ordered if value <= maximum), maximum]
            shares = [100.0 * sum(v <= at for v in ordered) / len(ordered) for at in x]
            style = line_style(number)
            axes.step(x, shares, where="post", label=name, color=style.color, dashes=style.dashes or (None, None))
        axes.set_xlim(0, maximum)
        axes.set_ylim(0, 101)
        axes.set_xlabel(x_label)
        axes.set_ylabel("instances (%)")
        axes.spines["left"].set_color(INK)
        figure.legend(loc="outside lower left", ncols=2)
        return figure_bytes(figure, "svg")
