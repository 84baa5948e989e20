"""Figures of the loss network: regret against N, its parts, the knee of the window, a trajectory."""

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns

from queuebench.results.figures.style import set_style

_NAMES = {
    "online": "online optimum", "xie3": "trunk reservation, 3 log N",
    "xie5": "trunk reservation, 5 log N", "pfi": "PFI", "offline": "offline optimum",
}  # fmt: skip
_MARKERS = "os^vDPX<>p"


def draw_regret(regret, single_use):
    """Draw regret against N for every policy, and the single-use gap beside it.

    Parameters
    ----------
    regret, single_use : pandas.DataFrame
        Rows of `results/tables/regret.csv` and `single_use.csv`.
    """
    set_style()
    figure, axis = plt.subplots(figsize=(7.4, 4.4), layout="constrained")
    simulated = regret[regret["source"] == "simulated"]
    colours = sns.color_palette("colorblind", 10)
    curves = [
        (name, label, simulated[simulated["policy"] == name]) for name, label in _NAMES.items()
    ]
    sss = simulated[simulated["policy"] == "sss"]
    curves += [
        (f"sss{c:g}", f"SSS, window {c:g} log(N)/N", rows)
        for c, rows in sss.groupby("window_multiplier")
    ]
    for k, (name, label, rows) in enumerate(curves):
        if name in ("online", "xie3", "xie5"):
            rows = regret[(regret["policy"] == name) & (regret["source"] == "exact")]
        rows = rows.sort_values("servers")
        style = "-" if name == "online" else "--" if name.startswith("sss") else "-."
        axis.errorbar(
            rows["servers"], rows["regret"], yerr=2 * rows["regret_se"].fillna(0.0),
            color=colours[k % 10], marker=_MARKERS[k % len(_MARKERS)], markersize=4,
            linestyle=style, linewidth=1.1, capsize=2, label=label,
        )  # fmt: skip
    axis.plot(
        single_use["servers"], single_use["gap"], color="black", linestyle=":", marker="x",
        markersize=4, label="single-use: hindsight minus online",
    )  # fmt: skip
    axis.set(xscale="log", yscale="log", xlabel="servers N", ylabel="regret per unit of time")
    axis.set_title("Regret against the fluid bound; bars two standard errors", loc="left")
    figure.legend(loc="outside right center", frameon=False, fontsize=8)
    return figure


def draw_decomposition(decomposition):
    """Draw the parts of the regret for every N, one panel per window multiplier.

    Parameters
    ----------
    decomposition : pandas.DataFrame
        Rows of `results/tables/regret_decomposition.csv`.
    """
    set_style()
    rows = decomposition[decomposition["c_vol"].notna()]
    multipliers = sorted(rows["window_multiplier"].unique())
    colours = sns.color_palette("colorblind", 4)
    figure, axes = plt.subplots(
        1, len(multipliers), figsize=(1.0 + 1.9 * len(multipliers), 3.9), sharey=True,
        squeeze=False, layout="constrained",
    )  # fmt: skip
    for axis, c in zip(axes[0], multipliers, strict=True):
        own = rows[rows["window_multiplier"] == c].sort_values("servers")
        x = np.arange(len(own))
        undecided = (own["c_long_high"] - own["c_long_low"]).clip(lower=0.0)
        floor = np.zeros(len(own))
        parts = [
            ("variability", own["c_vol"], colours[0], ""),
            ("long-term uncertainty (at least)", own["c_long_low"].clip(lower=0.0), colours[1], ""),
            ("long- or short-term", undecided, "0.85", "//"),
            (
                "short-term uncertainty (at least)",
                own["c_short_low"].clip(lower=0.0),
                colours[2],
                "",
            ),
        ]
        for label, height, colour, hatch in parts:
            axis.bar(
                x, height, bottom=floor, color=colour, hatch=hatch, edgecolor="white", label=label
            )
            floor = floor + height.to_numpy()
        axis.set_xticks(x, own["servers"], rotation=45)
        axis.set_title(f"window {c:g} log(N)/N", fontsize=9)
    axes[0, 0].set_ylabel("regret per unit of time")
    for axis in axes[0]:
        axis.set_xlabel("servers N")
        axis.set_ylim(top=1.05 * _online_regret(rows).max())
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False, fontsize=8)
    figure.suptitle("What the online optimum loses, and to what", fontsize=10)
    return figure


def _online_regret(decomposition):
    return decomposition["fluid"] - decomposition["online"]


def draw_knee(regret):
    """Draw regret against the window multiplier, one curve per N: how short a lookahead suffices.

    Parameters
    ----------
    regret : pandas.DataFrame
        Rows of `results/tables/regret.csv`.
    """
    set_style()
    rows = regret[(regret["policy"] == "sss") & (regret["source"] == "simulated")]
    exact = regret[(regret["policy"] == "online") & (regret["source"] == "exact")]
    colours = sns.color_palette("colorblind", 10)
    figure, axis = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
    for k, (servers, own) in enumerate(rows.groupby("servers")):
        own = own.sort_values("window_multiplier")
        axis.errorbar(
            own["window_multiplier"], own["regret"], yerr=2 * own["regret_se"].fillna(0.0),
            color=colours[k % 10], marker=_MARKERS[k], markersize=4, capsize=2, label=f"N = {servers}",
        )  # fmt: skip
        online = exact[exact["servers"] == servers]["regret"]
        axis.axhline(online.iloc[0], color=colours[k % 10], linewidth=0.8, linestyle=":")
    axis.set(xscale="log", yscale="log", ylabel="regret per unit of time")
    axis.set_xlabel("c, the lookahead window being c log(N)/N")
    axis.set_xticks(sorted(rows["window_multiplier"].unique()))
    axis.get_xaxis().set_major_formatter("{x:g}")
    axis.set_title("Regret of SSS by window; dotted: online optimum of the same N", loc="left")
    figure.legend(loc="outside right center", frameon=False)
    return figure


def draw_trajectory(trace, servers):
    """Draw the number of idle servers under several policies on one sample path.

    Parameters
    ----------
    trace : pandas.DataFrame
        Columns of `results/traces/loss/N{servers}.arrow`.
    servers : int
    """
    set_style()
    labels = [name.removeprefix("busy_") for name in trace.columns if name.startswith("busy_")]
    colours = sns.color_palette("colorblind", len(labels))
    time = trace["time"] - trace["time"].iloc[0]
    figure, axes = plt.subplots(
        len(labels), 1, figsize=(7.2, 1.0 + 1.5 * len(labels)), sharex=True, sharey=True,
        layout="constrained",
    )  # fmt: skip
    for axis, label, colour in zip(axes, labels, colours, strict=True):
        idle = servers - trace[f"busy_{label}"]
        axis.step(time, idle, where="post", color=colour, linewidth=0.8)
        lost = (trace["kind"] == 0) & (trace[f"decision_{label}"] == 0)
        axis.plot(
            time[lost], np.zeros(lost.sum()), "|", color="black", markersize=9,
            label="H job rejected",
        )  # fmt: skip
        axis.set_ylabel("idle servers")
        axis.set_title(f"{_title(label)}: mean idle {idle.mean():.2f}", loc="left", fontsize=9)
    axes[0].legend(loc="upper right", fontsize=8)
    axes[-1].set_xlabel("time (mean service times)")
    figure.suptitle(f"One sample path of N = {servers} servers under three policies", fontsize=10)
    return figure


def _title(label):
    name, _, multiplier = label.partition("_c")
    window = f", window {multiplier} log(N)/N" if multiplier else ""
    return _NAMES.get(name, name.upper()) + window
