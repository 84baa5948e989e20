"""What a naive comparison says under delayed information, and what is true."""

import matplotlib.pyplot as plt
import numpy as np

from queuebench.figures.style import looks, set_style

_SHOWN = ("naive", "mixed_dq")


def draw_delay(mse, scenarios):
    """Draw, for every cell of some scenarios, the effect beside what two estimators say of it.

    Parameters
    ----------
    mse : pandas.DataFrame
        Rows of `results/tables/mse.csv`.
    scenarios : list of str

    Returns
    -------
    matplotlib.figure.Figure
        A horizontal interval is what 95 % of experiments of the study's length say.
    """
    set_style()
    rows = mse[mse["scenario"].isin(scenarios) & mse["estimator"].isin(_SHOWN)]
    cells = list(dict.fromkeys(zip(rows["scenario"], rows["load"], strict=True)))
    look = looks(_SHOWN)
    figure, axis = plt.subplots(figsize=(7.2, 1.5 + 0.55 * len(cells)), layout="constrained")
    for k, (scenario, load) in enumerate(cells):
        cell = rows[(rows["scenario"] == scenario) & (rows["load"] == load)]
        for shift, name in zip((-0.17, 0.17), _SHOWN, strict=True):
            row = cell[cell["estimator"] == name].iloc[0]
            colour, marker = look[name]
            axis.errorbar(
                row["mean"], k + shift, xerr=1.96 * row["sd"], color=colour, marker=marker,
                capsize=3, markersize=5, label=name if k == 0 else None,
            )  # fmt: skip
        gte = cell["gte"].iloc[0]
        axis.plot(
            [gte, gte], [k - 0.36, k + 0.36], color="black", linewidth=2.2,
            label="true effect" if k == 0 else None,
        )  # fmt: skip
        naive = cell[cell["estimator"] == "naive"].iloc[0]
        if np.sign(naive["mean"]) != np.sign(gte) and abs(gte) > 4 * naive["gte_se"]:
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
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    return figure
