"""One sample path, every policy: the unit of work of the loss-network study."""

import math
from typing import NamedTuple

import numpy as np

from queuebench.loss_network.epochs import find_epochs, sum_epochs
from queuebench.loss_network.errors import admission_errors
from queuebench.loss_network.events import draw_events, measured_span
from queuebench.loss_network.path import count_path
from queuebench.loss_network.policies import policies, policy
from queuebench.loss_network.policies.promise import promise_bounds
from queuebench.loss_network.regret import batch_means, mean_idle, path_regret
from queuebench.loss_network.relaxation import lookahead_gain_bound


class PathRows(NamedTuple):
    """What one path yields: four lists of plain dicts with the same keys.

    Attributes
    ----------
    regret : list of dict
        `servers`, `policy`, `window_multiplier` (None without a window), `replicate`; `window`
        (time), `threshold` (number idle, or None), `regret` (per unit time, boundary term
        included), the counts `rejected_high`, `wasted_ticks`, `accepted_low`, `busy_start`,
        `busy_end`, the measured `duration`, `regret_batch_se` (batch means) and `mean_idle`.
    errors : list of dict
        The keys; counts `low_arrivals`, `type_1`, `type_2`, `forced_refusals`. Judged policies
        only.
    epochs : list of dict
        The keys; the fields of `EpochSums`.
    bounds : list of dict
        The keys but `policy`; `window`, `duration` and `gain_bound`, per unit time: in the mean at
        least what the window adds to the online optimum's reward rate.
    """

    regret: list
    errors: list
    epochs: list
    bounds: list


def run_path(
    network,
    replicate,
    seed,
    count,
    multipliers,
    names=None,
    reach=None,
    bound_reach=(4096, 2),
    batches=20,
) -> PathRows:
    """Run every policy and window on one event list.

    Parameters
    ----------
    network : LossNetwork
    replicate, seed : int
        The replicate's number and the study's seed; they and the number of servers fix the list.
    count : int
        Number of events, at least `required_events`.
    multipliers : sequence of float
        Grid of window multipliers ``c``, ``W = c*log(N)/N``. The largest also counts for what is
        dropped at each end, so it must be the same grid for all that is compared.
    names : sequence of str, optional
        Policies to run; all by default.
    reach : mapping of str to (int or None, float or None), optional
        Per policy the most servers and the largest multiplier it is run at; None is no limit.
    bound_reach : (int or None, float or None), optional
        The same for the upper bound on a window's worth, whose cost grows with the number of
        servers times the window's events and which beats the offline optimum at small windows only.
        ``(0, None)`` leaves it out.
    batches : int, optional
        Batches within the path, for `regret_batch_se`.

    Raises
    ------
    ValueError
        If a policy is unknown, a window is not positive, or the list is too short.
    """
    entries = list(policies().values()) if names is None else [policy(name) for name in names]
    events = draw_events(network, count, seed, replicate)
    first, last = measured_span(network, events, multipliers)
    start, stop = (int(e) for e in np.searchsorted(events.time, (first, last), side="right"))
    promise = promise_bounds(network, events)
    rows = PathRows([], [], [], [])
    for entry in entries:
        for multiplier in _grid(network, entry, multipliers, reach or {}):
            window = None if multiplier is None else network.window(multiplier)
            path = entry.run(network, events, window)
            key = {
                "servers": network.servers,
                "policy": entry.name,
                "window_multiplier": multiplier,
                "replicate": replicate,
            }
            counts = count_path(events, path, start, stop)
            rows.regret.append(
                key
                | {
                    "window": window,
                    "threshold": entry.threshold(network),
                    "regret": path_regret(network, counts) / (last - first),
                    **counts._asdict(),
                    "duration": last - first,
                    "regret_batch_se": batch_means(
                        network, events, path, first, last, batches
                    ).standard_error,
                    "mean_idle": mean_idle(network, events, path, start, stop),
                }
            )
            if entry.judged:
                judged = admission_errors(network, events, path, promise, start, stop)
                rows.errors.append(key | judged._asdict())
            epochs = find_epochs(network, events, path, start, stop)
            rows.epochs.append(key | sum_epochs(network, epochs)._asdict())
    for multiplier in _within(network, multipliers, bound_reach):
        window = network.window(multiplier)
        gain = lookahead_gain_bound(network, events, window, start, stop)
        rows.bounds.append(
            {
                "servers": network.servers,
                "window_multiplier": multiplier,
                "replicate": replicate,
                "window": window,
                "duration": last - first,
                "gain_bound": gain / (last - first),
            }
        )
    return rows


def trace_path(network, events, chosen, start, stop):
    """Trace several policies on a stretch of one event list, for a figure of trajectories.

    Parameters
    ----------
    network : LossNetwork
    events : Events
        The whole list: policies run from its start, and may look ahead to its end.
    chosen : sequence of (str, float or None)
        Policies and their window multipliers.
    start, stop : int
        The events ``start <= e < stop`` are traced.

    Returns
    -------
    dict of str to ndarray
        Columns `time`, `kind`, `mark`, and for each policy `busy_{label}` (int32, just before the
        event) and `decision_{label}` (int8: 1 for an accepted arrival or a tick that ends a job, 0
        for a refusal or a wasted tick). The label is the name, with ``_c{multiplier}`` if any.
    """
    piece = slice(start, stop)
    columns = {name: getattr(events, name)[piece] for name in events._fields}
    for name, multiplier in chosen:
        window = None if multiplier is None else network.window(multiplier)
        path = policy(name).run(network, events, window)
        label = name if multiplier is None else f"{name}_c{multiplier:g}"
        columns[f"busy_{label}"] = path.busy[:-1][piece]
        columns[f"decision_{label}"] = path.taken[piece].view(np.int8)
    return columns


def _grid(network, entry, multipliers, reach):
    """Return the multipliers a policy is run at: [None] without a window, [] out of reach."""
    windowed = entry.lookahead == "window"
    return _within(
        network, multipliers if windowed else [None], reach.get(entry.name, (None, None))
    )


def _within(network, multipliers, limits):
    """Return the multipliers up to a limit, none if there are too many servers."""
    most_servers, most_multiplier = limits
    if most_servers is not None and network.servers > most_servers:
        return []
    most = math.inf if most_multiplier is None else most_multiplier
    return [c for c in multipliers if c is None or c <= most]
