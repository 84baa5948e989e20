"""The look all figures share: legible in print and to the colour-blind."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import seaborn as sns

from queuebench.base.files import whole_file
from queuebench.results.tables.horizons import at_main_horizon

TRUTH = "black"
ORDER: list[str] = []
"""Estimators with a place of their own, as whoever draws says; the others follow in alphabetical order."""

_MARKERS = "os^vDPX<>ph*dH8"
_ROUNDING = 1e-9
"""Mean service times: a smaller error is one of arithmetic, and no place on a logarithmic axis."""


def set_style():
    """Set fonts, grid and colours."""
    sns.set_theme(
        context="paper",
        style="whitegrid",
        palette="colorblind",
        rc={"figure.dpi": 150, "savefig.dpi": 200, "axes.titlesize": 10, "pdf.fonttype": 42},
    )


def ordered(rows):
    """Return the names of the estimators in some rows in the order all figures use."""
    present = list(dict.fromkeys(rows))
    known = [name for name in ORDER if any(_base(row) == name for row in present)]
    rank = {name: k for k, name in enumerate(known)}
    return sorted(present, key=lambda row: (rank.get(_base(row), len(rank)), row))


def _base(row):
    return row.split(" ")[0]


def looks(rows):
    """Return a colour and a marker for every row: two channels, so that colour alone never counts."""
    names = ordered(rows)
    colours = sns.color_palette("colorblind", 10)
    return {name: (colours[k % 10], _MARKERS[k % len(_MARKERS)]) for k, name in enumerate(names)}


def row_labels(table):
    """Return a label per row: the estimator, with its design where a cell has it under several."""
    several = table.groupby("estimator")["design"].nunique() > 1
    return [
        f"{estimator} ({design})" if several[estimator] else estimator
        for estimator, design in zip(table["estimator"], table["design"], strict=True)
    ]


def shared_legend(figure):
    """Put one legend for all panels beside the figure, in the order all figures use."""
    by_label = {}
    for axis in figure.axes:
        handles, labels = axis.get_legend_handles_labels()
        by_label |= dict(zip(labels, handles, strict=True))
    names = ordered(by_label)
    figure.legend(
        [by_label[name] for name in names], names, loc="outside right center", frameon=False
    )


def panels_by_load(mse, scenario, height):
    """Begin a figure with one panel per load of a scenario, on common axes.

    Parameters
    ----------
    mse : pandas.DataFrame
        Rows of `results/tables/mse.csv`.
    scenario : str
    height : float
        In inches.

    Returns
    -------
    figure : matplotlib.figure.Figure
    panels : list of (float, matplotlib.axes.Axes, pandas.DataFrame)
        Load, axes and rows at the main horizon, labelled in a column ``row``; estimators that make no
        error at all (a replay of two equal arms) are in the legend only. Empty, with a figure that
        says so, if none makes any.
    look : dict
        Colour and marker by label.
    """
    set_style()
    rows = at_main_horizon(mse[mse["scenario"] == scenario]).copy()
    rows["row"] = row_labels(rows)
    wrong = rows["mse"] > _ROUNDING**2
    faultless = [name for name in ordered(rows["row"]) if not (wrong & (rows["row"] == name)).any()]
    rows = rows[wrong]
    if rows.empty:
        return says(f"{scenario}: no estimator makes any error"), [], {}
    loads = sorted(rows["load"].unique())
    figure, axes = plt.subplots(
        1, len(loads), figsize=(0.8 + 2.9 * len(loads), height), sharex=True, sharey=True,
        squeeze=False, layout="constrained",
    )  # fmt: skip
    panels = [
        (load, axis, rows[rows["load"] == load]) for load, axis in zip(loads, axes[0], strict=True)
    ]
    for name in faultless:
        axes[0, 0].plot([], [], linestyle="none", label=f"{name} (no error)")
    return figure, panels, looks(rows["row"])


def says(sentence):
    """Return a figure that says why there is nothing to draw."""
    figure, axis = plt.subplots(figsize=(6.0, 1.2))
    axis.axis("off")
    axis.text(0.5, 0.5, sentence, ha="center", va="center")
    return figure


def save(figure, paths):
    """Write a figure to every given path, whole or not at all, without dates in the files."""
    for path in paths:
        with whole_file(path) as partial:
            kind = str(path).rsplit(".", 1)[1]
            metadata = {"CreationDate": None} if kind == "pdf" else {"Software": None}
            figure.savefig(partial, format=kind, metadata=metadata, bbox_inches="tight")
    plt.close(figure)


def save_each(names, draw, paths):
    """Draw one figure per name and write it to the paths given for it.

    Parameters
    ----------
    names : list of str
    draw : Callable
        ``draw(name) -> Figure``.
    paths : list of str
        For each kind of file in turn, one path per name.
    """
    for k, name in enumerate(names):
        save(draw(name), paths[k :: len(names)])
