"""Bias taken apart, for every cell the exact oracle solved."""

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns

from queuebench.results.figures.style import ordered, says, set_style
from queuebench.results.tables.horizons import at_main_horizon

_PARTS = {
    "interference_bias": "interference",
    "truncation_bias": "truncation",
}


def draw_bias_decomposition(decomposition):
    """Draw interference and truncation bias and the unexplained residual of every estimator.

    Parameters
    ----------
    decomposition : pandas.DataFrame
        Rows of `results/tables/bias_decomposition.csv`.

    Returns
    -------
    matplotlib.figure.Figure
        One panel per cell with an effect: bars for the two biases in per cent of it, a point with an
        interval of two standard errors for what simulation adds to both, which should cover zero.
    """
    set_style()
    rows = at_main_horizon(decomposition[decomposition["gte"] != 0.0])
    if rows.empty:
        return says("no cell with an effect was solved exactly")
    cells = list(dict.fromkeys(zip(rows["scenario"], rows["load"], strict=True)))
    colours = sns.color_palette("colorblind", 3)
    columns = min(3, max(1, len(cells)))
    lines = max(1, -(-len(cells) // columns))
    figure, axes = plt.subplots(
        lines, columns, figsize=(1.6 + 2.6 * columns, 0.9 + 2.3 * lines), squeeze=False,
        sharey=True, layout="constrained",
    )  # fmt: skip
    names = ordered(rows["estimator"])
    place = {name: k for k, name in enumerate(names)}
    for axis, (scenario, load) in zip(axes.flat, cells, strict=False):
        cell = rows[(rows["scenario"] == scenario) & (rows["load"] == load)]
        y = np.array([place[name] for name in cell["estimator"]])
        scale = 100 / abs(cell["gte"].iloc[0])
        left = np.zeros(len(cell))
        for (column, label), colour in zip(_PARTS.items(), colours, strict=False):
            width = cell[column].to_numpy() * scale
            axis.barh(y, width, left=left, color=colour, height=0.55, label=label)
            left = left + width
        axis.errorbar(
            cell["residual"] * scale, y + 0.38, xerr=2 * cell["residual_se"] * scale,
            fmt="o", color="black", markersize=3, linewidth=0.9, capsize=2, label="unexplained",
        )  # fmt: skip
        axis.axvline(0.0, color="0.3", linewidth=0.8)
        axis.set_xscale("symlog", linthresh=10.0)
        axis.set_title(f"{scenario.replace('_', ' ')}, load {load:g}", fontsize=9)
        axis.set_yticks(range(len(names)), names)
    for axis in list(axes.flat)[len(cells) :]:
        axis.set_axis_off()
    axes[0, 0].invert_yaxis()
    figure.supxlabel("bias in % of the effect (towards zero is positive)", fontsize=9)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False)
    return figure
