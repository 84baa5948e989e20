from queuebench.pipeline.resources import job_memory, job_minutes


def test_a_small_job_asks_for_what_starting_takes():
    assert job_memory() == 1000
    assert job_minutes(0) == 20


def test_needs_grow_with_the_arrivals():
    assert job_memory(10_000_000) == 1600
    assert job_minutes(100_000_000) == 30


def test_costly_estimators_ask_for_more_time():
    assert job_minutes(100_000_000, 100.0) == 30
    assert job_minutes(100_000_000, 6_000.0) == 120
