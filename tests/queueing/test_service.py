"""Service laws against their formulas: whole law, moments, and independence of how draws are split."""

import numpy as np
import pytest
from scipy import stats

from queuebench.base.randomness import stream
from queuebench.queueing.service import draw_requirements

DRAWS = 400_000


def hyperexponential_phases(scv):
    """Return probabilities and means of two phases of balanced means, from the two equations.

    ``p m = (1 - p) n = 1/2`` and ``2 (p m^2 + (1 - p) n^2) = 1 + scv`` give ``1/p + 1/(1 - p) =
    2 (1 + scv)``, a quadratic in p of which the root above 1/2 is meant.
    """
    p = max(np.roots([1.0, -1.0, 1.0 / (2.0 * (1.0 + scv))]).real)
    return np.array([p, 1 - p]), np.array([0.5 / p, 0.5 / (1 - p)])


def hyperexponential_cdf(scv):
    shares, means = hyperexponential_phases(scv)
    return lambda x: 1.0 - np.exp(-np.asarray(x)[..., None] / means) @ shares


def hyperexponential_moment(scv, k):
    shares, means = hyperexponential_phases(scv)
    return float(stats.expon.moment(k) * shares @ means**k)


# law, parameters, squared coefficient of variation, distribution function, raw moment
LAWS = {
    "exponential": ("exponential", {}, 1.0, stats.expon.cdf, stats.expon.moment),
    "erlang 1": ("erlang", {"stages": 1}, 1.0, stats.expon.cdf, stats.expon.moment),
    **{
        f"erlang {k}": (
            "erlang", {"stages": k}, 1 / k,
            stats.gamma(k, scale=1 / k).cdf, stats.gamma(k, scale=1 / k).moment,
        )
        for k in (3, 20)
    },
    **{
        f"hyperexponential {scv}": (
            "hyperexponential", {"scv": scv}, scv, hyperexponential_cdf(scv),
            lambda k, scv=scv: hyperexponential_moment(scv, k),
        )
        for scv in (1.0, 4.0)
    },
    **{
        f"pareto {a}": (
            "pareto", {"shape": a}, 1 / (a * (a - 2)) if a > 2 else np.inf,
            stats.pareto(a, scale=(a - 1) / a).cdf, stats.pareto(a, scale=(a - 1) / a).moment,
        )
        for a in (1.5, 2.5, 5.0)
    },
}  # fmt: skip


def drawn(law, parameters, sizes, seed=1):
    rng = stream(seed, "requirements")
    parts = [np.empty(size) for size in sizes]
    for part in parts:
        draw_requirements(rng, law, parameters, part)
    return np.concatenate(parts)


def test_the_formulas_of_this_file_have_mean_one_and_the_scv_named():
    for name, (_, _, scv, _, moment) in LAWS.items():
        assert moment(1) == pytest.approx(1.0, rel=1e-9), name
        if np.isfinite(scv):
            assert moment(2) == pytest.approx(1.0 + scv, rel=1e-9), name


@pytest.mark.parametrize("name", LAWS)
def test_the_whole_law(name):
    """Kolmogorov and Smirnov's test; a false alarm of one of the laws once in 10 000 seeds."""
    law, parameters, _, cdf, _ = LAWS[name]
    draws = drawn(law, parameters, [DRAWS])
    assert stats.kstest(draws, cdf).pvalue > 1e-4 / len(LAWS)


@pytest.mark.parametrize(
    "name", [name for name in LAWS if name not in ("pareto 1.5", "pareto 2.5")]
)
def test_mean_and_squared_variation(name):
    """Within four standard errors from the law's exact moments; false alarm once in 1100 seeds.

    (The second moment of a Pareto law of shape 5 has a finite variance but a skewed mean.)
    """
    law, parameters, scv, _, moment = LAWS[name]
    draws = drawn(law, parameters, [DRAWS], seed=2)
    assert abs(draws.mean() - 1.0) < 4 * np.sqrt(scv / DRAWS)
    error = np.sqrt((moment(4) - moment(2) ** 2) / DRAWS)
    assert abs((draws**2).mean() - (1.0 + scv)) < 4 * error


def test_the_mean_of_a_heavy_tail():
    """Pareto 2.5: within four standard errors of 1, and never below its least value."""
    draws = drawn("pareto", {"shape": 2.5}, [DRAWS], seed=2)
    assert abs(draws.mean() - 1.0) < 4 * np.sqrt(0.8 / DRAWS)
    assert draws.min() >= 0.6
    assert draws.min() == pytest.approx(0.6, rel=1e-4)


def test_constant_service_is_one():
    assert np.all(drawn("constant", {}, [1000]) == 1.0)


@pytest.mark.parametrize("name", LAWS)
def test_draws_do_not_depend_on_how_they_are_split(name):
    """The same bytes in one call and in many, of sizes on both sides of the processor's vectors."""
    law, parameters, *_ = LAWS[name]
    sizes = [1, 2, 3, 5, 1, 8, 17, 64, 1000, 7, 892]
    whole = drawn(law, parameters, [sum(sizes)])
    assert drawn(law, parameters, sizes).tobytes() == whole.tobytes()


@pytest.mark.parametrize("name", LAWS)
def test_draws_are_uncorrelated(name):
    """Lags 1 to 3 of the law's ranks (normal, variance 1/n); false alarm once in 700 seeds."""
    law, parameters, _, cdf, _ = LAWS[name]
    uniform = cdf(drawn(law, parameters, [100_000], seed=3)) - 0.5
    for lag in (1, 2, 3):
        correlation = 12 * np.mean(uniform[lag:] * uniform[:-lag])
        assert abs(correlation) * np.sqrt(len(uniform)) < 4


def test_one_stage_of_erlang_draws_what_exponential_draws():
    exponential = drawn("exponential", {}, [1000])
    assert drawn("erlang", {"stages": 1}, [1000]).tobytes() == exponential.tobytes()


def test_an_unknown_law_is_an_error():
    with pytest.raises(KeyError):
        draw_requirements(stream(1), "gamma", {}, np.empty(2))
