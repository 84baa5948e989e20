"""The bias-sd plane: what an estimator's error is made of."""

import numpy as np

from queuebench.results.figures.style import panels_by_load, shared_legend


def draw_bias_sd(mse, scenario):
    """Draw |bias| against standard deviation, one panel per load, with lines of equal RMSE.

    Parameters
    ----------
    mse : pandas.DataFrame
        Rows of `results/tables/mse.csv`.
    scenario : str

    Returns
    -------
    matplotlib.figure.Figure
    """
    figure, panels, look = panels_by_load(mse, scenario, height=3.6)
    if not panels:
        return figure
    low, high = _range([rows for _, _, rows in panels])
    for load, axis, cell in panels:
        _draw_equal_rmse(axis, low, high)
        for _, row in cell.iterrows():
            colour, marker = look[row["row"]]
            bias, error = abs(row["bias"]), row["bias_se"]
            known = bias > 2 * error
            # An interval that reaches zero has no lower end on a logarithmic axis.
            axis.errorbar(
                row["sd"], max(bias, low), yerr=[[min(2 * error, 0.999 * bias)], [2 * error]],
                marker=marker, color=colour, markersize=6, linewidth=0.8, linestyle="none",
                markerfacecolor=colour if known else "white", label=row["row"],
            )  # fmt: skip
        axis.set(
            xscale="log", yscale="log", xlim=(low, high), ylim=(low, high), title=f"load {load:g}"
        )
    figure.supxlabel("standard deviation (mean service times)", fontsize=9)
    panels[0][1].set_ylabel("|bias| (mean service times)")
    shared_legend(figure)
    figure.suptitle(
        f"{scenario}: bars two standard errors, hollow where the bias is within them; "
        "grey: equal RMSE",
        fontsize=9,
    )
    return figure


def _range(tables):
    values = np.concatenate([part for rows in tables for part in (rows["sd"], rows["bias"].abs())])
    values = values[np.isfinite(values) & (values > 0)]
    return 10 ** np.floor(np.log10(np.quantile(values, 0.02))), 10 ** np.ceil(
        np.log10(values.max())
    )


def _draw_equal_rmse(axis, low, high):
    angle = np.linspace(0.0, np.pi / 2, 200)[1:-1]
    for radius in 10 ** np.arange(np.log10(low) + 1, np.log10(high) + 1.5):
        axis.plot(
            radius * np.cos(angle), radius * np.sin(angle), color="0.7", linewidth=0.7, zorder=0
        )
