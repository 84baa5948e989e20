"""The claims of the summary of Jia, Johari, Si and Zheng (arXiv 2605.29641) about A/B tests in queues.

Each function returns the evidence for one claim from the study's tables, over the scenarios it is about.
"""

import math

import pandas as pd

from queuebench.claims.verdicts import Claim, Evidence
from queuebench.tables.horizons import MAIN_HORIZON, at_main_horizon
from queuebench.tables.mse import CELL

SOURCE = "Jia, Johari, Si, Zheng, arXiv 2605.29641 (summary)"
_RIVALS = ("naive", "group", "qdq", "wdq", "switchback", "switchback_burn_in")
_SHORT = 10.0
_NEARLY_BEST = 1.25
_EQUAL = 0.01
_CLAIMS = []


def _claim(identifier, text):
    """Register the function that gathers the evidence for a claim."""

    def decorate(gather):
        _CLAIMS.append((Claim(identifier, text, SOURCE), gather))
        return gather

    return decorate


def ab_test_evidence(tables, families):
    """Return the claims about A/B tests with their evidence.

    Parameters
    ----------
    tables : dict of str to pandas.DataFrame
        ``mse``, ``crossover``, ``truth`` and ``diagnostics``.
    families : dict of str to list of str
        For every scenario the families it belongs to, see `queuebench.families`.

    Returns
    -------
    list of (Claim, list of Evidence)
    """
    # An A/A scenario has no effect, so no claim about effects is about it.
    families = {scenario: own for scenario, own in families.items() if "aa" not in own}
    return [(claim, gather(tables, families)) for claim, gather in _CLAIMS]


def _in(families, *wanted):
    return {scenario for scenario, own in families.items() if set(wanted) <= set(own)}


def _cells(mse, scenarios):
    """Yield place and rows, by estimator and design, of every cell of some scenarios."""
    rows = at_main_horizon(mse)
    rows = rows[rows["scenario"].isin(scenarios)]
    for key, cell in rows.groupby(CELL, sort=False):
        yield dict(zip(CELL, key, strict=True)), cell


def _row(cell, estimator):
    rows = cell[cell["estimator"] == estimator]
    return rows.iloc[0] if len(rows) else None


def _log_ratio(place, what, above, above_se, below, below_se, low, high):
    """Evidence about the ratio of two positive quantities with independent errors."""
    error = math.hypot(above_se / above, below_se / below)
    return Evidence(
        place, what, math.log(above / below), error, math.log(low) if low else -math.inf,
        math.log(high) if math.isfinite(high) else math.inf, logarithmic=True,
    )  # fmt: skip


@_claim("naive_underestimates", "The naive estimator underestimates the size of the effect.")
def _naive_underestimates(tables, families):
    found = []
    for place, cell in _cells(tables["mse"], families):
        naive = _row(cell, "naive")
        if naive is None or abs(naive["gte"]) < 4 * naive["gte_se"]:
            continue
        # Positive where the naive mean lies between zero and the effect; a wrong sign is no
        # underestimate.
        ratio = naive["mean"] / naive["gte"]
        error = abs(ratio) * math.hypot(
            naive["mean_se"] / naive["mean"], naive["gte_se"] / naive["gte"]
        )
        found.append(Evidence(place, "mean of naive over the effect", ratio, error, 0.0, 1.0))
    return found


@_claim(
    "same_queues",
    "Treated and control arrivals of a mixed system meet the same queues (the mechanism).",
)
def _same_queues(tables, families):
    rows = tables["diagnostics"]
    kinds = tables["mse"][tables["mse"]["estimator"] == "naive"]
    found = []
    for key, cell in rows[rows["design"].isin(kinds["design"])].groupby(CELL, sort=False):
        met = cell["in_system_treated"] / cell["in_system_control"] - 1.0
        found.append(
            Evidence(
                dict(zip(CELL, key, strict=True)),
                "number in system met by the treated over that met by the controls, minus one",
                met.mean(), met.std(ddof=1) / math.sqrt(len(met)), -_EQUAL, _EQUAL,
            )
        )  # fmt: skip
    return found


def _less_bias(estimator):
    def gather(tables, families):
        found = []
        for place, cell in _cells(tables["mse"], families):
            naive, own = _row(cell, "naive"), _row(cell, estimator)
            if naive is None or own is None:
                continue
            less = abs(naive["bias"]) - abs(own["bias"])
            error = math.hypot(naive["bias_se"], own["bias_se"])
            found.append(
                Evidence(
                    place, f"|bias| of naive minus that of {estimator}", less, error, 0.0, math.inf
                )
            )
        return found

    return gather


for _estimator in ("qdq", "wdq"):
    _claim(f"{_estimator}_less_bias", f"{_estimator} has less bias than naive.")(
        _less_bias(_estimator)
    )


@_claim("dq_spread", "The standard deviation of qdq and wdq is 50 to 500 times that of naive.")
def _dq_spread(tables, families):
    found = []
    for place, cell in _cells(tables["mse"], families):
        naive = _row(cell, "naive")
        for name in ("qdq", "wdq"):
            own = _row(cell, name)
            if naive is not None and own is not None:
                found.append(_spread(place, own, naive, 50.0, 500.0))
    return found


@_claim(
    "mixing_cuts_spread",
    "In homogeneous systems mixing cuts the standard deviation of qdq and wdq by a factor of 2 to 5.",
)
def _mixing_cuts_spread(tables, families):
    found = []
    for place, cell in _cells(tables["mse"], _in(families, "homogeneous")):
        mixed = _row(cell, "mixed_dq")
        for name in ("qdq", "wdq"):
            own = _row(cell, name)
            if mixed is not None and own is not None:
                found.append(_spread(place, own, mixed, 2.0, 5.0))
    return found


def _spread(place, above, below, low, high):
    what = f"sd of {above['estimator']} over that of {below['estimator']}"
    return _log_ratio(
        place, what, above["sd"], above["sd_se"], below["sd"], below["sd_se"], low, high
    )


def _lowest_mse(tables, scenarios, rivals=_RIVALS):
    found = []
    for place, cell in _cells(tables["mse"], scenarios):
        mixed = _row(cell, "mixed_dq")
        if mixed is None:
            continue
        for _, rival in cell[cell["estimator"].isin(rivals)].iterrows():
            what = f"MSE of {rival['estimator']} ({rival['design']}) over that of mixed_dq"
            found.append(
                _log_ratio(
                    place, what, rival["mse"], rival["mse_se"], mixed["mse"], mixed["mse_se"],
                    1.0, math.inf,
                )
            )  # fmt: skip
    return found


@_claim(
    "mixed_lowest_mse",
    "Mixed DQ has the lowest MSE of naive, group, qdq, wdq and switchback at the study's length.",
)
def _mixed_lowest_mse(tables, families):
    return _lowest_mse(tables, families)


@_claim(
    "mixed_lowest_mse_heavy_tails", "Mixed DQ has the lowest MSE under heavy-tailed service times."
)
def _mixed_lowest_mse_heavy_tails(tables, families):
    return _lowest_mse(tables, _in(families, "heavy_tailed"))


@_claim("mixed_lowest_mse_delay", "Mixed DQ has the lowest MSE under communication delay.")
def _mixed_lowest_mse_delay(tables, families):
    return _lowest_mse(tables, _in(families, "delayed"))


@_claim(
    "mixed_beats_switchback_periodic",
    "Under periodic arrivals mixed DQ has a lower MSE than switchback designs.",
)
def _mixed_beats_switchback(tables, families):
    rivals = ("switchback", "switchback_burn_in")
    return _lowest_mse(tables, _in(families, "nonstationary"), rivals)


@_claim(
    "mixed_lowest_mse_eventually",
    "From some length of the experiment on, mixed DQ has the lowest MSE.",
)
def _mixed_lowest_eventually(tables, families):
    """As the length grows only squared bias is left: the rival's must be the larger one."""
    found = []
    for place, cell in _cells(tables["mse"], families):
        mixed = _row(cell, "mixed_dq")
        if mixed is None:
            continue
        for _, rival in cell[cell["estimator"].isin(_RIVALS)].iterrows():
            less = abs(rival["bias"]) - abs(mixed["bias"])
            error = math.hypot(rival["bias_se"], mixed["bias_se"])
            what = f"|bias| of {rival['estimator']} ({rival['design']}) minus that of mixed_dq"
            found.append(Evidence(place, what, less, error, 0.0, math.inf))
    return found


@_claim(
    "horizon_30",
    "A horizon of 30 mean service times is a good compromise: mixed DQ's RMSE there is at most 1.25 "
    "times its least over the horizons.",
)
def _horizon_30(tables, families):
    found = []
    for place, rows in _horizons(tables["mse"], "mixed_dq"):
        main = rows[rows["horizon"] == MAIN_HORIZON].iloc[0]
        for _, other in rows[rows["horizon"] != MAIN_HORIZON].iterrows():
            found.append(
                _log_ratio(
                    place, f"MSE at horizon 30 over that at {other['horizon']:g}",
                    main["mse"], main["mse_se"], other["mse"], other["mse_se"],
                    0.0, _NEARLY_BEST**2,
                )
            )  # fmt: skip
    return found


@_claim(
    "mixing_converges_sooner",
    "At a short horizon (10 mean service times) mixed DQ has less bias than qdq and wdq.",
)
def _mixing_converges_sooner(tables, families):
    found = []
    mixed = {tuple(place.values()): rows for place, rows in _horizons(tables["mse"], "mixed_dq")}
    for name in ("qdq", "wdq"):
        for place, rows in _horizons(tables["mse"], name):
            own = mixed[tuple(place.values())]
            own, rival = (r[r["horizon"] == _SHORT] for r in (own, rows))
            if len(own) and len(rival):
                own, rival = own.iloc[0], rival.iloc[0]
                found.append(
                    Evidence(
                        place, f"|bias| of {name} minus that of mixed_dq at horizon 10",
                        abs(rival["bias"]) - abs(own["bias"]),
                        math.hypot(rival["bias_se"], own["bias_se"]), 0.0, math.inf,
                    )
                )  # fmt: skip
    return found


def _horizons(mse, estimator):
    """Yield place and rows of an estimator in every cell that has several horizons, 30 among them."""
    for key, rows in mse[mse["estimator"] == estimator].groupby(CELL, sort=False):
        if len(rows) > 1 and (rows["horizon"] == MAIN_HORIZON).any():
            yield dict(zip(CELL, key, strict=True)), rows


@_claim(
    "little",
    "By Little's law the effect on response times equals the effect on queue lengths over the arrival rate.",
)
def _little(tables, families):
    found = []
    for _, row in tables["truth"].iterrows():
        if pd.isna(row["gte_queue"]):
            continue
        place = {key: row[key] for key in CELL}
        error = row["little_se"] / row["response_control"]
        difference = (row["gte_queue"] - row["gte"]) / row["response_control"]
        found.append(
            Evidence(
                place, "difference of the two effects over the control's mean response", difference,
                error, -_EQUAL, _EQUAL,
            )
        )  # fmt: skip
    return found
