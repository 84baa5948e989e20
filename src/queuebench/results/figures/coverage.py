"""Coverage of 95 % confidence intervals, for every estimator and cell."""

import matplotlib.pyplot as plt
import seaborn as sns

from queuebench.results.figures.style import ordered, row_labels, says, set_style
from queuebench.results.tables.horizons import at_main_horizon

_TARGETS = {"estimand": "their estimator's own estimand", "gte": "the effect"}


def draw_coverage(coverage):
    """Draw a heat map of coverage by cell and estimator, one panel per target.

    Parameters
    ----------
    coverage : pandas.DataFrame
        Rows of `results/tables/coverage.csv`.

    Returns
    -------
    matplotlib.figure.Figure
    """
    set_style()
    if coverage["coverage"].isna().all():
        return says("no confidence intervals: one replicate only, or records too short for them")
    rows = at_main_horizon(coverage[coverage["level"] == 95]).copy()
    rows["row"] = row_labels(rows)
    rows["cell"] = [
        f"{scenario.replace('_', ' ')}, {load:g}"
        for scenario, load in zip(rows["scenario"], rows["load"], strict=True)
    ]
    cells, order = list(dict.fromkeys(rows["cell"])), ordered(rows["row"])
    figure, axes = plt.subplots(
        1, 2, figsize=(3.4 + 0.95 * len(order), 2.4 + 0.22 * len(cells)), sharey=True,
        layout="constrained",
    )  # fmt: skip
    for axis, (target, title) in zip(axes, _TARGETS.items(), strict=True):
        own = rows[rows["target"] == target]
        grid = own.pivot(index="cell", columns="row", values="coverage").loc[cells, order]
        sns.heatmap(
            100 * grid, annot=True, fmt=".0f", cmap="cividis", vmin=50, vmax=100, linewidths=0.5,
            annot_kws={"fontsize": 7}, cbar=target == "gte",
            cbar_kws={"label": "coverage (%)"}, ax=axis,
        )  # fmt: skip
        axis.set(xlabel="", ylabel="")
        axis.set_title(f"95 % intervals that contain {title}, %", loc="left", fontsize=9)
        axis.tick_params(axis="x", rotation=50)
        plt.setp(axis.get_xticklabels(), ha="right", rotation_mode="anchor", fontsize=8)
        axis.grid(visible=False)
    return figure
