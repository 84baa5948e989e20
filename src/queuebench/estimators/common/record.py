"""A record: one replicate with its setting, and the statistics several estimators share."""

from functools import cached_property

from queuebench.estimators.common.batch_means import ArmSums, batch_count, response_sums
from queuebench.estimators.common.costs import fit_costs
from queuebench.estimators.common.registry import EstimationError, require_both_arms
from queuebench.estimators.common.windows import window_sums


class Record:
    """One experiment as an estimator sees it.

    Parameters
    ----------
    replicate : queuebench.trace.Replicate
        Or anything with its attributes ``arrivals``, ``record_end``, ``carry`` and ``chunks``.
    setting : queuebench.estimators.common.setting.Setting
    costs : queuebench.estimators.common.costs.Costs, optional
        Fitted elsewhere; by default on the record itself.
    """

    def __init__(self, replicate, setting, costs=None):
        self.replicate = replicate
        self.setting = setting
        self._shared = {}
        if costs is not None:
            self.costs = costs

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
        return self.shared(("windows", length), lambda: window_sums(self, length))

    def add_up(self, make, lost, correlated):
        """Return sums over the record, and whether its batches are enough for a standard error.

        A record with gaps (`queuebench.estimators.common.sections`) adds up those of its stretches.

        Parameters
        ----------
        make : Callable
            ``make(record, batches, number)`` gives a tuple of arrays, each with a leading axis of batches or
            of their blocks, for a record without gaps, the stretch of that number.
        lost : int
            Arrivals, at one end of the record, that give no unit of a sum.
        correlated : int
            Over how many arrivals units are correlated.
        """
        batches = batch_count(self.arrivals - lost, correlated)
        return make(self, max(1, batches), 0), batches > 0

    @cached_property
    def responses(self):
        """Sums of the observed response times by arm and block, as `ArmSums`."""
        length = self.setting.horizon_arrivals(self.setting.batch_horizon)
        sums, _ = self.add_up(
            lambda part, batches, _: response_sums(part.replicate, batches), 0, length
        )
        return ArmSums(*sums)

    def require_both_arms(self):
        """Refuse a record in which one arm was never drawn: it says nothing of the difference.

        Weighted forms would not notice, as sums of an empty arm are zero and not undefined.

        Raises
        ------
        EstimationError
            If an arm has no arrivals.
        """
        require_both_arms(*self.responses.count.sum(axis=0))
