"""The map of who wins where: lowest MSE by cell and length of the experiment."""

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch

from queuebench.results.figures.style import ordered, row_labels, says, set_style
from queuebench.results.tables.winners import AMONG

_TITLES = {"model-free": "among estimators that are not told the system", "all": "among all"}


def draw_winners(winners):
    """Draw the winner of every cell by length, one panel per set of competitors.

    Parameters
    ----------
    winners : pandas.DataFrame
        Rows of `results/tables/winners.csv`.

    Returns
    -------
    matplotlib.figure.Figure
        A cell of the map is blank where the difference is within noise; a number in it says the same
        as its colour.
    """
    set_style()
    if winners.empty:
        return says("no cell has two estimators to compare")
    rows = winners.copy()
    rows["cell"] = [
        f"{scenario.replace('_', ' ')}, {load:g}"
        for scenario, load in zip(rows["scenario"], rows["load"], strict=True)
    ]
    cells = list(dict.fromkeys(rows["cell"]))
    rows["winner"] = _labels(rows)
    names = ordered(rows.loc[rows["clear"], "winner"])
    panels = [among for among in AMONG if (rows["among"] == among).any()]
    figure, axes = plt.subplots(
        1, len(panels), figsize=(3.2 + 3.4 * len(panels), 1.6 + 0.2 * len(cells)), sharey=True,
        squeeze=False, layout="constrained",
    )  # fmt: skip
    known = sns.color_palette("colorblind", 10) + sns.color_palette("pastel", 10)
    colours = [known[k % len(known)] for k in range(max(2, len(names)))]
    for axis, among in zip(axes[0], panels, strict=True):
        _draw_panel(axis, rows[rows["among"] == among], cells, names, colours)
        axis.set_title(_TITLES[among], loc="left", fontsize=9)
    handles = [Patch(color=colours[k], label=f"{k + 1}  {name}") for k, name in enumerate(names)]
    figure.legend(handles=handles, loc="outside right upper", frameon=False, fontsize=8)
    figure.suptitle("Lowest mean squared error by length; blank: within noise", fontsize=10)
    return figure


def _labels(rows):
    """Return the name of every winner, with design and horizon where the map has several."""
    names = row_labels(rows)
    if rows["horizon"].nunique() < 2:
        return names
    return [
        name if np.isnan(horizon) else f"{name} ({horizon:g})"
        for name, horizon in zip(names, rows["horizon"], strict=True)
    ]


def _draw_panel(axis, rows, cells, names, colours):
    number = {name: k + 1.0 for k, name in enumerate(names)}
    shown = rows.assign(
        number=[
            number[name] if clear else np.nan
            for name, clear in zip(rows["winner"], rows["clear"], strict=True)
        ]
    )
    grid = shown.pivot(index="cell", columns="arrivals", values="number").reindex(cells)
    labels = [f"$10^{{{np.log10(n):g}}}$" for n in grid.columns]
    sns.heatmap(
        grid, annot=True, fmt=".0f", annot_kws={"fontsize": 6}, cbar=False, linewidths=0.4,
        linecolor="0.9", cmap=ListedColormap(colours), vmin=0.5,
        vmax=max(2, len(names)) + 0.5, xticklabels=labels, ax=axis,
    )  # fmt: skip
    axis.set(xlabel="arrivals", ylabel="")
    axis.grid(visible=False)
    axis.tick_params(axis="x", rotation=0, labelsize=7)
    axis.tick_params(axis="y", labelsize=7)
