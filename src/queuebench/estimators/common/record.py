"""A record: one replicate with its setting, and the statistics several estimators share."""

from functools import cached_property

from queuebench.estimators.common.batch_means import batch_count, response_sums
from queuebench.estimators.common.costs import fit_costs
from queuebench.estimators.common.registry import EstimationError
from queuebench.estimators.common.windows import window_sums


class Record:
    """One experiment as an estimator sees it.

    Parameters
    ----------
    replicate : queuebench.trace.Replicate
        Or anything with its attributes ``arrivals``, ``record_end``, ``carry`` and ``chunks``.
    setting : queuebench.estimators.common.setting.Setting
    """

    def __init__(self, replicate, setting):
        self.replicate = replicate
        self.setting = setting
        self._shared = {}

    @property
    def arrivals(self):
        """Number of recorded arrivals n."""
        return self.replicate.arrivals

    @cached_property
    def costs(self):
        """The costs of an arrival, fitted on the whole record (`queuebench.estimators.common.costs`)."""
        return fit_costs(self.replicate, self.setting)

    def shared(self, key, compute):
        """Return what ``compute()`` returns, computed once per record and key."""
        if key not in self._shared:
            self._shared[key] = compute()
        return self._shared[key]

    def horizon_arrivals(self, horizon):
        """Return a horizon in mean service times as a number of arrivals L.

        Raises
        ------
        EstimationError
            If the horizon is longer than half the record.
        """
        length = self.setting.horizon_arrivals(horizon)
        if 2 * length > self.arrivals:
            raise EstimationError(
                f"a horizon of {length} arrivals is longer than half the record of {self.arrivals}"
            )
        return length

    def windows(self, horizon):
        """Return the sums of the truncated Q values at a horizon in mean service times.

        Raises
        ------
        EstimationError
            See `horizon_arrivals` and `queuebench.estimators.common.windows.window_sums`.
        """
        length = self.horizon_arrivals(horizon)
        return self.shared(
            ("windows", length), lambda: window_sums(self.replicate, self.costs, length)
        )

    @cached_property
    def responses(self):
        """Sums of the observed response times by arm and block, as `ArmSums`."""
        length = self.setting.horizon_arrivals(self.setting.batch_horizon)
        batches = batch_count(self.arrivals, length)
        return response_sums(self.replicate, max(1, batches))
