"""What the oracle is asked: effects, estimands and their errors, for one pair of policies."""

from dataclasses import dataclass, field

import numpy as np

from queuebench.queueing.oracle.chain import routing_table
from queuebench.queueing.oracle.closed_forms import mm1_response
from queuebench.queueing.oracle.horizons import arm_difference, truncated_differences
from queuebench.queueing.oracle.poisson import relative_values
from queuebench.queueing.oracle.refine import (
    adapted_stages,
    cut_stages,
    mean_response,
    refine,
    refinement_error,
    solver_tolerance,
)

MAX_STATES = 20_000_000
MAX_SERVERS = np.iinfo(np.int16).max
INDEX_LIMIT = np.iinfo(np.int32).max
DEFAULT_TOLERANCE = 1e-6


@dataclass(frozen=True)
class PolicyResult:
    """One policy used for every arrival.

    Attributes
    ----------
    c_w, c_q : float
        Mean response time (mean service times); time-average number of jobs in the system.
    c_w_error, c_q_error : float
        Bounds on their errors: states left out plus the solver's residual.
    residual : float
        The part of ``c_w_error`` that is the solver's.
    mass_at_cut : float
        With a cut, the probability that some queue is that long; with an adapted set, the share of
        events that would leave it.
    states : int
        States of the set; 0 where a closed form needs none (``d = 1`` without a cut).
    """

    c_w: float
    c_q: float
    c_w_error: float
    c_q_error: float
    residual: float
    mass_at_cut: float
    states: int


@dataclass(frozen=True)
class MixedResult:
    """Bernoulli experiment in which a share of the arrivals is treated.

    Attributes
    ----------
    treated_share : float
        Share ``p`` of treated arrivals.
    policy : PolicyResult
        The mixed system as such.
    naive, naive_error : float
        Mean response of the treated minus that of the controls, and a bound on its error.
    dq, dq_error : float
        DQ estimand, the derivative of ``c_w`` with respect to ``p``, and a bound on its error.
    truncated : dict of int to tuple (queue, response)
        DQ estimands truncated at a horizon of that many arrivals, with the cost number in system
        over ``Lambda`` and with the response-time cost.
    truncated_error : dict of int to tuple (queue, response)
        Bounds on their errors.
    """

    treated_share: float
    policy: PolicyResult
    naive: float
    naive_error: float
    dq: float
    dq_error: float
    truncated: dict[int, tuple[float, float]] = field(default_factory=dict)
    truncated_error: dict[int, tuple[float, float]] = field(default_factory=dict)

    def mixture(self, alpha, horizon) -> float:
        """Return the estimand of the mixture of both costs.

        Parameters
        ----------
        alpha : float
            Weight of the response-time cost; not restricted to [0, 1].
        horizon : int
            One of the horizons solved for, in arrivals.

        Raises
        ------
        KeyError
            If the horizon was not asked for.
        """
        if horizon not in self.truncated:
            raise KeyError(f"horizon {horizon} was not solved; solved: {sorted(self.truncated)}")
        queue, response = self.truncated[horizon]
        return alpha * response + (1 - alpha) * queue


@dataclass(frozen=True)
class OracleResult:
    """The exact answers for one cell, in mean service times unless said otherwise.

    Attributes
    ----------
    servers, load, d_control, d_treatment, cut
        The cell as asked.
    control, treatment : PolicyResult
        Each policy used for every arrival.
    mixed : MixedResult
        The Bernoulli experiment.
    """

    servers: int
    load: float
    d_control: int
    d_treatment: int
    cut: int | None
    control: PolicyResult
    treatment: PolicyResult
    mixed: MixedResult

    @property
    def gte(self):
        """Global treatment effect: mean response under treatment minus that under control."""
        return self.treatment.c_w - self.control.c_w

    @property
    def gte_error(self):
        """Bound on the error of the effect."""
        return self.treatment.c_w_error + self.control.c_w_error

    @property
    def naive(self):
        """Naive estimand."""
        return self.mixed.naive

    @property
    def dq(self):
        """DQ estimand."""
        return self.mixed.dq

    @property
    def truncated(self):
        """Truncated DQ estimands, from the horizon in arrivals to (queue, response)."""
        return self.mixed.truncated

    def mixture(self, alpha, horizon):
        """Return the mixture's estimand; see `MixedResult.mixture`."""
        return self.mixed.mixture(alpha, horizon)

    @property
    def interference_bias(self):
        """What DQ leaves of the interference bias however long its horizon: DQ minus the effect."""
        return self.dq - self.gte

    def truncation_bias(self, alpha, horizon):
        """Return what a finite horizon adds to the bias of the mixture: its estimand minus DQ."""
        return self.mixture(alpha, horizon) - self.dq

    @property
    def mass_at_cut(self):
        """Largest mass at the cut of the three chains."""
        return max(p.mass_at_cut for p in self._policies)

    @property
    def residual(self):
        """Largest error that a stationary law's residual can cause in a mean response time."""
        return max(p.residual for p in self._policies)

    @property
    def states(self):
        """States of the largest of the three chains."""
        return max(p.states for p in self._policies)

    @property
    def _policies(self):
        return self.control, self.treatment, self.mixed.policy


def solve(
    servers,
    load,
    d_control,
    d_treatment,
    treated_share=0.5,
    *,
    cut=None,
    tolerance=DEFAULT_TOLERANCE,
    horizons=(),
    max_states=MAX_STATES,
) -> OracleResult:
    """Solve the homogeneous exponential system under power-of-d, both policies and their mixture.

    Parameters
    ----------
    servers : int
        Number of servers ``N``.
    load : float
        Load per server, ``0 < load < 1``.
    d_control, d_treatment : int
        Servers sampled by each policy, 1 to ``servers``.
    treated_share : float
        Share ``p`` of treated arrivals, 0 to 1. At the ends, the estimands are those of a vanishing
        share of the other arm.
    cut : int, optional
        Longest queue, at least 2, all occupancy vectors up to it being enumerated. By default the
        set adapts until the tolerance is met.
    tolerance : float
        Largest error bound wanted in the effect, the naive and the DQ estimand, in mean service
        times. With a cut it only sets when the solvers stop.
    horizons : iterable of int
        Horizons ``L`` of the truncated estimands, in arrivals: sums of the costs of arrivals ``i``
        to ``i + L``.
    max_states : int
        Largest state set allowed.

    Raises
    ------
    ValueError
        If an argument is out of range.
    TooManyStatesError
        If the set would outgrow ``max_states``.
    NotSolvedError
        If the solvers stall above the tolerance on a set with a cut.
    """
    cell = Cell(servers, load, cut, tolerance, max_states)
    control, treatment = routing_table(servers, d_control), routing_table(servers, d_treatment)
    return OracleResult(
        servers=servers,
        load=load,
        d_control=d_control,
        d_treatment=d_treatment,
        cut=cut,
        control=_policy(cell, d_control),
        treatment=_policy(cell, d_treatment),
        mixed=_mixed(cell, control, treatment, treated_share, horizons),
    )


def effect_curve(
    servers,
    load,
    d_control,
    d_treatment,
    shares,
    *,
    cut=None,
    tolerance=DEFAULT_TOLERANCE,
    horizons=(),
    max_states=MAX_STATES,
):
    """Solve the mixed system for several treated shares.

    The mean response time ``c_w`` as a function of the share runs from control to treatment; the DQ
    estimand at a share is the slope of this curve there, and the effect its mean slope.

    Parameters
    ----------
    servers, load, d_control, d_treatment, cut, tolerance, horizons, max_states
        As in `solve`.
    shares : iterable of float
        Treated shares, 0 to 1.

    Returns
    -------
    list of MixedResult
        One per share, in the order given.

    Raises
    ------
    ValueError
        If an argument is out of range.
    TooManyStatesError
        If a set would outgrow ``max_states``.
    """
    cell = Cell(servers, load, cut, tolerance, max_states)
    control, treatment = routing_table(servers, d_control), routing_table(servers, d_treatment)
    return [_mixed(cell, control, treatment, share, horizons) for share in shares]


@dataclass(frozen=True)
class Cell:
    """One system and how accurately to solve it; arguments as in `solve`."""

    servers: int
    load: float
    cut: int | None
    tolerance: float
    max_states: int

    def __post_init__(self):
        if not 1 <= self.servers <= MAX_SERVERS:
            raise ValueError(f"servers is {self.servers}; it must be between 1 and {MAX_SERVERS}")
        if not 0 < self.load < 1:
            raise ValueError(f"load is {self.load}; it must be above 0 and below 1 to be stable")
        if self.cut is not None and self.cut < 2:
            raise ValueError(f"cut is {self.cut}; it must be at least 2, for an error bound")
        if not self.tolerance > 0:
            raise ValueError(f"tolerance is {self.tolerance}; it must be positive")
        if not 1 <= self.max_states <= INDEX_LIMIT:
            raise ValueError(
                f"max_states is {self.max_states}; it must be between 1 and {INDEX_LIMIT}"
            )

    @property
    def rate(self):
        """Arrival rate ``Lambda``."""
        return self.servers * self.load

    def stages(self, table, tolerance):
        """Return ever finer solved state sets for one routing table."""
        if self.cut is not None:
            return cut_stages(self.servers, table, self.rate, self.cut, tolerance, self.max_states)
        return adapted_stages(self.servers, table, self.rate, tolerance, self.max_states)


def _policy(cell, d):
    """Solve one policy; each of the two takes half of the effect's tolerance."""
    if d == 1 and cell.cut is None:
        return _random_routing(cell)
    tolerance = cell.tolerance / 2
    stages = cell.stages(routing_table(cell.servers, d), tolerance)
    refined = refine(stages, mean_response, tolerance)
    return _policy_result(refined.stage, refined.errors[0])


def _random_routing(cell):
    """Return the closed form: random routing needs the most states, and none at all."""
    response = mm1_response(cell.load)
    return PolicyResult(
        c_w=response,
        c_q=cell.rate * response,
        c_w_error=0.0,
        c_q_error=0.0,
        residual=0.0,
        mass_at_cut=0.0,
        states=0,
    )


def _policy_result(stage, error):
    return PolicyResult(
        c_w=stage.mean_response,
        c_q=stage.mean_jobs,
        c_w_error=float(error),
        c_q_error=float(error) * stage.chain.rate,
        residual=stage.residual,
        mass_at_cut=stage.mass_at_cut,
        states=stage.law.size,
    )


def _mixed(cell, control, treatment, share, horizons):
    """Solve the mixed chain of two routing tables."""
    if not 0 <= share <= 1:
        raise ValueError(f"treated_share is {share}; it must be between 0 and 1")
    horizons = sorted(set(horizons))
    if horizons and (horizons[0] < 0 or any(h != int(h) for h in horizons)):
        raise ValueError(f"horizons are {horizons}; they count arrivals: whole, from 0 up")
    table = share * treatment + (1 - share) * control
    refined = refine(
        cell.stages(table, cell.tolerance),
        lambda stage: _estimands(stage, control, treatment, cell.tolerance),
        cell.tolerance,
    )
    _, naive, dq = map(float, refined.values)
    response_error, naive_error, dq_error = map(float, refined.errors)
    truncated, truncated_error = _truncated(refined, control, treatment, horizons)
    return MixedResult(
        treated_share=share,
        policy=_policy_result(refined.stage, response_error),
        naive=naive,
        naive_error=naive_error,
        dq=dq,
        dq_error=dq_error,
        truncated=truncated,
        truncated_error=truncated_error,
    )


def _estimands(stage, control, treatment, tolerance):
    """Return mean response, naive and DQ estimand, and the errors that the solvers leave in them.

    DQ is off by the Poisson equation's residual summed over the time for which the two routings of
    one job make a difference, of the order of that job's extra work, ``1 / (1 - load)``.
    """
    rest = stage.chain.rate * (1 - stage.chain.load)
    dq, residual = _dq(stage, control, treatment, rest * solver_tolerance(tolerance))
    values = [stage.mean_response, _naive(stage, control, treatment), dq]
    return values, [stage.residual, stage.residual, stage.residual + residual / rest]


def _naive(stage, control, treatment):
    response = stage.chain.expected_response
    return stage.law @ (response(treatment) - response(control))


def _dq(stage, control, treatment, tolerance):
    """Return the DQ estimand and the residual of the Poisson equation it comes from, in jobs."""
    change = arm_difference(stage.chain, stage.law, control, treatment)
    values, residual = relative_values(stage.chain, stage.law, tolerance)
    return float(change @ values), residual


def _truncated(refined, control, treatment, horizons):
    """Return the truncated estimands of both costs and their errors, by horizon."""
    if not horizons:
        return {}, {}
    fine, coarse = (
        np.stack(truncated_differences(stage.chain, stage.law, control, treatment, horizons[-1]))[
            :, horizons
        ]
        for stage in (refined.stage, refined.coarser)
    )
    errors = refinement_error(refined.coarser, refined.stage, coarse, fine) + refined.stage.residual
    return _by_horizon(horizons, fine), _by_horizon(horizons, errors)


def _by_horizon(horizons, values):
    return {h: (float(q), float(w)) for h, q, w in zip(horizons, *values, strict=True)}
