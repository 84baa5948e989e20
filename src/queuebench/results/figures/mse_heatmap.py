"""Heat map of relative root mean squared errors: estimators against cells."""

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns

from queuebench.results.figures.style import ordered, row_labels, says, set_style
from queuebench.results.tables.horizons import at_main_horizon


def draw_mse_heatmap(mse):
    """Draw root mean squared error over |effect| for every estimator and cell that has an effect.

    Parameters
    ----------
    mse : pandas.DataFrame
        Rows of `results/tables/mse.csv`.

    Returns
    -------
    matplotlib.figure.Figure
    """
    set_style()
    mse = at_main_horizon(mse[mse["relative_rmse"].notna()]).copy()
    if mse.empty:
        return says("no cell has an effect that an error could be compared with")
    mse["row"] = row_labels(mse)
    mse["cell"] = [
        f"{scenario.replace('_', ' ')}, {load:g}"
        for scenario, load in zip(mse["scenario"], mse["load"], strict=True)
    ]
    cells = list(dict.fromkeys(mse["cell"]))
    order = ordered(mse["row"])
    grid = mse.pivot(index="cell", columns="row", values="relative_rmse").loc[cells, order]
    best = grid.eq(grid.min(axis=1), axis=0)
    labels = grid.map(lambda value: "" if np.isnan(value) else f"{value:.2g}")
    labels = labels.where(~best, labels + "*")
    figure, axis = plt.subplots(
        figsize=(3.4 + 0.5 * len(order), 2.4 + 0.22 * len(cells)), layout="constrained"
    )
    sns.heatmap(
        np.log10(grid), annot=labels, fmt="", cmap="cividis_r", linewidths=0.5, ax=axis,
        annot_kws={"fontsize": 7}, cbar_kws={"label": "log10 of RMSE / |effect|"},
    )  # fmt: skip
    axis.set(xlabel="", ylabel="")
    axis.set_title("RMSE over |effect| by scenario and load; * lowest of the cell", loc="left")
    axis.tick_params(axis="x", rotation=50)
    plt.setp(axis.get_xticklabels(), ha="right", rotation_mode="anchor", fontsize=8)
    axis.grid(visible=False)
    return figure
