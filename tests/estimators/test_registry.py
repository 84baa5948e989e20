"""What estimators say of themselves: what they estimate, and what they assume."""

import pytest

from queuebench.estimators import all_estimators, assuming, known_estimators, register
from queuebench.estimators.common.registry import (
    ASSUMPTIONS,
    ESTIMANDS,
    ROLES,
    compared_estimators,
    roles,
)


def test_every_estimator_says_what_it_estimates_and_assumes():
    for entry in all_estimators():
        assert entry.estimand in ESTIMANDS
        assert entry.assumes < set(ASSUMPTIONS), f"{entry.name} does not say what it assumes"


@pytest.mark.parametrize(
    ("word", "what"),
    [
        ({"estimand": "truth"}, "estimand"),
        ({"assumes": ["peace"]}, "assumption"),
        ({"role": "king"}, "role"),
        ({"exact": "guess"}, "exact answer"),
        ({"compared": "apples"}, "comparison"),
    ],
)
def test_unknown_words_are_refused(word, what):
    with pytest.raises(ValueError, match=rf"^unheard_of: no {what} is named"):
        register("unheard_of", design="bernoulli", **word)


def test_a_role_is_played_once():
    with pytest.raises(ValueError, match="naive is the baseline already"):
        register("unheard_of", design="bernoulli", role="baseline")(lambda record, horizon: None)
    assert set(roles()) == set(ROLES)
    assert "unheard_of" not in known_estimators()


def test_the_first_choice_of_a_comparison_is_by_rank():
    assert compared_estimators()["model_free"] == ["mixed_dq_coupled", "mixed_dq"]


def test_observed_costs_survive_a_treatment_of_service():
    fallen = assuming("equal_service")
    assert {"wdq", "mixed_dq", "qdq_coupled", "lstd_dq", "replay"} <= set(fallen)
    assert not {"naive", "wdq_observed", "qdq"} & set(fallen)


def test_only_a_design_is_asked_for():
    assert assuming("own_servers") == assuming("own_servers", design="group") == ("group",)
    assert assuming("own_servers", design="bernoulli") == ()
