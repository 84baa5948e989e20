"""Whether a log's times make sense together, and which unit would."""

import math

from queuebench.logs.findings import WARNING, Finding
from queuebench.logs.read.clock import UNITS

ABSURD = 1000.0
"""Service times in a response, or jobs per server on average, beyond which a unit must be wrong."""


def check_units(replicate, config, servers) -> list[Finding]:
    """Return a warning if responses are absurdly long, with the unit that would explain it.

    By Little's law the number in the system is the arrival rate times the mean response; if servers then
    hold a thousand jobs each, responses are in a smaller unit than arrivals.

    Parameters
    ----------
    replicate : queuebench.logs.record.replicate.LogReplicate
    config : queuebench.logs.read.description.LogConfig
    servers : int
        Number of servers N; 1 if the log names none.
    """
    total = sum(float(response.sum()) for (response,) in replicate.chunks("response_time"))
    mean = total / replicate.arrivals
    per_server = total / replicate.record_end / servers
    unit = config.time_unit
    if config.columns.server is not None and per_server >= ABSURD:
        role = "response_time" if config.columns.response_time else "departure_time"
        stretched = per_server if config.columns.response_time else _stretched(replicate)
        smaller = _nearest(config.unit(role), 1.0 / stretched)
        text = (
            f"responses average {mean:.4g} {unit}, which makes {per_server:,.0f} jobs at every server at any "
            f"time: is {role} in {smaller}? Then say `units: {{{role}: {smaller}}}`"
        )
    elif config.mean_service_time and mean / config.mean_service_time >= ABSURD:
        ratio = mean / config.mean_service_time
        larger = _nearest(unit, ratio)
        meant = config.mean_service_time * UNITS[larger] / UNITS[unit]
        text = (
            f"responses average {mean:.4g} {unit}, {ratio:,.0f} times the mean_service_time "
            f"given: is that in {larger}? It must be in the time_unit, {unit}: {meant:.4g}"
        )
    else:
        return []
    return [Finding(WARNING, "time_unit", replicate.arrivals, text)]


def _stretched(replicate):
    """Return how many times longer departures run than arrivals: 1, but for their units."""
    arrival, response = (replicate.column(name) for name in ("arrival_time", "response_time"))
    first, last = (float(arrival[i] + response[i]) for i in (0, -1))
    return max(abs(last - first) / replicate.record_end, 1.0)


def _nearest(unit, factor):
    """Return the unit that is nearest to a multiple of another."""
    wanted = UNITS[unit] * factor
    return min(UNITS, key=lambda other: abs(math.log(UNITS[other] / wanted)))
