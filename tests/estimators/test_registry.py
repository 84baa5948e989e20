"""What estimators say of themselves: what they estimate, and what they assume."""

import pytest

from queuebench.estimators import all_estimators, assuming, register
from queuebench.estimators.common.registry import ASSUMPTIONS, ESTIMANDS


def test_every_estimator_says_what_it_estimates_and_assumes():
    for entry in all_estimators():
        assert entry.estimand in ESTIMANDS
        assert entry.assumes < set(ASSUMPTIONS), f"{entry.name} does not say what it assumes"


@pytest.mark.parametrize("word", [{"estimand": "truth"}, {"assumes": ["peace"]}])
def test_unknown_words_are_refused(word):
    with pytest.raises(ValueError, match=r"no (estimand|assumption) is named"):
        register("unheard_of", design="bernoulli", **word)


def test_observed_costs_survive_a_treatment_of_service():
    fallen = assuming("equal_service")
    assert {"wdq", "mixed_dq", "qdq_coupled", "lstd_dq", "replay"} <= set(fallen)
    assert not {"naive", "wdq_observed", "qdq"} & set(fallen)


def test_only_a_design_is_asked_for():
    assert assuming("own_servers") == assuming("own_servers", design="group") == ("group",)
    assert assuming("own_servers", design="bernoulli") == ()
