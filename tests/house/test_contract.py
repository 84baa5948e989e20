"""Everything that is registered keeps the contract, and what breaks it is found."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from queuebench.estimators import Estimate, EstimationError, all_estimators
from queuebench.estimators.common.registry import in_role
from queuebench.pipeline import contract
from queuebench.pipeline.contract import (
    ESTIMATOR_CHECKS,
    POLICY_CHECKS,
    check_estimator,
    check_policy,
    nanoseconds,
)
from queuebench.queueing.policies import known_policies, policy
from queuebench.queueing.policies.registry import SAMPLES

NAIVE = in_role("baseline")
PLAIN = policy("power_of_d")


@pytest.mark.parametrize("check", ESTIMATOR_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("entry", all_estimators(), ids=lambda entry: entry.name)
def test_an_estimator_keeps_the_contract(entry, check):
    assert check(entry) == ""


@pytest.mark.parametrize("check", POLICY_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", known_policies())
def test_a_policy_keeps_the_contract(name, check):
    assert check(policy(name)) == ""


def changed(change):
    """Return the naive estimator with something done to what it says."""
    return replace(NAIVE, function=lambda record, horizon: change(NAIVE.function(record, horizon)))


def first_chunk(record, horizon):
    treated, response = next(iter(record.replicate.chunks("treated", "response_time")))
    treated = treated.astype(bool)
    if treated.all() or not treated.any():
        raise EstimationError("an arm has no arrivals")
    return Estimate(float(response[treated].mean() - response[~treated].mean()), 1.0, note="short")


def deaf_to_arms(record, horizon):
    treated = record.replicate.column("treated").astype(bool)
    response = record.replicate.column("response_time")
    return Estimate(float(response[treated].sum() - response[~treated].sum()) / len(treated), 0.1)


BROKEN = {
    "empty_arm": replace(NAIVE, function=deaf_to_arms),
    "short_record": changed(lambda found: found._replace(note="", standard_error=math.nan)),
    "any_chunks": replace(NAIVE, function=first_chunk),
    "swapped_arms": changed(lambda found: found._replace(value=found.value + 1.0)),
    "alike_arms": changed(lambda found: found._replace(value=found.value + 0.2)),
    "honest_parts": changed(
        lambda found: found._replace(parts=None if found.parts is None else found.parts * 1.5)
    ),
    "right_value": changed(lambda found: found._replace(value=found.value * 1.3)),
    "right_error": changed(lambda found: found._replace(standard_error=found.standard_error / 5)),
}


@pytest.mark.parametrize("check", ESTIMATOR_CHECKS, ids=lambda check: check.__name__)
def test_each_check_finds_an_estimator_that_breaks_it(check):
    assert check(BROKEN[check.__name__]) != ""
    assert any(found.startswith(check.__name__.replace("_", " ")) for found in
               check_estimator(BROKEN[check.__name__]))  # fmt: skip


def ruled(rule, **attributes):
    return replace(PLAIN, rule=rule, **attributes)


def by_hash(permutation, start, size, parameters, seen, *_):
    return permutation[start] if seen[0] else permutation[start + 1]


TURNS = iter(range(10**6))
BROKEN_POLICIES = {
    "own_servers": ruled(lambda *_: 0),
    "reads_samples": ruled(lambda permutation, start, size, *_: permutation[start + size - 1]),
    "same_again": ruled(lambda permutation, start, *_: permutation[start + next(TURNS) % 2]),
    "equal_servers": ruled(by_hash),
    "bounded_parameters": replace(PLAIN, parameters=(replace(SAMPLES, least=3),)),
    "possible_flows": ruled(
        PLAIN.rule, capacity=lambda speeds, d: [(1, 0.5, speeds[0]), (2, 0.2, speeds.sum())]
    ),
}


@pytest.mark.parametrize("name", BROKEN_POLICIES)
def test_each_check_finds_a_policy_that_breaks_it(name):
    (check,) = (check for check in POLICY_CHECKS if check.__name__ == name)
    assert check(BROKEN_POLICIES[name]) != ""


def test_queues_that_grow_are_found(monkeypatch):
    growing = SimpleNamespace(in_system=np.arange(20_000))
    run = SimpleNamespace(blocks=lambda arrivals: [growing])
    monkeypatch.setattr(contract, "Setup", lambda cell: SimpleNamespace(pure=lambda arm: run))
    assert "jobs wait" in contract.stable_below_capacity(PLAIN)
    assert {*BROKEN_POLICIES, "stable_below_capacity"} == {c.__name__ for c in POLICY_CHECKS}


def test_what_is_found_is_said_in_sentences():
    (fault,) = (f for f in check_estimator(BROKEN["right_error"]) if f.startswith("right error"))
    assert "naive says" in fault
    assert check_policy(PLAIN) == []


def test_code_that_fails_is_a_finding_and_the_other_checks_go_on():
    found = check_estimator(replace(NAIVE, function=lambda record, horizon: 1 / 0))
    assert len(found) > 3
    assert all("raises ZeroDivisionError: division by zero" in fault for fault in found)


def test_time_is_told_per_arrival():
    assert 0.0 < nanoseconds(NAIVE) < 1e6
    assert np.isfinite(nanoseconds(NAIVE))
    assert contract.REPLICATES > 10
