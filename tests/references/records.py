"""Records to estimate from, simulated in the test."""

from queuebench.estimators.common.record import Record
from queuebench.estimators.common.setting import setting_of
from queuebench.pipeline.stages.simulate import simulate_batch
from queuebench.trace import Trace


def records(cell, path, replicates=1):
    """Return the records of a cell under its Bernoulli design, their trace written to a path."""
    simulate_batch(cell, "bernoulli", range(replicates), path)
    setting = setting_of(cell, "bernoulli")
    return [Record(replicate, setting) for replicate in Trace(path)]
