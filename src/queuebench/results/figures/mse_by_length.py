"""Mean squared error against the length of the experiment."""

import numpy as np

from queuebench.results.figures.style import panels_by_load, shared_legend

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
    figure, panels, look = panels_by_load(mse, scenario, height=3.4)
    if not panels:
        return figure
    for load, axis, cell in panels:
        for _, row in cell.iterrows():
            colour, marker = look[row["row"]]
            b2 = max(0.0, row["bias"] ** 2 - row["bias_se"] ** 2)
            error = np.sqrt(b2 + row["sd"] ** 2 * row["arrivals"] / _LENGTHS)
            axis.plot(
                _LENGTHS, error, color=colour, marker=marker, markevery=20, markersize=4,
                linewidth=1.1, label=row["row"],
                linestyle="-" if abs(row["bias"]) > 2 * row["bias_se"] else ":",
            )  # fmt: skip
        effect = abs(cell["gte"].iloc[0])
        if effect > 0:
            axis.axhline(effect, color="black", linewidth=0.9, linestyle="--")
        axis.axvline(cell["arrivals"].mean(), color="0.5", linewidth=0.9, linestyle=":")
        axis.set(xscale="log", yscale="log", title=f"load {load:g}", xlabel="arrivals")
    panels[0][1].set_ylabel("RMSE (mean service times)")
    shared_legend(figure)
    figure.suptitle(
        f"{scenario}: RMSE by length; dashed: |effect|, grey: length simulated; "
        "dotted curves: bias not distinguishable from 0",
        fontsize=9,
    )
    return figure
