"""From the rows of single paths to estimates over replicates.

Rows are plain dicts, as `run_path` returns them; groups keep the order in which they first appear.
"""

import math

from queuebench.loss_network.epochs import EpochSums, epoch_products, renewal_regret
from queuebench.loss_network.model import LossNetwork
from queuebench.loss_network.online import online_optimum, trunk_reservation
from queuebench.loss_network.policies import policies
from queuebench.loss_network.regret import ratio_estimate

_KEYS = ("servers", "policy", "window_multiplier")
_PER_EPOCH = {
    "mean_length": "length",
    "rejected_high": "rejected_high",
    "wasted_ticks": "wasted_ticks",
    "recovered": "recovered",
}


def summarise_regret(rows):
    """Regret over replicates: ratio estimates and standard errors, per policy and window.

    Parameters
    ----------
    rows : iterable of dict
        Regret rows of any number of networks and replicates.

    Returns
    -------
    list of dict
        Keys `servers`, `policy`, `window_multiplier`; `source` ("simulated"); `window`,
        `threshold`; per unit time `regret`, `rejected_high`, `wasted_ticks`, `accepted_low`, each
        with its standard error across replicates (`*_se`, NaN for one); `regret_batch_se` from
        batch means within the paths; `mean_idle`; for ``offline`` also `rejected_high_opposite` and
        `wasted_ticks_opposite` (None otherwise), all three with `*_se` too; `replicates`.
    """
    groups = _group(rows)
    table = []
    for key, group in groups.items():
        durations = [row["duration"] for row in group]
        summary = dict(zip(_KEYS, key, strict=True), source="simulated")
        summary |= {name: group[0][name] for name in ("window", "threshold")}
        for name in ("regret", "rejected_high", "wasted_ticks", "accepted_low"):
            scale = durations if name == "regret" else [1] * len(group)
            totals = [row[name] * unit for row, unit in zip(group, scale, strict=True)]
            summary[name], summary[f"{name}_se"] = ratio_estimate(totals, durations)
        errors = [row["regret_batch_se"] * row["duration"] for row in group]
        summary["regret_batch_se"] = math.hypot(*errors) / sum(durations)
        idle = [row["mean_idle"] * row["duration"] for row in group]
        summary["mean_idle"], summary["mean_idle_se"] = ratio_estimate(idle, durations)
        opposite = groups.get((key[0], f"{key[1]}_opposite", key[2]), ())
        spent = [row["duration"] for row in opposite]
        for name in ("rejected_high", "wasted_ticks"):
            lost = [row[name] for row in opposite]
            rate, error = ratio_estimate(lost, spent) if opposite else (None, None)
            summary |= {f"{name}_opposite": rate, f"{name}_opposite_se": error}
        summary["replicates"] = len(group)
        table.append(summary)
    return table


def exact_rows(network: LossNetwork):
    """Rows like those of `summarise_regret` for every policy whose regret is known exactly.

    Returns
    -------
    list of dict
        With `source` "exact" and standard errors of zero.
    """
    table = []
    for name, entry in policies().items():
        if entry.lookahead != "none":
            continue
        if name == "online":
            exact = online_optimum(network)
        else:
            exact = trunk_reservation(network, entry.threshold(network))
        row = {"servers": network.servers, "policy": name, "window_multiplier": None}
        row |= {"source": "exact", "window": None, "threshold": exact.threshold}
        for column in ("regret", "rejected_high", "wasted_ticks", "accepted_low"):
            row |= {column: getattr(exact, column), f"{column}_se": 0.0}
        row |= {"regret_batch_se": 0.0, "mean_idle": exact.wasted_ticks / network.service_rate}
        row |= {"mean_idle_se": 0.0}
        for column in ("rejected_high_opposite", "wasted_ticks_opposite"):
            row |= {column: None, f"{column}_se": None}
        row |= {"replicates": None}
        table.append(row)
    return table


def summarise_errors(rows):
    """Admission errors over replicates, as shares of all ``L`` arrivals.

    Parameters
    ----------
    rows : iterable of dict
        Error rows of any number of networks and replicates.

    Returns
    -------
    list of dict
        Keys `servers`, `policy`, `window_multiplier`; `type_1`, `type_2` and `forced_refusals`,
        each with its standard error across replicates (`*_se`); `low_arrivals`, `replicates`.
    """
    table = []
    for key, group in _group(rows).items():
        arrivals = [row["low_arrivals"] for row in group]
        summary = dict(zip(_KEYS, key, strict=True))
        for name in ("type_1", "type_2", "forced_refusals"):
            counts = [row[name] for row in group]
            summary[name], summary[f"{name}_se"] = ratio_estimate(counts, arrivals)
        table.append(summary | {"low_arrivals": sum(arrivals), "replicates": len(group)})
    return table


def summarise_epochs(network, rows):
    """Epoch statistics over replicates, with the renewal-reward estimate of regret.

    Parameters
    ----------
    network : LossNetwork
        The rewards are used; rows of any number of servers may be given.
    rows : iterable of dict
        Epoch rows.

    Returns
    -------
    list of dict
        Keys `servers`, `policy`, `window_multiplier`; `epochs`, `mean_length` (time);
        `rejected_high` and `wasted_ticks` per epoch; `recovered`, the share of epochs that reach
        ``floor(sqrt(N))`` idle; `regret_renewal`, `regret_renewal_se`; `lag_correlation` of
        neighbouring epochs and `independent` (whether theory has it at zero: no lookahead). NaN
        where there are no epochs. Standard errors (`*_se`) are across replicates, but for that of
        `regret_renewal`, which is across epochs.
    """
    known = policies()
    table = []
    for key, group in _group(rows).items():
        sums = _epoch_sums(group)
        renewal = renewal_regret(network, sums)
        summary = dict(zip(_KEYS, key, strict=True), epochs=sums.epochs)
        counts = [row["epochs"] for row in group]
        for column, name in _PER_EPOCH.items():
            mean, error = _ratio([row[name] for row in group], counts)
            summary |= {column: mean, f"{column}_se": error}
        products = [epoch_products(_epoch_sums([row]), renewal.regret) for row in group]
        summary |= {
            "regret_renewal": renewal.regret,
            "regret_renewal_se": renewal.regret_se,
            "lag_correlation": renewal.lag_correlation,
            "lag_correlation_se": _ratio(*zip(*products, strict=True))[1],
            "independent": known[key[1]].lookahead == "none",
        }
        table.append(summary)
    return table


def _epoch_sums(rows):
    return EpochSums(*(sum(row[name] for row in rows) for name in EpochSums._fields))


def _ratio(totals, weights):
    """Return a ratio over replicates and its standard error; NaN where there is nothing to divide by."""
    return ratio_estimate(totals, weights) if sum(weights) > 0 else (math.nan, math.nan)


def _group(rows):
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in _KEYS), []).append(row)
    return groups
