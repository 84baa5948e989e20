"""The truncation ablation: bias, spread and error of the DQ estimators against the horizon."""

import matplotlib.pyplot as plt

from queuebench.results.figures.style import looks, says, set_style, shared_legend
from queuebench.results.tables.horizons import at_main_horizon

_PARTS = {"bias": "bias", "sd": "standard deviation", "rmse": "RMSE"}


def draw_truncation(mse, scenario):
    """Draw bias, standard deviation and RMSE against the horizon, one column per load.

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
    rows = mse[(mse["scenario"] == scenario) & mse["horizon"].notna()].copy()
    if rows.empty:
        return says(f"{scenario}: no estimator has a horizon")
    rows["rmse"] = rows["mse"] ** 0.5
    rows["rmse_se"] = rows["mse_se"] / (2 * rows["rmse"])
    look = looks(rows["estimator"])
    main = at_main_horizon(rows)["horizon"].iloc[0]
    loads = sorted(rows["load"].unique())
    figure, axes = plt.subplots(
        3, len(loads), figsize=(1.2 + 2.7 * len(loads), 6.4), sharex=True, squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for column, load in enumerate(loads):
        cell = rows[rows["load"] == load]
        for line, (part, title) in enumerate(_PARTS.items()):
            axis = axes[line, column]
            for name, own in cell.groupby("estimator", sort=False):
                own = own.sort_values("horizon")
                colour, marker = look[name]
                axis.errorbar(
                    own["horizon"], own[part], yerr=2 * own[f"{part}_se"], color=colour,
                    marker=marker, markersize=4, linewidth=1.1, capsize=2, label=name,
                )  # fmt: skip
            axis.axvline(main, color="0.5", linewidth=0.9, linestyle=":")
            axis.set_xscale("log")
            if part == "bias":
                axis.axhline(0.0, color="black", linewidth=0.8)
                axis.set_title(f"load {load:g}, effect {cell['gte'].iloc[0]:.3g}")
            else:
                axis.set_yscale("log")
            if column == 0:
                axis.set_ylabel(f"{title}\n(mean service times)")
    figure.supxlabel("horizon (mean service times)", fontsize=9)
    shared_legend(figure)
    figure.suptitle(
        f"{scenario}: truncation of the Q values; bars two standard errors; "
        f"dotted: the main horizon, {main:g}",
        fontsize=9,
    )
    return figure
