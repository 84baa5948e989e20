"""The simulators against a plain twin and against queueing theory.

A simulated mean is compared with its closed form within 4.5 standard errors of 40 batch means: by Student's
law with 39 degrees of freedom, one comparison in 16 000 raises a false alarm, and this file makes ten.
"""

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.systems import catalogue, reference, servers, truth
from tests.systems.catalogue import ALL, SERVERS, SYSTEMS, pareto, simulate_jobs
from tests.systems.harness import analyze, headlines, misses_in_silence, simulate, table

BATCHES, ERRORS = 40, 4.5
WARM_UP = 20_000


def test_simulators_share_no_code_with_the_package():
    """Else a fault common to both would pass for agreement."""
    for module in (catalogue, reference, servers, truth):
        assert "queuebench" not in Path(module.__file__).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ALL)
def test_loop_agrees_with_its_plain_twin(name):
    fast = simulate_jobs(ALL[name], "medium", 0.9, 5, 3_000)
    slow = simulate_jobs(ALL[name], "medium", 0.9, 5, 3_000, loop=reference.run)
    assert (fast.chosen == slow.chosen).all()
    assert (fast.quit == slow.quit).all()
    assert (fast.departure == slow.departure).all()


def assert_mean(values, expected, precision=0.02):
    means = np.array([part.mean() for part in np.array_split(values, BATCHES)])
    error = means.std(ddof=1) / math.sqrt(BATCHES)
    assert error < precision * expected
    assert abs(means.mean() - expected) < ERRORS * error


def responses(system, load=0.7, treat=False, arrivals=400_000, **changes):
    """Responses under the strong contrast's control, random routing, or its treatment."""
    return simulate_jobs(
        replace(system, **changes), "strong", load, 11, arrivals, treat
    ).response[WARM_UP:]  # fmt: skip


def test_random_routing_is_parallel_mm1():
    assert_mean(responses(SYSTEMS["fcfs"]), 1 / 0.3)


@pytest.mark.parametrize(("name", "square"), [("fcfs_deterministic", 1.0), ("fcfs_pareto", 5.4)])
def test_first_come_first_served_is_pollaczek_khinchine(name, square):
    shape = {} if name == "fcfs_deterministic" else {"requirements": pareto(4.5)}
    if shape:
        square = 4.5 / 2.5 * (3.5 / 4.5) ** 2
    assert_mean(responses(ALL[name], **shape), 1 + 0.7 * square / (2 * 0.3))


@pytest.mark.parametrize("law", ["fcfs", "fcfs_deterministic", "two_classes"])
def test_sharing_is_insensitive_to_the_law(law):
    sharing = SYSTEMS["processor_sharing"]
    assert_mean(responses(sharing, requirements=ALL[law].requirements), 1 / 0.3)


def birth_and_death(arrival, departures):
    """Mean response of one queue, by Little's law, from its departure rates at 1, 2, ... jobs."""
    weights = np.cumprod(np.concatenate(([1.0], arrival / departures)))
    return weights @ np.arange(len(weights)) / weights.sum() / arrival


def test_batching_is_a_birth_and_death_chain():
    batching = SYSTEMS["batching"]
    busy = np.minimum(np.arange(1, 2_000), batching.limit)
    rates = busy / (1 + batching.slowdown * (busy - 1))
    arrival = 0.7 * batching.capacity / SERVERS
    assert_mean(responses(batching), birth_and_death(arrival, rates))


def test_impatient_jobs_are_erlang_a():
    impatient = SYSTEMS["abandonment"]
    rates = 1 + np.arange(200) / impatient.patience
    assert_mean(responses(impatient), birth_and_death(0.7, rates))


def test_breakdowns_of_one_queue_follow_their_generating_function():
    """Exponential breakdowns at any time, repairs, preemptive resume (White and Christie 1958)."""
    system = SYSTEMS["breakdowns"]
    available = system.capacity / SERVERS
    arrival = 0.7 * available
    fail, repair = 1 / system.up, 1 / system.down
    number = (arrival / (available - arrival)) * (1 + fail / (fail + repair) ** 2)
    assert_mean(responses(system, arrivals=800_000), number / arrival, precision=0.04)


def test_power_of_two_of_ten_is_near_the_fluid_limit():
    """Ten servers wait longer than infinitely many, by less than a tenth at this load."""
    fluid = sum(0.7 ** (2**k - 2) for k in range(1, 20))
    mean = responses(SYSTEMS["fcfs"], treat=True).mean()
    assert fluid < mean < 1.1 * fluid


def test_faster_service_shortens_random_routing_as_mm1():
    faster = responses(SYSTEMS["service_treatment"], treat=True)
    assert_mean(faster, 0.95 / (1 - 0.7 * 0.95))


@pytest.mark.parametrize("name", ALL)
def test_arrivals_come_at_the_rate_that_the_load_says(name):
    """Ten logs, six standard errors: by Student's law, a false alarm in 5 000 runs of one system."""
    rates = [
        len(jobs.arrival) / jobs.arrival[-1] / (0.7 * ALL[name].capacity)
        for jobs in (simulate_jobs(ALL[name], "weak", 0.7, seed, 50_000) for seed in range(10))
    ]
    error = np.std(rates, ddof=1) / math.sqrt(len(rates))
    assert abs(np.mean(rates) - 1) < 6 * error


@pytest.mark.parametrize("name", ALL)
def test_package_reads_each_log(name):
    log = simulate(name, "weak", 0.7, 1, 12_000)
    analysis = analyze(log)
    made = table([analysis], truth=-1.0)
    assert "naive" in made.index
    rows = log.frame[log.frame["arrival"] > log.frame["arrival"].iloc[0] + 300]
    mean = (rows["departure"] - rows["arrival"]).groupby(rows["arm"]).mean()
    assert made.loc["naive", "mean"] == pytest.approx(mean["B"] - mean["A"], rel=1e-6)


def test_table_of_truths_is_what_simulation_gives():
    """A twentieth of the table's arrivals; with 20 batches a false alarm once in 4 000 seeds."""
    effect, error, _ = truth.effect("batching", "weak", 0.7, runs=1, arrivals=200_000)
    tabled = truth.TRUTHS["batching", "weak", 0.7][0]
    assert error < 0.03 * abs(tabled)
    assert abs(effect - tabled) < ERRORS * error


def test_same_seed_same_log():
    one, two, other = (simulate("sticky", "weak", 0.7, seed, 2_000).frame for seed in (1, 1, 2))
    assert one.equals(two)
    assert not one.equals(other)


@pytest.mark.parametrize(
    ("lower", "upper", "missed"), [(0.5, 1, True), (-2, 1, False), (math.nan, math.nan, False)]
)
def test_only_an_interval_for_the_effect_misses_in_silence(lower, upper, missed):
    head = SimpleNamespace(effect=(lower + upper) / 2, effect_lower=lower, effect_upper=upper)
    assert misses_in_silence(SimpleNamespace(headline=head), 0.0) == missed


def test_headlines_are_read_off_analyses():
    analysis = analyze(simulate("fcfs", "weak", 0.7, 1, 12_000))
    said = headlines([analysis] * 2, analysis.headline.effect_lower - 1)
    assert (said["logs"], said["identified"], said["missed"], said["nothing"]) == (2, 2, 2, 0)
    assert said["slope"] == pytest.approx(analysis.headline.estimate)
    assert headlines([analysis], analysis.headline.effect)["missed"] == 0


def of_all_contrasts(name, logs, load=0.85, arrivals=50_000):
    """Analyses of logs of a system with their effects."""
    for contrast in SYSTEMS[name].contrasts:
        effect, _, _ = truth.known_effect(name, contrast, load)
        for seed in range(1000, 1000 + logs):
            yield analyze(simulate(name, contrast, load, seed, arrivals)), effect


@pytest.mark.slow(seconds=60)
@pytest.mark.parametrize("name", SYSTEMS)
def test_headlines_do_not_miss_in_silence(name):
    """At most one log in twenty, of 60: eight or fewer, exceeded once in 500 systems at that rate."""
    made = list(of_all_contrasts(name, 20))
    assert sum(misses_in_silence(analysis, effect) for analysis, effect in made) <= 8
    if name in ("fcfs", "processor_sharing", "batching", "bursts"):
        # Where the tool can know, it says so.
        assert sum(not math.isnan(analysis.headline.effect) for analysis, _ in made) >= 54
    if name == "service_treatment":
        assert not any(analysis.headline.estimate == 0.0 for analysis, _ in made)


@pytest.mark.slow(seconds=40)
@pytest.mark.parametrize("load", [0.7, 0.85])
def test_a_clean_log_of_a_weak_contrast_gets_no_warning(load):
    """In at least 90 % of logs: of 40, six or fewer are warned, exceeded once in 10 at exactly 90 %."""
    analyses = [analyze(simulate("fcfs", "weak", load, seed, 50_000)) for seed in range(2000, 2040)]
    assert sum(any(f.kind == "warning" for f in made.findings) for made in analyses) <= 6
