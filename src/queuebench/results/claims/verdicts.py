"""Verdicts: from measured values with errors to reproduced, not reproduced or inconclusive.

A claim says that a quantity lies in an interval. In one place (a cell, perhaps against one rival) it is
supported if the quantity is significantly inside, and contradicted if it is significantly outside; a
claim about several places stands only if it is supported in all of them and falls if it is contradicted
in any, with Holm's correction over the places.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

LEVEL = 0.95
REPRODUCED, NOT_REPRODUCED, INCONCLUSIVE = "reproduced", "not reproduced", "inconclusive"


@dataclass(frozen=True)
class Claim:
    """A claim of a paper.

    Attributes
    ----------
    id : str
        Short and stable.
    text : str
        What is claimed, in one sentence.
    source : str
        Where.
    """

    id: str
    text: str
    source: str


@dataclass(frozen=True)
class Evidence:
    """A measured quantity and the interval a claim puts it in.

    Attributes
    ----------
    place : dict
        Keys of the claims table, for example scenario and load.
    what : str
        What was measured, in words; against which rival, if any.
    value, error : float
        On the scale of the test: of the quantity itself, or of its logarithm.
    low, high : float
        The interval the claim asks for, on the same scale.
    logarithmic : bool
        Whether the scale is logarithmic; tables show the quantity itself.
    """

    place: dict
    what: str
    value: float
    error: float
    low: float
    high: float
    logarithmic: bool = False

    @property
    def p_support(self):
        """Chance of looking at least so much inside the interval if the quantity were not in it."""
        return max(self._above(self.low), self._above(self.high, -1.0))

    @property
    def p_against(self):
        """Chance of looking at least so far outside the interval if the quantity were just in it."""
        return 1.0 - self.p_support

    def _above(self, bound, sign=1.0):
        """P-value of "not beyond the bound", small where the value is clearly on the right side."""
        if math.isinf(bound):
            return 0.0
        if not math.isfinite(self.value) or math.isnan(self.error):
            return 0.5
        distance = sign * (self.value - bound)
        if self.error == 0.0:
            return 0.0 if distance > 0 else 1.0
        return float(stats.norm.sf(distance / self.error))

    @property
    def interval(self):
        """The 95 % confidence interval of the quantity itself."""
        reach = stats.norm.ppf((1 + LEVEL) / 2) * self.error
        ends = (self.value, self.value - reach, self.value + reach)
        return tuple(math.exp(end) if self.logarithmic else end for end in ends)


def holm(p_values):
    """Return p-values with Holm's correction for their number."""
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p, kind="stable")
    steps = (len(p) - np.arange(len(p))) * p[order]
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return adjusted


def judge(evidence):
    """Return the verdict on a claim from evidence of one or several places.

    Parameters
    ----------
    evidence : list of Evidence
        At least one.

    Returns
    -------
    str
        ``reproduced`` if every place supports it, ``not reproduced`` if one contradicts it, each at
        a one-sided level of 2.5 % after Holm's correction; else ``inconclusive``.
    """
    alpha = (1 - LEVEL) / 2
    if np.any(holm([item.p_against for item in evidence]) < alpha):
        return NOT_REPRODUCED
    if np.all(holm([item.p_support for item in evidence]) < alpha):
        return REPRODUCED
    return INCONCLUSIVE


def claim_rows(claim, evidence):
    """Return the rows of a claim: one per place, and one overall.

    Parameters
    ----------
    claim : Claim
    evidence : list of Evidence
        Several of one place (against several rivals, say) are judged together; the row shows the one
        that is the least favourable to the claim.

    Returns
    -------
    list of dict
        Empty if there is no evidence.
    """
    if not evidence:
        return []
    places = {}
    for item in evidence:
        places.setdefault(tuple(item.place.items()), []).append(item)
    verdicts = [judge(items) for items in places.values()]
    rows = []
    for items, verdict in zip(places.values(), verdicts, strict=True):
        worst = max(items, key=lambda item: item.p_support)
        measured, lower, upper = worst.interval
        rows.append(
            _row(claim, worst.place, verdict, worst.what)
            | {"measured": measured, "lower": lower, "upper": upper}
        )
    counts = ", ".join(
        f"{verdicts.count(kind)} {kind}"
        for kind in (REPRODUCED, NOT_REPRODUCED, INCONCLUSIVE)
        if kind in verdicts
    )
    return [_row(claim, {}, judge(evidence), f"{len(places)} places: {counts}"), *rows]


def _row(claim, place, verdict, evidence):
    return {
        "id": claim.id,
        "claim": claim.text,
        "source": claim.source,
        "where": ", ".join(f"{key} {_short(value)}" for key, value in place.items()) or "overall",
        "verdict": verdict,
        "evidence": evidence,
    }


def _short(value):
    return f"{value:g}" if isinstance(value, float) else str(value)
