"""The exact oracle for a cell of the study: where it applies, and what it says."""

import json

from queuebench.base.files import whole_file
from queuebench.base.progress import Progress
from queuebench.queueing.oracle import NotSolvedError, TooManyStatesError, effect_curve, solve
from queuebench.queueing.policies.registry import policy


def choices(cell):
    """Return the numbers of servers the two arms sample, or None where the oracle does not apply.

    It covers equal exponential servers, Poisson arrivals, fresh information and power-of-d, of
    which joining the shortest queue is the case d = N.
    """
    experiment = cell.experiment
    plain = (
        experiment.speeds.kind == "equal"
        and experiment.service.distribution == "exponential"
        and experiment.information.kind == "fresh"
        and experiment.travel_time == 0.0
        and experiment.arrival_process.kind in ("poisson", "sinusoidal")
        and not cell.periodic
        and experiment.workload is None
        and experiment.truth.exact_states > 0
    )
    sampled = [_sampled(arm, experiment) for arm in (experiment.control, experiment.treatment)]
    return sampled if plain and None not in sampled else None


def _sampled(arm, experiment):
    entry = policy(arm.policy)
    if not entry.joins_shortest:
        return None
    return entry.samples(experiment.system.servers, **arm.parameters)


def solve_cell(cell, reads):
    """Return what the oracle says of a cell.

    Parameters
    ----------
    cell : queuebench.study.cells.Cell
    reads : list of int
        How many queues either arm reads, from `choices`.

    Returns
    -------
    dict
        ``solved``; if so the mean responses, the effect, the naive, DQ and truncated estimands, each
        with an error bound (``*_error``), the number of states, the mass at the cut and the
        solver's residual, and by design of several shares the same of each share with its weight; if not,
        ``reason``, with the number of states it would take.
    """
    experiment = cell.experiment
    lengths = {cell.horizon_arrivals(horizon): horizon for horizon in experiment.all_horizons}
    asked = experiment.system.servers, cell.load, *reads
    limits = {
        "tolerance": experiment.truth.exact_tolerance,
        "horizons": tuple(lengths),
        "max_states": experiment.truth.exact_states,
    }
    shares = sorted({share for _, design in _of_shares(cell) for share in design.distinct})
    try:
        result = solve(*asked, experiment.system.treated_share, **limits)
        curve = effect_curve(*asked, shares, **limits)
    except (TooManyStatesError, NotSolvedError) as error:
        return {"solved": False, "reason": str(error)}
    at = dict(zip(shares, curve, strict=True))
    return {
        "solved": True,
        "response_control": result.control.c_w,
        "response_control_error": result.control.c_w_error,
        "response_treatment": result.treatment.c_w,
        "response_treatment_error": result.treatment.c_w_error,
        "gte": result.gte,
        "gte_error": result.gte_error,
        **_mixed(result.mixed, lengths),
        "states": result.states,
        "mass_at_cut": result.mass_at_cut,
        "residual": result.residual,
        "designs": {
            name: [
                {
                    "share": share,
                    "weight": weight,
                    "response": at[share].policy.c_w,
                    "response_error": at[share].policy.c_w_error,
                    **_mixed(at[share], lengths),
                }
                for share, weight in zip(design.distinct, design.quadrature, strict=True)
            ]
            for name, design in _of_shares(cell)
        },
    }


def _of_shares(cell):
    return [(name, design) for name, design in cell.designs.items() if design.kind == "shares"]


def _mixed(mixed, lengths):
    """Return what the oracle says of one treated share."""
    return {
        "naive": mixed.naive,
        "naive_error": mixed.naive_error,
        "dq": mixed.dq,
        "dq_error": mixed.dq_error,
        "truncated": [
            {
                "horizon": horizon,
                "horizon_arrivals": length,
                "queue": mixed.truncated[length][0],
                "response": mixed.truncated[length][1],
                "queue_error": mixed.truncated_error[length][0],
                "response_error": mixed.truncated_error[length][1],
            }
            for length, horizon in lengths.items()
        ],
    }


def write_exact(cell, reads, path, log=None):
    """Solve a cell and write what comes out as JSON, saying in the log if it is out of reach."""
    with Progress(log, f"{cell.name}: exact oracle", None) as progress:
        found = solve_cell(cell, reads)
        if found["solved"]:
            progress.say(f"effect {found['gte']:.6g}, error at most {found['gte_error']:.1e}")
        else:
            progress.say(f"falls back to simulation: {found['reason']}")
    with whole_file(path) as partial:
        partial.write_text(json.dumps({"scenario": cell.scenario, "load": cell.load} | found))
