"""The claims of the summary of Jia, Johari, Si and Zheng (arXiv 2605.29641) about A/B tests in queues.

Each function returns the evidence for one claim from the study's tables, over the scenarios it is about.
"""

import math

from queuebench.results.claims.comparison import (
    difference,
    log_mse,
    log_sd,
    relative_mean,
    samples,
    size_of_bias,
    with_error,
)
from queuebench.results.claims.verdicts import Claim, Evidence
from queuebench.results.tables.rows import CELL

SOURCE = "Jia, Johari, Si, Zheng, arXiv 2605.29641 (summary)"
_RIVALS = ("baseline", "halves", "queue_cost", "response_cost", "blocks", "later_blocks")
_SHORT = 10.0
_CLAIMED = 30.0
"""The horizons the claims are about, in mean service times, whichever the study's main one is."""
_NEARLY_BEST = 1.25
_EQUAL = 0.01
_CLAIMS = []


def _claim(identifier, text):
    """Register the function that gathers the evidence for a claim."""

    def decorate(gather):
        _CLAIMS.append((Claim(identifier, text, SOURCE), gather))
        return gather

    return decorate


def ab_test_evidence(tables, families, roles):
    """Return the claims about A/B tests with their evidence.

    Parameters
    ----------
    tables : dict of str to pandas.DataFrame
        ``estimates``, ``truth`` and ``diagnostics``.
    families : dict of str to list of str
        For every scenario the families it belongs to, see `queuebench.study.families`.

    roles : dict of str to str
        Estimator by role, see `queuebench.estimators.common.registry.ROLES`.

    Returns
    -------
    list of (Claim, list of Evidence)
    """
    # An A/A scenario has no effect, so no claim about effects is about it.
    families = {scenario: own for scenario, own in families.items() if "aa" not in own}
    tables = tables | {"samples": samples(tables["estimates"], tables["truth"], roles)}
    return [(claim, gather(tables, families)) for claim, gather in _CLAIMS]


def _in(families, *wanted):
    return {scenario for scenario, own in families.items() if set(wanted) <= set(own)}


def _cells(tables, scenarios):
    """Yield place and samples at the main horizon of every cell of some scenarios."""
    places = {}
    for sample in tables["samples"]:
        if sample.main and sample.place["scenario"] in scenarios:
            places.setdefault(tuple(sample.place.items()), []).append(sample)
    for place, cell in places.items():
        yield dict(place), cell


def _in_role(cell, role):
    return next((sample for sample in cell if sample.role == role), None)


def _log_ratio(what, statistic, above, below, low, high):
    """Evidence about the ratio of two positive quantities, by the difference of their logarithms."""
    value, error = difference(statistic, above, below)
    return Evidence(
        above.place, what, value, error, math.log(low) if low else -math.inf,
        math.log(high) if math.isfinite(high) else math.inf, logarithmic=True,
    )  # fmt: skip


def _less_bias_than(rival, own, at=""):
    """Evidence that one estimator's bias is smaller than another's."""
    less, error = difference(size_of_bias, rival, own)
    design = "" if rival.design == own.design else f" ({rival.design})"
    what = f"|bias| of {rival.estimator}{design} minus that of {own.estimator}{at}"
    return Evidence(own.place, what, less, error, 0.0, math.inf)


@_claim("naive_underestimates", "The naive estimator underestimates the size of the effect.")
def _naive_underestimates(tables, families):
    found = []
    for place, cell in _cells(tables, families):
        naive = _in_role(cell, "baseline")
        if naive is None or abs(naive.gte) <= 4 * naive.gte_se:
            continue
        # Positive where the naive mean lies between zero and the effect; a wrong sign is no
        # underestimate.
        ratio, error = with_error(relative_mean, naive)
        found.append(Evidence(place, "mean of naive over the effect", ratio, error, 0.0, 1.0))
    return found


@_claim(
    "same_queues",
    "Treated and control arrivals of a mixed system meet the same queues (the mechanism).",
)
def _same_queues(tables, families):
    rows = tables["diagnostics"]
    mixed = {sample.design for sample in tables["samples"] if sample.role == "baseline"}
    found = []
    for key, cell in rows[rows["design"].isin(mixed)].groupby(CELL, sort=False):
        met = cell["in_system_treated"] / cell["in_system_control"] - 1.0
        found.append(
            Evidence(
                dict(zip(CELL, key, strict=True)),
                "number in system met by the treated over that met by the controls, minus one",
                met.mean(), met.std(ddof=1) / math.sqrt(len(met)), -_EQUAL, _EQUAL,
            )
        )  # fmt: skip
    return found


def _less_bias(role):
    def gather(tables, families):
        found = []
        for _, cell in _cells(tables, families):
            naive, own = _in_role(cell, "baseline"), _in_role(cell, role)
            if naive is not None and own is not None:
                found.append(_less_bias_than(naive, own))
        return found

    return gather


_claim("qdq_less_bias", "qdq has less bias than naive.")(_less_bias("queue_cost"))
_claim("wdq_less_bias", "wdq has less bias than naive.")(_less_bias("response_cost"))


def _spreads(tables, scenarios, below, low, high):
    """Evidence about the standard deviation of qdq and wdq over that of another estimator."""
    found = []
    for _, cell in _cells(tables, scenarios):
        other = _in_role(cell, below)
        for role in ("queue_cost", "response_cost"):
            own = _in_role(cell, role)
            if other is not None and own is not None:
                what = f"sd of {own.estimator} over that of {other.estimator}"
                found.append(_log_ratio(what, log_sd, own, other, low, high))
    return found


@_claim("dq_spread", "The standard deviation of qdq and wdq is 50 to 500 times that of naive.")
def _dq_spread(tables, families):
    return _spreads(tables, families, "baseline", 50.0, 500.0)


@_claim(
    "mixing_cuts_spread",
    "In homogeneous systems mixing cuts the standard deviation of qdq and wdq by a factor of 2 to 5 "
    "(a larger cut meets the claim too).",
)
def _mixing_cuts_spread(tables, families):
    return _spreads(tables, _in(families, "homogeneous"), "mixture", 2.0, math.inf)


def _lowest_mse(tables, scenarios, rivals=_RIVALS):
    found = []
    for _, cell in _cells(tables, scenarios):
        mixed = _in_role(cell, "mixture")
        for rival in cell:
            if mixed is not None and rival.role in rivals:
                what = f"MSE of {rival.estimator} ({rival.design}) over that of {mixed.estimator}"
                found.append(_log_ratio(what, log_mse, rival, mixed, 1.0, math.inf))
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
    rivals = ("blocks", "later_blocks")
    return _lowest_mse(tables, _in(families, "nonstationary"), rivals)


@_claim(
    "mixed_lowest_mse_eventually",
    "From some length of the experiment on, mixed DQ has the lowest MSE.",
)
def _mixed_lowest_eventually(tables, families):
    """As the length grows only squared bias is left: the rival's must be the larger one."""
    found = []
    for _, cell in _cells(tables, families):
        mixed = _in_role(cell, "mixture")
        if mixed is not None:
            rivals = (rival for rival in cell if rival.role in _RIVALS)
            found += [_less_bias_than(rival, mixed) for rival in rivals]
    return found


@_claim(
    "horizon_30",
    "A horizon of 30 mean service times is a good compromise: mixed DQ's RMSE there is at most 1.25 "
    "times its least over the horizons.",
)
def _horizon_30(tables, families):
    found = []
    for horizons in _by_horizon(tables, families, "mixture").values():
        claimed = horizons.pop(_CLAIMED, None)
        for horizon, other in horizons.items() if claimed else ():
            what = f"MSE at horizon 30 over that at {horizon:g}"
            found.append(_log_ratio(what, log_mse, claimed, other, 0.0, _NEARLY_BEST**2))
    return found


@_claim(
    "mixing_converges_sooner",
    "At a short horizon (10 mean service times) mixed DQ has less bias than qdq and wdq.",
)
def _mixing_converges_sooner(tables, families):
    found = []
    mixed = _by_horizon(tables, families, "mixture")
    for role in ("queue_cost", "response_cost"):
        for key, rivals in _by_horizon(tables, families, role).items():
            own, rival = mixed.get(key, {}).get(_SHORT), rivals.get(_SHORT)
            if own and rival:
                found.append(_less_bias_than(rival, own, " at horizon 10"))
    return found


def _by_horizon(tables, scenarios, role):
    """Return the samples of the estimator in a role by horizon, of every cell and design that has several."""
    cells = {}
    for sample in tables["samples"]:
        if sample.role == role and sample.place["scenario"] in scenarios:
            key = (*sample.place.values(), sample.design)
            cells.setdefault(key, {})[sample.horizon] = sample
    return {key: horizons for key, horizons in cells.items() if len(horizons) > 1}


@_claim(
    "little",
    "By Little's law the effect on response times equals the effect on queue lengths over the arrival rate.",
)
def _little(tables, families):
    found = []
    for _, row in tables["truth"].iterrows():
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
