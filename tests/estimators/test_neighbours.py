"""Differences in neighbours against double loops over starts and jobs."""

import numpy as np
import pytest

from queuebench.estimators import EstimationError
from queuebench.estimators.common.batch_means import batch_count
from queuebench.estimators.common.record import Record
from queuebench.estimators.common.setting import setting_of
from queuebench.estimators.neighbours import neighbours_busy, neighbours_window
from queuebench.logs.record.replicate import LogReplicate
from tests.references.records import records

HORIZON = 2.0
SHARE = 0.4


@pytest.fixture(params=[0.0, 0.5])
def record(request, make_cell, tmp_path):
    cell = make_cell(
        load=0.8, arrivals=600, warmup=20.0, system={"servers": 4, "treated_share": SHARE},
        treatment={"policy": "power_of_d", "d": 3}, horizon=HORIZON, travel_time=request.param,
    )  # fmt: skip
    return records(cell, tmp_path / "t.arrow")[0]


def columns(record):
    names = ("arrival_time", "treated", "server", "server_if_control", "server_if_treated")
    names += ("response_time",)
    return [list(record.replicate.column(name)) for name in names]


def in_window(record, length):
    """Return the neighbours j of every start i, by going through the window."""
    _, _, server, control, treatment, _ = columns(record)
    n = len(server)
    return [
        [j for j in range(i, min(i + length + 1, n)) if server[j] in (control[i], treatment[i])]
        for i in range(n)
    ]


def until_idle(record):
    """Return the neighbours j of every start i, by following both servers until they are idle."""
    arrival, _, server, control, treatment, response = columns(record)
    carried = [(c["server"], c["departure"]) for c in record.replicate.carry.to_pylist()]
    n = len(server)
    found = []
    for i in range(n):
        own = []
        for s in {control[i], treatment[i]}:
            last = max([d for c, d in carried if c == s] + [-np.inf])
            last = max([arrival[j] + response[j] for j in range(i) if server[j] == s] + [last])
            for j in range(i, n):
                if j > i and last <= arrival[j]:
                    break
                if j == i and last <= arrival[i] and server[i] != s:
                    break
                if server[j] == s:
                    own.append(j)
                    last = max(last, arrival[j] + response[j])
        found.append(own)
    return found


def plain_estimate(record, neighbours, first):
    """Return the estimate and its batch-means error, responses before `first` left out."""
    _, treated, _, control, treatment, response = columns(record)
    y = np.array(response[first:])
    trace = np.zeros(len(response))  # what every response is multiplied by
    value = 0.0
    for i, own in enumerate(neighbours):
        if control[i] == treatment[i]:
            continue
        z = 1 / SHARE if treated[i] else -1 / (1 - SHARE)
        value += z * sum(response[j] - y.mean() for j in own if j >= first)
        for j in own:
            trace[j] += z
    trace = trace[first:]
    value /= len(y)
    influence = (trace - trace.mean()) * (y - y.mean()) - value
    batches = batch_count(len(y), record.setting.horizon_arrivals(HORIZON))
    batch = np.minimum(np.arange(len(y)) // (len(y) // batches), batches - 1)
    totals = np.bincount(batch, influence)
    return value, np.sqrt(batches * totals.var(ddof=1)) / len(y)


def test_window_double_loop(record):
    length = record.setting.horizon_arrivals(HORIZON)
    value, error = plain_estimate(record, in_window(record, length), length)
    found = neighbours_window(record, HORIZON)
    assert found.value == pytest.approx(value, rel=1e-9)
    assert found.standard_error == pytest.approx(error, rel=1e-9)


def test_busy_double_loop(record):
    value, error = plain_estimate(record, until_idle(record), 0)
    found = neighbours_busy(record)
    assert found.value == pytest.approx(value, rel=1e-9)
    assert found.standard_error == pytest.approx(error, rel=1e-9)


def test_a_constant_added_to_all_responses_changes_nothing(record):
    class Longer:
        def __init__(self, replicate):
            self._replicate = replicate

        def __getattr__(self, name):
            return getattr(self._replicate, name)

        def chunks(self, *names):
            for chunk in self._replicate.chunks(*names):
                yield *chunk[:-1], chunk[-1] + 7.0

    longer = Record(Longer(record.replicate), record.setting)
    found, expected = (neighbours_window(one, HORIZON) for one in (longer, record))
    assert found.value == pytest.approx(expected.value, rel=1e-9)


def independent_queues(rng, n, rate, shares):
    """Return the columns of two M/M/1 queues that jobs join by coins, whatever their lengths."""
    arrival = np.cumsum(rng.exponential(1 / rate, n))
    treated = rng.random(n) < 0.5
    choices = [(rng.random(n) >= share).astype(np.int32) for share in shares]
    server = np.where(treated, choices[1], choices[0])
    service, response, free = rng.exponential(size=n), np.empty(n), [0.0, 0.0]
    for j in range(n):
        free[server[j]] = max(free[server[j]], arrival[j]) + service[j]
        response[j] = free[server[j]] - arrival[j]
    return {
        "arrival_time": arrival, "treated": treated, "server": server, "server_if_control": choices[0],
        "server_if_treated": choices[1], "response_time": response,
    }  # fmt: skip


def test_exact_where_servers_do_not_interact(make_cell):
    """Server 0 gets 0.6 of the controls and 0.2 of the treated.

    With ``rho / (1 - rho)`` jobs at a server, one more arrival costs ``1 / (1 - rho)^2``. Within four
    standard errors over 20 records (a false alarm once in 1300 seeds).
    """
    setting = setting_of(make_cell(arrivals=20_000, system={"servers": 2}), "bernoulli")
    rng, rate, shares = np.random.default_rng(3), 1.0, (0.6, 0.2)
    load = rate * np.mean(shares)
    exact = (shares[1] - shares[0]) * (1 / (1 - load) ** 2 - 1 / (1 - rate + load) ** 2)
    values = []
    for _ in range(20):
        columns = independent_queues(rng, 20_000, rate, shares)
        replicate = LogReplicate(0, 20_000, 0.0, columns["arrival_time"][-1], [], columns)
        values.append(neighbours_busy(Record(replicate, setting)).value)
    error = np.std(values, ddof=1) / np.sqrt(20)
    assert error < 0.1 * exact
    assert abs(np.mean(values) - exact) < 4 * error


def test_errors_and_arms_that_never_differ(make_cell, tmp_path):
    one_arm = make_cell(arrivals=200, warmup=10.0, system={"servers": 4, "treated_share": 1e-9})
    (record,) = records(one_arm, tmp_path / "t.arrow")
    with pytest.raises(EstimationError, match="an arm has no arrivals"):
        neighbours_busy(record)
    two = {"policy": "power_of_d", "d": 2}
    alike = make_cell(arrivals=5000, warmup=10.0, horizon=HORIZON, control=two, treatment=two)
    (record,) = records(alike, tmp_path / "t.arrow")
    for found in (neighbours_busy(record), neighbours_window(record, HORIZON)):
        assert found.value == found.standard_error == 0.0
        assert found.note == "the arms never chose differently"
