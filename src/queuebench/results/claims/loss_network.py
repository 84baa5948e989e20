"""The claims of the summary of Bray (arXiv 2601.14538) about lookahead in the overloaded loss network.

Growth is measured as the slope against log N over the three largest numbers of servers, as a share of the
online optimum's own slope there: "bounded" asks for less than a quarter of it.
"""

import math

from queuebench.loss_network.slopes import log_slope
from queuebench.results.claims.verdicts import Claim, Evidence

SOURCE = "Bray, arXiv 2601.14538 (summary)"
_LARGEST = 3
_BOUNDED = 0.25
_CLAIMS = []


def _claim(identifier, text, source=SOURCE):
    def decorate(gather):
        _CLAIMS.append((Claim(identifier, text, source), gather))
        return gather

    return decorate


def loss_evidence(tables):
    """Return the claims about the loss network with their evidence.

    Parameters
    ----------
    tables : dict of str to pandas.DataFrame
        ``regret``, ``regret_decomposition`` and ``single_use``.

    Returns
    -------
    list of (Claim, list of Evidence)
        No evidence where fewer than three numbers of servers were studied.
    """
    if tables["regret"]["servers"].nunique() < _LARGEST:
        return [(claim, []) for claim, _ in _CLAIMS]
    return [(claim, gather(tables)) for claim, gather in _CLAIMS]


def _online(tables, servers=None):
    """Return the exact regret of the online optimum by number of servers."""
    regret = tables["regret"]
    rows = regret[(regret["policy"] == "online") & (regret["source"] == "exact")]
    curve = rows.set_index("servers")["regret"].sort_index()
    return curve if servers is None else curve.loc[list(servers)]


def _relative_slope(tables, what, curve, errors, low, high):
    """Evidence about a slope against log N over the largest N, in units of the online optimum's."""
    curve = curve.dropna().sort_index().iloc[-_LARGEST:]
    if len(curve) < _LARGEST:
        return []
    errors = errors.loc[curve.index]
    positive = bool((errors > 0).all())
    online = _online(tables, curve.index)
    scale = log_slope(online.index, online)[0]
    slope, error = log_slope(curve.index, curve, errors if positive else None)
    place = {"servers": f"{curve.index[0]} to {curve.index[-1]}"}
    what = f"slope of {what} against log N over the online optimum's slope"
    return [Evidence(place, what, slope / scale, error / scale, low, high)]


def _part(tables, name, multiplier):
    rows = tables["regret_decomposition"]
    rows = rows[rows["window_multiplier"] == multiplier].set_index("servers")
    return rows[name], rows[f"{name}_se"].fillna(0.0)


def _multipliers(tables):
    return sorted(tables["regret_decomposition"]["window_multiplier"].unique())


@_claim("online_log", "The online optimum's regret grows like log N: its slope is positive.")
def _online_log(tables):
    """Exact values: the error of the slope measures the departure from a straight line."""
    curve = _online(tables)
    slope, error = log_slope(curve.index, curve)
    place = {"servers": f"{curve.index[0]} to {curve.index[-1]}"}
    return [Evidence(place, "slope of regret against log N", slope, error, 0.0, math.inf)]


@_claim("variability_bounded", "The cost of variability C_vol is bounded as N grows.")
def _variability_bounded(tables):
    c_vol, error = _part(tables, "c_vol", _multipliers(tables)[-1])
    found = _relative_slope(tables, "C_vol", c_vol, error, -math.inf, _BOUNDED)
    regret = tables["regret"]
    pfi = regret[(regret["policy"] == "pfi") & (regret["source"] == "simulated")]
    pfi = pfi.set_index("servers")
    return found + _relative_slope(
        tables,
        "PFI's regret, which bounds C_vol,",
        pfi["regret"],
        pfi["regret_se"],
        -math.inf,
        _BOUNDED,
    )


@_claim(
    "long_term_bounded",
    "The cost of long-term uncertainty C_long is bounded once the window is c log(N)/N with c large "
    "enough (the largest of the grid; upper bracket).",
)
def _long_term_bounded(tables):
    return _relative_slope(
        tables,
        "C_long",
        *_part(tables, "c_long_high", _multipliers(tables)[-1]),
        -math.inf,
        _BOUNDED,
    )


@_claim(
    "short_window_unbounded",
    "With a window too short (the smallest c) the regret of SSS grows, and faster than log N.",
)
def _short_window_unbounded(tables):
    regret = tables["regret"]
    rows = regret[(regret["policy"] == "sss") & (regret["source"] == "simulated")]
    rows = rows[rows["window_multiplier"] == rows["window_multiplier"].min()].set_index("servers")
    return _relative_slope(
        tables, "SSS's regret at the smallest c", rows["regret"], rows["regret_se"], 1.0, math.inf
    )


@_claim(
    "short_term_log",
    "The cost of short-term uncertainty C_short grows like log N (lower bracket, largest c): its slope "
    "is half to one and a half times the online optimum's.",
)
def _short_term_log(tables):
    return _relative_slope(
        tables, "C_short", *_part(tables, "c_short_low", _multipliers(tables)[-1]), 0.5, 1.5
    )


@_claim(
    "regret_is_uncertainty",
    "The growth of the regret against the fluid bound is due to uncertainty: of its slope at least "
    "three quarters is C_long + C_short.",
)
def _regret_is_uncertainty(tables):
    c_vol, error = _part(tables, "c_vol", _multipliers(tables)[-1])
    c_vol = c_vol.dropna()
    if len(c_vol) == 0:
        return []
    uncertainty = _online(tables, c_vol.index) - c_vol
    return _relative_slope(tables, "C_long + C_short", uncertainty, error, 1 - _BOUNDED, math.inf)


@_claim(
    "single_use_bounded",
    "With single-use resources the gap between hindsight and online stays bounded.",
)
def _single_use_bounded(tables):
    gap = tables["single_use"].set_index("servers")["gap"]
    return _relative_slope(tables, "the single-use gap", gap, gap * 0.0, -math.inf, _BOUNDED)
