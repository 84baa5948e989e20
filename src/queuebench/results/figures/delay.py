"""What a naive comparison says under delayed information, and what is true."""

import matplotlib.pyplot as plt
import numpy as np

from queuebench.results.figures.style import looks, says, set_style
from queuebench.results.tables.horizons import at_main_horizon


def draw_delay(mse, roles):
    """Draw, for every cell, the effect beside what two estimators say of it.

    Parameters
    ----------
    mse : pandas.DataFrame
        Rows of `results/tables/mse.csv` of some scenarios.
    roles : dict of str to str
        Estimator by role.

    Returns
    -------
    matplotlib.figure.Figure
        A horizontal interval is what 95 % of experiments of the study's length say.
    """
    set_style()
    shown = (roles["baseline"], roles["mixture"])
    rows = at_main_horizon(mse[mse["estimator"].isin(shown)])
    if rows.empty:
        return says("no cell with delayed information has " + " or ".join(shown))
    cells = list(dict.fromkeys(zip(rows["scenario"], rows["load"], strict=True)))
    look = looks(shown)
    figure, axis = plt.subplots(figsize=(7.2, 1.5 + 0.55 * len(cells)), layout="constrained")
    for k, (scenario, load) in enumerate(cells):
        cell = rows[(rows["scenario"] == scenario) & (rows["load"] == load)]
        for shift, name in zip((-0.17, 0.17), shown, strict=True):
            colour, marker = look[name]
            for _, row in cell[cell["estimator"] == name].iterrows():
                axis.errorbar(
                    row["mean"], k + shift, xerr=1.96 * row["sd"], color=colour, marker=marker,
                    capsize=3, markersize=5, label=name,
                )  # fmt: skip
        gte = cell["gte"].iloc[0]
        axis.plot(
            [gte, gte], [k - 0.36, k + 0.36], color="black", linewidth=2.2,
            label="true effect" if k == 0 else None,
        )  # fmt: skip
        naive = cell[cell["estimator"] == shown[0]]
        if _misleads(naive):
            naive = naive.iloc[0]
            axis.axhspan(k - 0.45, k + 0.45, color="0.92", zorder=0)
            axis.annotate(
                f"naive: better, {abs(naive['mean']) / naive['sd']:.0f} standard errors; truth: worse"
                if gte > 0 else
                f"naive: worse, {abs(naive['mean']) / naive['sd']:.0f} standard errors; truth: better",
                (0.01, k - 0.4), xycoords=("axes fraction", "data"), ha="left", va="top", fontsize=8,
            )  # fmt: skip
    axis.axvline(0.0, color="0.4", linewidth=0.9, linestyle=":")
    axis.set_yticks(
        range(len(cells)), [f"{s.replace('_', ' ')}, load {load:g}" for s, load in cells]
    )
    axis.invert_yaxis()
    axis.set_xlabel("effect on the mean response (mean service times); negative is better")
    arrivals = f"{rows['arrivals'].min():,.0f} to {rows['arrivals'].max():,.0f}"
    axis.set_title(
        f"What one experiment of {arrivals} arrivals says (95 % of experiments)", loc="left"
    )
    handles, labels = axis.get_legend_handles_labels()
    by_label = dict(zip(labels, handles, strict=True))
    figure.legend(
        by_label.values(), by_label, loc="outside lower center", ncols=3, frameon=False, fontsize=8
    )
    return figure


def _misleads(naive):
    """Whether a cell's naive comparison points away from an effect that is surely there."""
    signs = np.sign(naive["mean"]) != np.sign(naive["gte"])
    return bool((signs & (naive["gte"].abs() > 4 * naive["gte_se"])).any())
