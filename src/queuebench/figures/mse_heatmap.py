"""Heat map of relative root mean squared errors: estimators against cells."""

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns

from queuebench.figures.style import ordered, row_labels, set_style
from queuebench.tables.horizons import at_main_horizon


def draw_mse_heatmap(mse):
    """Draw root mean squared error over |effect| for every estimator and cell.

    Parameters
    ----------
    mse : pandas.DataFrame
        Rows of `results/tables/mse.csv`.

    Returns
    -------
    matplotlib.figure.Figure
    """
    set_style()
    mse = at_main_horizon(mse).copy()
    mse["row"] = row_labels(mse)
    mse["cell"] = [f"{s}\n{load:g}" for s, load in zip(mse["scenario"], mse["load"], strict=True)]
    cells = list(dict.fromkeys(mse["cell"]))
    order = ordered(mse["row"])
    grid = mse.pivot(index="row", columns="cell", values="relative_rmse").loc[order, cells]
    best = grid.eq(grid.min())
    labels = grid.map(lambda value: "" if np.isnan(value) else f"{value:.2g}")
    labels = labels.where(~best, labels + "*")
    figure, axis = plt.subplots(
        figsize=(2.4 + 0.72 * len(cells), 1.9 + 0.3 * len(order)), layout="constrained"
    )
    sns.heatmap(
        np.log10(grid), annot=labels, fmt="", cmap="cividis_r", linewidths=0.5, ax=axis,
        annot_kws={"fontsize": 7}, cbar_kws={"label": "log10 of RMSE / |effect|"},
    )  # fmt: skip
    axis.set(xlabel="scenario and load", ylabel="")
    axis.set_title("RMSE over |effect|; * lowest of the cell", loc="left")
    axis.set_xticklabels(_stacked(cells), rotation=0, fontsize=6.5)
    return figure


def _stacked(cells):
    return [cell.replace("_", "\n") for cell in cells]
