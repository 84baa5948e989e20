"""Violins of the estimates of all replicates, one panel per load."""

import matplotlib.pyplot as plt
import seaborn as sns

from queuebench.results.figures.style import TRUTH, looks, ordered, row_labels, set_style
from queuebench.results.tables.horizons import at_main_horizon


def draw_violins(estimates, truth, scenario):
    """Draw the distribution of every estimator over replicates, with the effect marked.

    Parameters
    ----------
    estimates, truth : pandas.DataFrame
        Rows of `results/estimates.parquet` and `results/truth.parquet`.
    scenario : str

    Returns
    -------
    matplotlib.figure.Figure
    """
    set_style()
    estimates = at_main_horizon(estimates[estimates["scenario"] == scenario]).copy()
    estimates["row"] = row_labels(estimates)
    loads = sorted(estimates["load"].unique())
    order = ordered(estimates["row"])
    palette = {row: colour for row, (colour, _) in looks(order).items()}
    figure, axes = plt.subplots(
        1, len(loads), figsize=(1.6 + 2.9 * len(loads), 0.8 + 0.36 * len(order)), sharey=True,
        squeeze=False,
    )  # fmt: skip
    for axis, load in zip(axes[0], loads, strict=True):
        cell = estimates[estimates["load"] == load]
        sns.violinplot(
            cell, x="estimate", y="row", order=order, hue="row", palette=palette, legend=False,
            density_norm="width", inner="quart", linewidth=0.7, cut=0, ax=axis,
        )  # fmt: skip
        gte = truth[(truth["scenario"] == scenario) & (truth["load"] == load)]["gte"].iloc[0]
        axis.axvline(gte, color=TRUTH, linewidth=1.2)
        axis.axvline(0.0, color="0.5", linewidth=0.8, linestyle=":")
        axis.set(title=f"load {load:g}, effect {gte:.3g}", ylabel="")
        axis.set_xlabel("estimate (mean service times)")
    figure.suptitle(
        f"{scenario}: estimates of {cell['replicate'].nunique()} replicates; "
        "solid line: global treatment effect, dotted: no effect",
        fontsize=10,
    )
    figure.tight_layout()
    return figure
