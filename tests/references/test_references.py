"""The references themselves, on examples small enough to be worked out by hand."""

import numpy as np
import pytest

from tests.references.estimators import (
    batch_means_se,
    difference_of_means,
    dq,
    fitted_cost,
    fitted_groups,
    group,
    horizon_arrivals,
    lambda_hat,
    markov_cost,
    mixed_dq,
    mixture,
    mu_hat,
    naive,
    observed_cost,
    optimal_alpha,
    queue_length_cost,
    switchback,
    truncated_q,
)
from tests.references.simulation import littles_law_area, simulate

RANDOM = {"policy": "random"}
JSQ = {"policy": "join_shortest_queue"}
JIQ = {"policy": "join_idle_queue"}
ROUND_ROBIN = {"policy": "round_robin"}


def power_of(d):
    return {"policy": "power_of_d", "d": d}


def expected_delay(d):
    return {"policy": "shortest_expected_delay", "d": d}


def column(records, name):
    return [record[name] for record in records]


def run(arrivals, requirements, treated, permutation, speeds, control, treatment, **options):
    """Simulate with the same permutation for every arrival and check that nothing is left over."""
    records, carry = simulate(
        arrivals,
        requirements,
        treated,
        [permutation] * len(arrivals),
        speeds=speeds,
        control=control,
        treatment=treatment,
        **options,
    )
    assert len(records) == len(arrivals)
    assert carry == []
    return records


def random_inputs(seed, jobs=300, servers=4, load=0.8, share=0.5, start=-20.0):
    rng = np.random.default_rng(seed)
    return (
        start + np.cumsum(rng.exponential(1 / (servers * load), jobs)),
        rng.exponential(1.0, jobs),
        rng.random(jobs) < share,
        [rng.permutation(servers) for _ in range(jobs)],
    )


# Simulation: examples by hand


def test_random_against_shortest_queue_on_two_servers():
    # t = 0: control, both idle; server 0 serves 0 to 3.
    # t = 1: control, lengths 1, 0; random takes server 0 and waits: 3 to 4. JSQ would take 1.
    # t = 2: treated, lengths 2, 0; server 1 serves 2 to 3.
    # t = 3: both completions at 3 come first: lengths 1, 0; server 1 serves 3 to 5.
    records = run(
        [0, 1, 2, 3], [3, 1, 1, 2], [False, False, True, True], [0, 1], [1, 1], RANDOM, JSQ
    )
    assert column(records, "server") == [0, 0, 1, 1]
    assert column(records, "queue_length") == [0, 1, 0, 0]
    assert column(records, "in_system") == [0, 1, 2, 1]
    assert column(records, "response_time") == [3, 3, 1, 2]
    assert column(records, "server_if_control") == [0, 0, 0, 0]
    assert column(records, "server_if_treated") == [0, 1, 1, 1]
    assert column(records, "queue_if_control") == [0, 1, 2, 1]
    assert column(records, "queue_if_treated") == [0, 0, 0, 0]
    assert column(records, "seen_if_control") == column(records, "queue_if_control")
    assert column(records, "seen_if_treated") == column(records, "queue_if_treated")


def test_travel_counts_in_the_system_but_not_in_the_queue():
    # Job 0 lands at 0.5 and is served until 1. Job 1 is sent at 0.5 (job 0 has just landed), lands
    # at 1 (job 0 has just left), is served until 2. Job 2 is sent at 0.75 (job 0 in the queue,
    # job 1 on its way), lands at 1.25 behind job 1, is served from 2 to 3.
    records = run(
        [0, 0.5, 0.75], [0.5, 1, 1], [True] * 3, [0], [1], RANDOM, RANDOM, travel_time=0.5
    )
    assert column(records, "queue_length") == [0, 0, 1]
    assert column(records, "queue_if_treated") == [0, 1, 1]
    assert column(records, "in_system") == [0, 1, 2]
    assert column(records, "response_time") == [1, 1.5, 2.25]


def test_speed_divides_the_requirement():
    # Server 1 is twice as fast: 0 to 1.5; the second job waits for it: 1.5 to 2.
    records = run([0, 1], [3, 1], [False] * 2, [1, 0], [1, 2], RANDOM, RANDOM)
    assert column(records, "response_time") == [1.5, 1]


def test_constant_age_sees_the_past():
    # Nobody completes. At 0 and 0.5 all looks empty; at 1 the landing at 0 is seen: lengths 1, 0;
    # at 1.5 those of 0.5 are seen: 2, 0 (the one that landed at 1 is not).
    records = run(
        [0, 0.5, 1, 1.5],
        [10] * 4,
        [True] * 4,
        [0, 1],
        [1, 1],
        RANDOM,
        JSQ,
        information={"kind": "constant_age", "age": 1.0},
    )
    assert column(records, "server") == [0, 0, 1, 1]
    assert column(records, "seen_if_treated") == [0, 0, 0, 0]
    assert column(records, "queue_if_treated") == [0, 1, 0, 1]
    assert column(records, "seen_if_control") == [0, 0, 1, 2]
    assert column(records, "queue_if_control") == [0, 1, 2, 2]


def test_bulletin_board_keeps_its_lengths_until_the_next_refresh():
    # Board of 0: empty, so 0.25 and 0.75 go to server 0. Board of 1: 2, 0, so 1 goes to server 1.
    # At 1.5 the board of 1 includes the landing at 1 itself: 2, 1. Board of 2: 2, 2.
    # The job in service at server 0 completes at 3, which the board of 3 includes: 2, 2 at 3.25.
    records = run(
        [0.25, 0.75, 1, 1.5, 2, 3.25],
        [2.75, 10, 10, 10, 10, 10],
        [True] * 6,
        [0, 1],
        [1, 1],
        RANDOM,
        JSQ,
        information={"kind": "bulletin_board", "period": 1.0},
    )
    assert column(records, "server") == [0, 0, 1, 1, 0, 0]
    assert column(records, "seen_if_control") == [0, 0, 2, 2, 2, 2]
    assert column(records, "seen_if_treated") == [0, 0, 0, 1, 2, 2]
    assert column(records, "queue_if_control") == [0, 1, 2, 2, 2, 2]
    assert column(records, "queue_length") == [0, 1, 0, 1, 2, 2]


def test_bulletin_board_is_refreshed_before_time_zero():
    # Boards of -1 (empty), -0.5 (one landed at -0.75), 0 (the same).
    records = run(
        [-0.75, -0.25, 0.25],
        [10] * 3,
        [True] * 3,
        [0, 1],
        [1, 1],
        RANDOM,
        JSQ,
        information={"kind": "bulletin_board", "period": 0.5},
        record_from=-1.0,
    )
    assert column(records, "seen_if_control") == [0, 1, 1]
    assert column(records, "server") == [0, 1, 0]


def test_delayed_views_ignore_jobs_on_their_way():
    # Sent at 0, lands at 1: not yet on view at 0.5, on view at 1.
    for information in (None, {"kind": "constant_age", "age": 0.0}):
        records = run(
            [0, 0.5, 1],
            [10] * 3,
            [False] * 3,
            [0, 1],
            [1, 1],
            JSQ,
            JSQ,
            travel_time=1.0,
            information=information,
        )
        assert column(records, "server") == [0, 0, 1]
        assert column(records, "in_system") == [0, 1, 2]
        assert column(records, "queue_length") == [0, 1, 0]


def test_round_robin_pointers_move_only_with_their_own_jobs():
    # Control: 0, 1, 2, then 0 again. Treatment: 0, 1. Everybody else peeks.
    treated = [False, False, True, False, True, False]
    records = run(range(6), [0.5] * 6, treated, [2, 0, 1], [1, 1, 1], ROUND_ROBIN, ROUND_ROBIN)
    assert column(records, "server") == [0, 1, 0, 2, 1, 0]
    assert column(records, "server_if_control") == [0, 1, 2, 2, 0, 0]
    assert column(records, "server_if_treated") == [0, 0, 0, 1, 1, 2]


def test_join_idle_queue():
    # Permutation 2, 0, 1: first 2, then the first idle one (0), then 1, then nobody is idle: 2.
    records = run(range(4), [10] * 4, [True] * 4, [2, 0, 1], [1, 1, 1], RANDOM, JIQ)
    assert column(records, "server") == [2, 0, 1, 2]
    assert column(records, "server_if_control") == [2, 2, 2, 2]


def test_shortest_expected_delay():
    # Speeds 1 and 3, nobody completes. (length + 1) / speed: 1 against 1/3, 2/3, then 3/3, a tie
    # that goes to the first in the permutation, server 0. With d = 1 only server 0 is looked at.
    records = run(
        range(4), [100] * 4, [True] * 4, [0, 1], [1, 3], expected_delay(1), expected_delay(2)
    )
    assert column(records, "server") == [1, 1, 0, 1]
    assert column(records, "server_if_control") == [0, 0, 0, 0]


def test_power_of_d_looks_at_the_first_d_of_the_permutation():
    # Permutation 1, 2, 0: d = 2 never looks at server 0.
    records = run(range(4), [10] * 4, [True] * 4, [1, 2, 0], [1, 1, 1], power_of(3), power_of(2))
    assert column(records, "server") == [1, 2, 1, 2]
    assert column(records, "server_if_control") == [1, 2, 0, 0]


def test_group_design_keeps_to_the_pools():
    # Control round robin over servers 1 and 3, treatment shortest queue over 0 and 2.
    treated = [False, True, False, True, False]
    permutations = [[3, 1], [2, 0], [3, 1], [2, 0], [1, 3]]
    records, carry = simulate(
        range(5),
        [10] * 5,
        treated,
        permutations,
        speeds=[1] * 4,
        control=ROUND_ROBIN,
        treatment=JSQ,
        pools=([3, 1], [0, 2]),
    )
    assert carry == []
    assert column(records, "server") == [1, 2, 3, 0, 1]
    assert column(records, "queue_length") == [0, 0, 0, 0, 1]
    assert column(records, "in_system") == [0, 1, 2, 3, 4]
    for field in ("server", "queue", "seen"):
        for arm in ("control", "treated"):
            assert column(records, f"{field}_if_{arm}") == [None] * 5


def test_carry_in_jobs_and_the_record():
    # One server: -3 to -1, -1 to 0 (completed at 0, not carried), 0 to 2 and 2 to 3 (carried),
    # then the recorded one, 3 to 4.
    records, carry = simulate(
        [-3, -2, -1.5, -1, 1],
        [2, 1, 2, 1, 1],
        [False] * 5,
        [[0]] * 5,
        speeds=[1],
        control=RANDOM,
        treatment=RANDOM,
    )
    assert carry == [
        {"server": 0, "arrival": -1.5, "start": 0, "departure": 2},
        {"server": 0, "arrival": -1, "start": 2, "departure": 3},
    ]
    assert len(records) == 1
    assert records[0]["in_system"] == 2
    assert records[0]["response_time"] == 3
    # Within [0, 2.5]: the first carried job stays 2, the second 2.5, the recorded one 1.5.
    assert littles_law_area(records, carry, 2.5) == (6.0, 6.0)
    assert littles_law_area(records, carry, 10.0) == (8.0, 8.0)


def test_wrong_inputs_are_refused():
    options = {"speeds": [1, 1], "control": RANDOM, "treatment": RANDOM}
    with pytest.raises(ValueError, match="permutation 0"):
        simulate([0], [1], [True], [[0]], **options)
    with pytest.raises(ValueError, match="arrival 1"):
        simulate([1, 0], [1, 1], [True] * 2, [[0, 1]] * 2, **options)
    with pytest.raises(ValueError, match="between 1 and 2"):
        simulate([0], [1], [True], [[0, 1]], **(options | {"control": power_of(3)}))
    with pytest.raises(ValueError, match="unknown policy"):
        simulate([0], [1], [True], [[0, 1]], **(options | {"control": {"policy": "other"}}))
    with pytest.raises(ValueError, match="unknown kind"):
        simulate([0], [1], [True], [[0, 1]], **options, information={"kind": "other"})


# Simulation: identities on random inputs

VIEWS = [
    None,
    {"kind": "constant_age", "age": 1.0},
    {"kind": "bulletin_board", "period": 0.7},
]
SPEEDS = [0.5, 0.5, 1.5, 1.5]


@pytest.mark.parametrize("information", VIEWS)
@pytest.mark.parametrize("travel_time", [0.0, 0.4])
def test_littles_law_and_recounted_columns(information, travel_time):
    records, carry = simulate(
        *random_inputs(1),
        speeds=SPEEDS,
        control=power_of(2),
        treatment=expected_delay(3),
        travel_time=travel_time,
        information=information,
    )
    assert carry
    end = records[-1]["arrival_time"]
    over_jobs, over_time = littles_law_area(records, carry, end)
    assert over_jobs == pytest.approx(over_time, rel=1e-12)

    # Every column counted again from arrivals and departures alone.
    stays = [(c["server"], c["arrival"], c["departure"]) for c in carry]
    stays += [
        (r["server"], r["arrival_time"], r["arrival_time"] + r["response_time"]) for r in records
    ]
    for r in records:
        t = r["arrival_time"]
        assert r["in_system"] == sum(arrival < t < departure for _, arrival, departure in stays)
        landing = t + travel_time
        assert r["queue_length"] == sum(
            server == r["server"] and arrival < t and landing < departure
            for server, arrival, departure in stays
        )
        for arm in ("control", "treated"):
            chosen, queue = r[f"server_if_{arm}"], r[f"queue_if_{arm}"]
            assert queue == sum(
                server == chosen and arrival + travel_time <= t < departure
                for server, arrival, departure in stays
                if arrival < t
            )
        assert r["server"] == r["server_if_treated" if r["treated"] else "server_if_control"]


@pytest.mark.parametrize(
    ("information", "moment"),
    [
        ({"kind": "constant_age", "age": 0.8}, lambda t: t - 0.8),
        ({"kind": "bulletin_board", "period": 0.7}, lambda t: 0.7 * np.floor(t / 0.7)),
    ],
)
def test_what_is_seen_is_the_number_landed_at_the_earlier_moment(information, moment):
    records, _ = simulate(
        *random_inputs(2),
        speeds=SPEEDS,
        control=JSQ,
        treatment=RANDOM,
        travel_time=0.3,
        information=information,
        record_from=-100.0,
    )
    for r in records:
        then = moment(r["arrival_time"])
        for arm in ("control", "treated"):
            assert r[f"seen_if_{arm}"] == sum(
                job["server"] == r[f"server_if_{arm}"]
                and job["arrival_time"] + 0.3 <= then
                and job["arrival_time"] + job["response_time"] > then
                for job in records
            )


@pytest.mark.parametrize("travel_time", [0.0, 0.4])
def test_age_zero_is_fresh(travel_time):
    options = {
        "speeds": SPEEDS,
        "control": power_of(2),
        "treatment": JIQ,
        "travel_time": travel_time,
    }
    fresh = simulate(*random_inputs(3), **options)
    assert fresh == simulate(
        *random_inputs(3), **options, information={"kind": "constant_age", "age": 0.0}
    )


@pytest.mark.parametrize(
    ("one", "other", "information"),
    [
        (power_of(4), JSQ, None),
        (power_of(4), JSQ, VIEWS[1]),
        (power_of(1), RANDOM, None),
        (expected_delay(1), RANDOM, None),
        (expected_delay(3), power_of(3), None),
        (expected_delay(3), power_of(3), VIEWS[2]),
        (JIQ, RANDOM, {"kind": "constant_age", "age": 1e9}),
        (JSQ, RANDOM, {"kind": "bulletin_board", "period": 1e9}),
    ],
)
def test_policies_that_coincide_at_equal_speeds(one, other, information):
    arrivals, requirements, treated, permutations = random_inputs(4, start=0.0)

    def outcome(policy):
        return simulate(
            arrivals,
            requirements,
            treated,
            permutations,
            speeds=[1.0] * 4,
            control=policy,
            treatment=policy,
            information=information,
        )

    assert outcome(one) == outcome(other)


def test_one_server_follows_the_lindley_recursion():
    arrivals, requirements, treated, _ = random_inputs(5, servers=1)
    records = run(arrivals, requirements, treated, [0], [1.0], JSQ, RANDOM, record_from=-1e9)
    wait, previous = 0.0, None
    for j, record in enumerate(records):
        if previous is not None:
            wait = max(0.0, wait + requirements[previous] - (arrivals[j] - arrivals[previous]))
        assert record["response_time"] == pytest.approx(wait + requirements[j], abs=1e-9)
        previous = j


def test_later_record_is_the_tail_of_the_earlier_one():
    options = {"speeds": [1.0] * 4, "control": power_of(2), "treatment": ROUND_ROBIN}
    whole, nobody = simulate(*random_inputs(6), **options, record_from=-1e9)
    tail, carry = simulate(*random_inputs(6), **options, record_from=10.0)
    assert nobody == []
    assert tail == whole[-len(tail) :]
    assert len(carry) == sum(
        r["arrival_time"] < 10 < r["arrival_time"] + r["response_time"] for r in whole
    )


# Estimators: examples by hand


def test_rate_and_horizon():
    assert lambda_hat([0.0, 1.0, 4.0]) == 0.5
    assert horizon_arrivals(30.0, 14.0) == 420
    assert horizon_arrivals(0.1, 30.0) == 3  # 0.1 * 30 is just above 3, 0.3 * 10 exactly 3
    assert horizon_arrivals(3.0, 0.7 / 0.1 / 3) == 7  # just below 7 in floating point


def test_fitted_cost_pools_upwards():
    # Lengths 0: 2 jobs, 1: 1 job, 2: 2 jobs, 3: 1 job; at least 2 each. Groups 0 | 1, 2 | 3, and
    # the last joins its neighbour. Means: (1 + 3)/2 = 2 and (4 + 6 + 8 + 10)/4 = 7.
    lengths = [0, 0, 1, 2, 2, 3]
    response = [1, 3, 4, 6, 8, 10]
    assert fitted_groups(lengths, 2) == [[0], [1, 2, 3]]
    assert fitted_cost([0] * 6, lengths, response, [1.0], minimum=2) == [2, 2, 7, 7, 7, 7]
    # Nothing reaches 7: one group, mean 32/6.
    assert fitted_groups(lengths, 7) == [[0, 1, 2, 3]]
    assert fitted_cost([0] * 6, lengths, response, [1.0]) == pytest.approx([32 / 6] * 6)
    # Length 1 does not occur: 0 is short, so 0, 1, 2 make a group.
    assert fitted_groups([0, 2, 2, 3, 3, 3], 3) == [[0, 1, 2], [3]]


def test_fitted_cost_has_its_own_groups_in_each_speed_class():
    # Servers 0 and 2 are one class: length 0 means (1 + 3)/2 = 2. Server 1 is another.
    cost = fitted_cost([0, 2, 1, 1], [0, 0, 0, 1], [1, 3, 10, 20], [1.0, 2.0, 1.0], minimum=1)
    assert cost == [2, 2, 10, 20]


def test_mu_hat():
    # Server 0: job 0 lands at 1 but starts at 2, when the carried job leaves: service 2 to 3.
    # Job 1 waits for it: 3 to 6. Job 3 leaves after the end, 8. Rate 2/4; with the carried job's
    # own 2 to its 1.5: 3/5.5.
    # Server 1 completes nothing: the pooled rate of its class (servers 0 and 1).
    # Server 2: one service from its landing at 2 to 2.5: rate 2.
    carry = [{"server": 0, "arrival": -1.0, "start": 0.5, "departure": 2.0}]
    data = ([0, 0, 2, 0], [1.0, 1.5, 2.0, 5.0], [2.0, 4.5, 0.5, 4.0], [1.0, 1.0, 2.0], 8.0)
    assert mu_hat(*data, carry=carry) == pytest.approx([0.5, 0.5, 2.0])
    assert mu_hat(*data, carry=carry, count_carry=True) == pytest.approx([3 / 5.5, 3 / 5.5, 2.0])
    # With a travel time of 0.25 only the service that starts at a landing changes: 2.25 to 2.5.
    assert mu_hat(*data, carry=carry, travel_time=0.25) == pytest.approx([0.5, 0.5, 4.0])
    with pytest.raises(ValueError, match="server 0"):
        mu_hat(*data[:4], 2.25)


def test_mu_hat_recovers_the_services_of_a_simulation():
    arrivals, requirements, treated, permutations = random_inputs(7)
    records, carry = simulate(
        arrivals,
        requirements,
        treated,
        permutations,
        speeds=SPEEDS,
        control=power_of(2),
        treatment=JSQ,
        travel_time=0.3,
    )
    server = column(records, "server")
    rates = mu_hat(
        server,
        column(records, "arrival_time"),
        column(records, "response_time"),
        SPEEDS,
        1e9,
        carry=carry,
        travel_time=0.3,
    )
    requirements = requirements[-len(records) :]
    for s, rate in enumerate(rates):
        services = [requirements[j] / SPEEDS[s] for j in range(len(server)) if server[j] == s]
        assert rate == pytest.approx(len(services) / sum(services), rel=1e-9)


def test_costs():
    assert observed_cost([1, 2]) == [1.0, 2.0]
    assert markov_cost([0, 1], [2, 0], [0.5, 2.0]) == [6.0, 0.5]
    assert markov_cost([0, 1], [2, 0], [0.5, 2.0], travel_time=1.0) == [7.0, 1.5]
    assert queue_length_cost([3, 4], 2.0) == [1.5, 2.0]
    assert queue_length_cost([3, 4], [2.0, 4.0]) == [1.5, 1.0]


def test_truncated_q():
    # Mean 2, centred -1, 0, 1, 2, -2; L = 1: sums of two neighbours.
    assert truncated_q([1, 2, 3, 4, 0], 1) == [-1, 1, 3, 0]
    assert truncated_q([1, 2, 3, 4, 0], 0) == [-1, 0, 1, 2, -2]
    assert truncated_q([1, 2, 3, 4], 2) == pytest.approx([-1.5, 1.5])  # L = n/2 is allowed
    with pytest.raises(ValueError, match="more than half"):
        truncated_q([1, 2, 3, 4, 0], 3)


def test_dq_uses_only_the_starts():
    # Q = -1, 1, 3, 0; treated starts 0 and 3: -1/2 - 4/2. The last arrival is no start.
    assert dq([1, 2, 3, 4, 0], [True, False, False, True, True], 1) == -2.5
    with pytest.raises(ValueError, match="2 starts"):
        dq([1, 2, 3, 4, 0], [True, False, False, False, True], 1)


def test_naive_and_group():
    assert naive([1, 2, 6], [False, True, True]) == 3
    assert group([1, 2, 6], [False, True, True]) == 3


def test_optimal_alpha():
    assert optimal_alpha([1, -1, 0, 0], [0, 0, 2, -2]) == pytest.approx(0.8)  # 2 / (0.5 + 2)
    assert optimal_alpha([1, -1], [2, -2]) == pytest.approx(2.0)  # (4 - 2) / (1 + 4 - 4)
    assert optimal_alpha([1, 2, 3], [1, 2, 3]) == 0.5
    assert optimal_alpha([1, 1], [1, 1]) == 0.5
    # Only the constant differs, so the denominator vanishes.
    assert optimal_alpha([1, 2, 3], [2, 3, 4]) == 0.5


def test_optimal_alpha_minimises_the_variance_of_the_mixture():
    rng = np.random.default_rng(8)
    q_w = rng.normal(size=50)
    q_q = 0.7 * q_w + rng.normal(size=50)
    alpha = optimal_alpha(q_w, q_q)
    best = np.var(mixture(q_w, q_q, alpha))
    assert best < np.var(mixture(q_w, q_q, alpha + 0.01))
    assert best < np.var(mixture(q_w, q_q, alpha - 0.01))


def test_mixed_dq():
    w_cost, q_cost = [1, 2, 3, 4, 0], [2, 0, 1, 1, 1]
    treated = [True, False, False, True, True]
    # Q_w = -1, 1, 3, 0; q centred 1, -1, 0, 0, 0, so Q_q = 0, -1, 0, 0.
    # Means 0.75 and -0.25; n Var_w = 11 - 9/4 = 8.75, n Var_q = 1 - 1/4 = 0.75,
    # n Cov = -1 + 3/4 = -0.25; alpha = (0.75 + 0.25) / (8.75 + 0.75 + 0.5) = 0.1.
    # wdq = -2.5, qdq = 0 + 1/2.
    estimate, alpha = mixed_dq(w_cost, q_cost, treated, 1)
    assert alpha == pytest.approx(0.1)
    assert estimate == pytest.approx(0.1 * -2.5 + 0.9 * 0.5)
    mixed = mixture(truncated_q(w_cost, 1), truncated_q(q_cost, 1), alpha)
    assert estimate == pytest.approx(difference_of_means(mixed, treated))


def test_switchback():
    # Period 1, record end 5.5: pairs (0, 1) and (2, 3) are whole, block 4 and 5 are dropped.
    arrivals = [0.1, 0.9, 1.5, 2.2, 3.1, 3.5, 4.5, 5.2]
    treated = [True, True, False, False, True, True, True, False]
    response = [1, 3, 5, 7, 10, 20, 1000, 1000]
    # Treated (1 + 3 + 10 + 20)/4 = 8.5, control (5 + 7)/2 = 6.
    assert switchback(arrivals, treated, response, 1.0, 5.5) == 2.5
    # Without the first 0.15 of each block (0.1 and 3.1 go): (3 + 20)/2 - 6.
    assert switchback(arrivals, treated, response, 1.0, 5.5, burn_in=0.15) == 5.5
    # A pair that ends with the record is whole: (34 + 1000)/5 - 1012/3.
    assert switchback(arrivals, treated, response, 1.0, 6.0) == pytest.approx(206.8 - 1012 / 3)


def test_batch_means_standard_error():
    # Means 3 and 3, shares 0.6 and 0.4: psi = -10/3, 5/2, 0, -5/2, 10/3. Batches of 2 and 3
    # starts: sums -5/6 and 5/6, mean 0; 2/1 * 2 * 25/36 = 25/9; (5/3)/5 = 1/3.
    values, treated = [1, 2, 3, 4, 5], [1, 0, 1, 0, 1]
    assert batch_means_se(values, treated, 2) == pytest.approx(1 / 3)
    # Arms beyond the last start are not read.
    assert batch_means_se(values, [*treated, 0, 0], 2) == pytest.approx(1 / 3)
    with pytest.raises(ValueError, match="2 at least"):
        batch_means_se(values, treated, 1)


def test_batch_means_of_single_starts_is_the_two_sample_standard_error():
    # One start per batch and B large: nearly sqrt(s_T^2 / n_T + s_C^2 / n_C).
    rng = np.random.default_rng(9)
    values, treated = rng.normal(size=2000), rng.random(2000) < 0.3
    expected = np.sqrt(
        np.var(values[treated]) / treated.sum() + np.var(values[~treated]) / (~treated).sum()
    )
    assert batch_means_se(values, treated, 2000) == pytest.approx(expected, rel=1e-3)
