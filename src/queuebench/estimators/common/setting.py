"""What an estimator may know about the system besides the record itself."""

from dataclasses import dataclass, replace

import numpy as np

from queuebench.estimators.common.local_rate import RateTable
from queuebench.estimators.common.registry import estimators_for
from queuebench.queueing.arrivals import relative_rate
from queuebench.queueing.speeds import server_speeds, speed_classes
from queuebench.queueing.structure import Structure


@dataclass(frozen=True)
class Setting:
    """What is known of a system by whoever runs an experiment in it.

    Attributes
    ----------
    design : str
        Kind of design.
    classes : ndarray of int32, shape (N,)
        Speed class of every server.
    rate : float
        Nominal arrival rate, per mean service time; it converts horizons to arrivals.
    batch_horizon : float
        Mean service times over which responses are correlated, for standard errors of estimators
        that have no horizon of their own.
    travel_time : float
        From dispatch to the server.
    amplitude, cycle : float
        Of a sinusoidal rate; amplitude 0 is a constant rate.
    local_rate : queuebench.estimators.common.local_rate.RateTable, optional
        An estimated rate that varies, in place of a sinusoidal one.
    period, burn_in : float
        Of a design with blocks of time, else 0. The period is 0 too where blocks are runs of arrivals at one
        share.
    shares, weights : tuple of float
        The different treated shares of a design of several, increasing, and what the slope at each counts
        for in the effect.
    horizons : tuple of float
        The grid of horizons to choose from, in mean service times, increasing.
    treated_share : float
        Probability of treatment under the Bernoulli design.
    choices : bool
        Whether the trace holds the choices of both arms.
    structure : queuebench.queueing.structure.Structure, optional
        Policies, speeds and information, for estimators that replay the record.
    random_key : tuple
        Seed and names for the streams of estimators that draw randomness of their own, see
        `queuebench.base.randomness.stream`.
    """

    design: str
    classes: np.ndarray
    rate: float
    batch_horizon: float
    travel_time: float = 0.0
    amplitude: float = 0.0
    cycle: float = 1.0
    local_rate: RateTable | None = None
    period: float = 0.0
    burn_in: float = 0.0
    shares: tuple = ()
    weights: tuple = ()
    horizons: tuple = ()
    treated_share: float = 0.5
    choices: bool = False
    structure: Structure | None = None
    random_key: tuple = (0,)

    def horizon_arrivals(self, horizon):
        """Return a horizon in mean service times as a number of arrivals L."""
        return int(horizon * self.rate + 1e-9)

    def at_share(self, share):
        """Return the setting of the parts of the record that have one treated share."""
        return replace(self, design="bernoulli", treated_share=share, shares=(), weights=())

    @property
    def varying_rate(self):
        """Whether the arrival rate varies, as far as is known."""
        return self.amplitude != 0.0 or self.local_rate is not None

    def relative_rate(self, times):
        """Return the arrival rate at some increasing times over its average."""
        if self.local_rate is not None:
            return self.local_rate.at(times)
        return relative_rate(times, self.amplitude, self.cycle)


def setting_of(cell, design):
    """Return the setting of a simulated cell under one of its designs."""
    experiment = cell.experiment
    chosen = cell.designs[design]
    speeds = server_speeds(experiment.system.servers, **experiment.speeds.model_dump())
    return Setting(
        design=chosen.kind,
        classes=speed_classes(speeds),
        rate=cell.rate,
        batch_horizon=experiment.horizon,
        travel_time=experiment.travel_time,
        amplitude=cell.amplitude,
        cycle=cell.cycle,
        period=getattr(chosen, "period", 0.0),
        burn_in=getattr(chosen, "burn_in", 0.0),
        shares=getattr(chosen, "distinct", ()),
        weights=getattr(chosen, "quadrature", ()),
        horizons=tuple(experiment.all_horizons),
        treated_share=experiment.system.treated_share,
        choices=chosen.kind != "group",
        structure=_structure(experiment),
        random_key=(cell.seed, cell.name, design),
    )


def _structure(experiment):
    """Return what a replay may know of a system: nothing of the laws of arrivals and service.

    Where the study says that something else is assumed than what is so, it is told that.
    """
    arms = (experiment.control, experiment.treatment)
    information, travel_time, speeds = (
        getattr(experiment, key) if getattr(experiment.assumed, key) is None
        else getattr(experiment.assumed, key)
        for key in ("information", "travel_time", "speeds")
    )  # fmt: skip
    return Structure(
        speeds=server_speeds(experiment.system.servers, **speeds.model_dump()),
        policies=tuple(arm.policy for arm in arms),
        policy_parameters=tuple(arm.parameters for arm in arms),
        travel_time=travel_time,
        information=information.kind,
        age=getattr(information, "age", getattr(information, "period", 0.0)),
    )


_OTHERS = 4.0
"""Times replay's standard deviation that other estimators have, at the least, if they have little bias."""


def truth_arrivals(cell):
    """Return the least length of a simulated truth that the cell's estimators are compared with.

    Two pure runs on common random numbers are a replay of one long record, so a truth of as many
    arrivals as k records has about the error of the mean of k replays. It must not depend on the number of
    replicates: more of them change no truth.

    Parameters
    ----------
    cell : queuebench.study.cells.Cell

    Returns
    -------
    int
        Arrivals of each run: ``truth.records`` records, fewer where no estimator is as precise as
        replay, and at most ``truth.max_arrivals``.
    """
    replayed = any(
        entry.needs_structure
        for design in cell.designs.values()
        for entry in applying(cell, design.kind)
    )
    records = cell.experiment.truth.records / (1.0 if replayed else _OTHERS**2)
    return min(round(records * cell.experiment.arrivals), cell.experiment.truth.max_arrivals)


def applying(cell, kind):
    """Return the estimators a cell asks for that apply under a kind of design."""
    return estimators_for(
        kind,
        cell.experiment.estimators,
        periodic=cell.periodic,
        horizons=len(cell.experiment.all_horizons),
        choices=True,
        structure=True,
    )
