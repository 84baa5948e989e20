"""Service requirements: laws with mean 1, in units of the mean service time at speed 1."""

from collections.abc import Callable

import numpy as np

from queuebench.study.settings import admit
from queuebench.study.types import Strict

_LAWS: dict[str, Callable] = {}


def _law(draw):
    _LAWS[draw.__name__.lstrip("_")] = draw
    return draw


def register_law(model: type[Strict]) -> Callable:
    """Return a decorator that registers a law from outside the package.

    Parameters
    ----------
    model : type
        What a study says of it: `distribution`, its name, and parameters, each with its bounds.

    Returns
    -------
    Callable
        Of ``draw(rng, out, **parameters)``, which fills `out` with independent requirements of mean 1, the
        same numbers from one stream however the draws are split into calls.

    Raises
    ------
    ValueError
        If the model has no name or one that is taken.
    """
    name = admit("service", model)
    return lambda draw: _LAWS.setdefault(name, draw)


def law_module(distribution: str) -> str:
    """Return the name of the module that defines a law."""
    return _LAWS[distribution].__module__


def draw_requirements(rng, distribution, parameters, out):
    """Fill an array with independent service requirements of mean 1.

    Parameters
    ----------
    rng : numpy.random.Generator
        The stream of service requirements; the same stream gives the same numbers however the
        draws are split into calls.
    distribution : str
        exponential, constant, pareto, erlang, hyperexponential or one from outside.
    parameters : dict
        ``shape`` for pareto, ``stages`` for erlang, ``scv`` for hyperexponential.
    out : ndarray of float64
        Filled in place.

    Raises
    ------
    KeyError
        If the distribution is unknown.
    """
    _LAWS[distribution](rng, out, **parameters)


@_law
def _exponential(rng, out):
    rng.standard_exponential(out=out)


@_law
def _constant(rng, out):
    out[:] = 1.0


@_law
def _pareto(rng, out, shape):
    """Pareto law on ``[x_m, oo)`` with ``x_m = (shape - 1) / shape``: exp(E / shape) is Pareto."""
    rng.standard_exponential(out=out)
    out /= shape
    np.exp(out, out=out)
    out *= (shape - 1) / shape


@_law
def _erlang(rng, out, stages):
    draws = rng.standard_exponential(size=(len(out), stages))
    np.sum(draws, axis=1, out=out)
    out /= stages


@_law
def _hyperexponential(rng, out, scv):
    """Two exponential phases with balanced means: ``p = (1 + sqrt((c - 1)/(c + 1))) / 2``."""
    p = (1 + np.sqrt((scv - 1) / (scv + 1))) / 2
    draws = rng.random(size=(len(out), 2))
    mean = np.where(draws[:, 0] < p, 0.5 / p, 0.5 / (1 - p))
    out[:] = -np.log1p(-draws[:, 1]) * mean
