"""Standard deviations and weights of the estimators against an independent prototype's table.

N = 20, d = 2 against 3, n = 100 000, horizon 30: figures of two earlier prototypes, known to about 4 %.
A sample standard deviation of R replicates has a relative standard error of sqrt(1 / (2 R)) (normal
estimates); bounds are four of those and 4 % for the table itself, so a false alarm of one of the
twelve comparisons happens once in about a thousand seeds.
"""

import numpy as np
import pytest

from queuebench.pipeline.stages.batches import simulate_and_estimate

REPLICATES = 400
TABLE = {
    0.7: {
        "wdq_observed": 0.446, "wdq": 0.303, "wdq_markov": 0.303, "qdq": 0.565, "mixed_dq": 0.1215,
        "mixed_dq_markov": 0.1215, "naive": 0.0088,
    },
    0.9: {
        "wdq_observed": 1.815, "wdq": 1.62, "wdq_markov": 1.62, "qdq": 2.01, "mixed_dq": 0.59,
        "mixed_dq_markov": 0.59, "naive": 0.0134,
    },
}  # fmt: skip
ALPHA = {0.7: 2.00, 0.9: 4.66}
EXACT_NAIVE = {0.7: -0.207878}


@pytest.mark.slow
@pytest.mark.parametrize("load", TABLE)
def test_the_table_of_standard_deviations(make_cell, tmp_path, load):
    import pandas as pd

    cell = make_cell(load=load, arrivals=100_000)
    simulate_and_estimate(
        cell, range(REPLICATES), [tmp_path / "e.parquet", tmp_path / "d.parquet"], tmp_path / "log"
    )
    rows = pd.read_parquet(tmp_path / "e.parquet")
    found = rows.groupby("estimator")["estimate"].agg(["mean", "std"])
    bound = 4 * np.sqrt(1 / (2 * REPLICATES)) + 0.04
    for name, expected in TABLE[load].items():
        assert found.loc[name, "std"] == pytest.approx(expected, rel=bound), name
    alpha = rows[rows["estimator"] == "mixed_dq_markov"]["alpha"]
    error = alpha.std() / np.sqrt(REPLICATES)
    # The table's alpha has two decimals and an error of its own of about the same size as ours.
    assert abs(alpha.mean() - ALPHA[load]) < 4 * np.sqrt(2) * error + 0.01
    if load in EXACT_NAIVE:
        error = found.loc["naive", "std"] / np.sqrt(REPLICATES)
        assert abs(found.loc["naive", "mean"] - EXACT_NAIVE[load]) < 4 * error
