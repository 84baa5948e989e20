"""What an estimator of the slope becomes under a design of several shares."""

from functools import wraps

from queuebench.estimators.common.quadrature import quadrature
from queuebench.estimators.common.registry import all_estimators, register
from queuebench.estimators.common.share_curve import share_curve

_KEPT = (
    "uses_horizon", "observed_costs", "needs_choices", "needs_constant_rate", "nanoseconds", "exact",
    "usual",
)  # fmt: skip


def over_shares(*, levels: bool = False, rank: int = 0, **attributes):
    """Return a decorator that registers, after an estimator of the slope, what it gives over several shares.

    It stands above `register`. The estimator's name with ``_quadrature`` behind it is that of the weighted
    sum of its slopes (`queuebench.estimators.common.quadrature`), with ``_with_levels`` that of the curve
    fitted to levels and slopes (`queuebench.estimators.common.share_curve`).

    Parameters
    ----------
    levels : bool
        Whether the second is registered too.
    rank : int
        Of the second, or where there is none of the first, among those that may stand for a log.
    **attributes
        Of `queuebench.estimators.common.registry.Estimator`, where they are not those of the slope's.
    """

    def decorate(function):
        (entry,) = (entry for entry in all_estimators() if entry.function is function)
        given = {name: getattr(entry, name) for name in _KEPT}
        assumes = (entry.assumes - {"constant_share"}) | {"polynomial_in_share"}
        given |= {"design": "shares", "estimand": "effect", "assumes": assumes} | attributes
        first = given if levels else given | {"rank": rank}
        register(f"{entry.name}_quadrature", **first)(_named(function, quadrature))
        if levels:
            register(f"{entry.name}_with_levels", **given | {"exact": "", "rank": rank})(
                _named(function, _with_levels)
            )
        return function

    return decorate


def _named(function, of_shares):
    """Return what is made of a slope as a function of that slope's module, whose edits change it too."""

    @wraps(function)
    def estimate(record, horizon=None):
        return of_shares(function, record, horizon)

    return estimate


def _with_levels(function, record, horizon):
    return share_curve(record, function, horizon).estimate
