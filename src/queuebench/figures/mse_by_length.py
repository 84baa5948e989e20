"""Mean squared error against the length of the experiment."""

import matplotlib.pyplot as plt
import numpy as np

from queuebench.figures.style import looks, row_labels, set_style, shared_legend
from queuebench.tables.horizons import at_main_horizon

_LENGTHS = np.logspace(4, 8, 81)


def draw_mse_by_length(mse, scenario):
    """Draw ``sqrt(b2 + sd^2 n0 / n)`` against the number of arrivals n, one panel per load.

    Parameters
    ----------
    mse : pandas.DataFrame
        Rows of `results/tables/mse.csv`.
    scenario : str

    Returns
    -------
    matplotlib.figure.Figure
    """
    set_style()
    mse = at_main_horizon(mse[mse["scenario"] == scenario]).copy()
    mse["row"] = row_labels(mse)
    look = looks(mse["row"])
    loads = sorted(mse["load"].unique())
    figure, axes = plt.subplots(
        1, len(loads), figsize=(0.8 + 2.9 * len(loads), 3.4), sharex=True, sharey=True,
        squeeze=False, layout="constrained",
    )  # fmt: skip
    for axis, load in zip(axes[0], loads, strict=True):
        cell = mse[mse["load"] == load]
        for _, row in cell.iterrows():
            colour, marker = look[row["row"]]
            b2 = max(0.0, row["bias"] ** 2 - row["bias_se"] ** 2)
            error = np.sqrt(b2 + row["sd"] ** 2 * row["arrivals"] / _LENGTHS)
            axis.plot(
                _LENGTHS, error, color=colour, marker=marker, markevery=20, markersize=4,
                linewidth=1.1, label=row["row"],
                linestyle="-" if abs(row["bias"]) > 2 * row["bias_se"] else ":",
            )  # fmt: skip
        axis.axhline(abs(cell["gte"].iloc[0]), color="black", linewidth=0.9, linestyle="--")
        axis.axvline(cell["arrivals"].mean(), color="0.5", linewidth=0.9, linestyle=":")
        axis.set(xscale="log", yscale="log", title=f"load {load:g}", xlabel="arrivals")
    axes[0, 0].set_ylabel("RMSE (mean service times)")
    shared_legend(figure, axes[0, 0])
    figure.suptitle(
        f"{scenario}: RMSE by length; dashed: |effect|, grey: length simulated; "
        "dotted curves: bias not distinguishable from 0",
        fontsize=9,
    )
    return figure
