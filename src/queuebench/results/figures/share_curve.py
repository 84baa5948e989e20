"""The mean response by treated share: levels, slopes, and what estimators make of them."""

import json

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from queuebench.results.figures.style import TRUTH, looks, row_labels, says, set_style
from queuebench.results.tables.horizons import at_main_horizon

_REACH = 0.09
"""Half the length of a tangent, in shares."""
_MOST = 6
"""Estimators of least mean squared error over the loads that are shown, beside the two of one share."""


def draw_share_curve(diagnostics, truth, mse, scenario, roles):
    """Draw T(p) with its levels and tangents, one panel per load, and beside it what estimators say.

    Parameters
    ----------
    diagnostics, truth, mse : pandas.DataFrame
        Rows of `results/diagnostics.parquet`, `results/truth.parquet` and `results/tables/mse.csv`.
    scenario : str
    roles : dict of str to str
        Estimator by role.

    Returns
    -------
    matplotlib.figure.Figure
        Estimators stand to the right of share 1 at the control's true response plus the mean estimate: the
        right ones at the level of the treatment's response, which a line marks.
    """
    set_style()
    rows = diagnostics[(diagnostics["scenario"] == scenario) & (diagnostics["shares"] != "")]
    if rows.empty:
        return says(f"{scenario}: no record of several shares")
    own = at_main_horizon(mse[mse["scenario"] == scenario]).copy()
    own["row"] = row_labels(own)
    shown = _shown(own, roles)
    look = looks(shown)
    loads = sorted(rows["load"].unique())
    figure, axes = plt.subplots(
        1, len(loads), figsize=(1.6 + 3.4 * len(loads), 3.8), squeeze=False, layout="constrained"
    )
    for load, axis in zip(loads, axes[0], strict=True):
        (true,) = truth[(truth["scenario"] == scenario) & (truth["load"] == load)].itertuples()
        cell = rows[rows["load"] == load]
        _draw_levels(axis, cell)
        ends = [true.response_control, true.response_treatment]
        axis.plot([0.0, 1.0], ends, "D", color=TRUTH, markersize=5, label="truth: one policy alone")
        axis.axhline(ends[1], color=TRUTH, linewidth=0.8, linestyle=":")
        _draw_estimates(axis, own[own["load"] == load], ends[0], shown, look)
        axis.set(
            title=f"load {load:g}", xlabel="treated share p", xticks=[0.0, 0.25, 0.5, 0.75, 1.0]
        )
    axes[0, 0].set_ylabel("mean response (mean service times)")
    by_label = {}
    for axis in axes[0]:
        handles, labels = axis.get_legend_handles_labels()
        by_label |= dict(zip(labels, handles, strict=True))
    figure.legend(
        by_label.values(), by_label, loc="outside right center", frameon=False, fontsize=8
    )
    figure.suptitle(
        f"{scenario.replace('_', ' ')}: to the right, the control's response plus each estimate "
        "(mean and 95 % of experiments)", fontsize=9,
    )  # fmt: skip
    return figure


def _shown(mse, roles):
    """Return the rows that are drawn, by the mean over the loads of the MSE over the squared effect."""
    relative = (mse["mse"] / mse["gte"] ** 2).groupby(mse["row"]).mean().sort_values(kind="stable")
    known = mse[mse["estimator"].isin([roles["baseline"], roles["mixture"]])]["row"]
    return list(dict.fromkeys([*relative.index[:_MOST], *known]))


def _draw_levels(axis, cell):
    """Draw the levels and tangents of every design, the mean over replicates."""
    for design, rows in cell.groupby("design", sort=False):
        long = pd.DataFrame(
            [point for row in rows["shares"] for point in json.loads(row)],
            columns=["share", "level", "slope"], dtype=float,
        )  # fmt: skip
        by_share = long.groupby("share")
        level = by_share["level"].mean()
        slope, error = by_share["slope"].mean(), by_share["level"].sem()
        (line,) = axis.plot(level.index, level, "o", markersize=5, label=f"levels, {design}")
        axis.errorbar(
            level.index, level, yerr=2 * error, fmt="none", color=line.get_color(), capsize=2
        )
        for share, height in level.items():
            if not np.isnan(slope[share]):
                along = np.array([-_REACH, _REACH])
                axis.plot(
                    share + along, height + slope[share] * along, color=line.get_color(),
                    linewidth=1.4, label=f"tangents, {design}",
                )  # fmt: skip


def _draw_estimates(axis, mse, control, shown, look):
    place = {name: 1.1 + 0.07 * k for k, name in enumerate(shown)}
    for _, row in mse[mse["row"].isin(shown)].iterrows():
        colour, marker = look[row["row"]]
        axis.errorbar(
            place[row["row"]], control + row["mean"], yerr=1.96 * row["sd"], color=colour,
            marker=marker, markersize=4, linewidth=0.9, capsize=2, label=row["row"],
        )  # fmt: skip
