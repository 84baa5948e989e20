"""Whether a policy is named and parametrised as its registration asks."""

import difflib
import math
from numbers import Integral, Real

import numpy as np

from queuebench.queueing.policies.registry import known_policies, policy


def find_fault(name, parameters, pool=None, why="the number of servers"):
    """Return what is wrong with a policy as somebody gives it.

    Parameters
    ----------
    name : str
    parameters : dict
    pool : int, optional
        Servers it must be able to choose from; not checked by default.
    why : str
        What that number is.

    Returns
    -------
    tuple of two str, or None
        The key (``policy`` or a parameter) and a sentence; None if nothing is wrong.
    """
    if name not in known_policies():
        return "policy", f"no policy is named {name}{suggestion(name, known_policies())}"
    wanted = {parameter.name: parameter for parameter in policy(name).parameters}
    for key in parameters:
        if key not in wanted:
            takes = f"takes {', '.join(wanted)}" if wanted else "takes no parameters"
            return str(key), f"unknown key, {name} {takes}"
    for key in wanted:
        if key not in parameters:
            return key, f"{name} needs this key"
    for key, parameter in wanted.items():
        if not _allowed(parameter, parameters[key], pool):
            return key, f"must be {_what(parameter, pool, why)}, got {parameters[key]!r}"
    return None


def parameter_row(name: str, parameters: dict):
    """Return a policy's parameters as its rule reads them.

    Returns
    -------
    ndarray of float64, shape (k,)
        In the order in which the policy declares them.

    Raises
    ------
    ValueError
        If there is no such policy, or a parameter is missing, not one of its own or not allowed.
    """
    fault = find_fault(name, parameters)
    if fault:
        raise ValueError(": ".join(fault))
    return np.array([parameters[declared.name] for declared in policy(name).parameters], float)


def _allowed(parameter, value, pool):
    kind = Integral if parameter.whole else Real
    if not isinstance(value, kind) or isinstance(value, bool) or not math.isfinite(value):
        return False
    within = parameter.least <= value <= parameter.most
    return within and not (parameter.of_servers and pool is not None and value > pool)


def _what(parameter, pool, why):
    """Say in words what a parameter may be."""
    kind = "a whole number" if parameter.whole else "a number"
    least, most, reason = parameter.least, parameter.most, ""
    if parameter.of_servers and pool is not None and pool <= most:
        most, reason = pool, f" ({why})"
    if math.isinf(least) and math.isinf(most):
        return kind
    if math.isinf(least):
        return f"{kind} up to {most:g}{reason}"
    return f"{kind} from {least:g} {'up' if math.isinf(most) else f'to {most:g}{reason}'}"


def suggestion(word, known):
    """Return the nearest known word, if one is near, and all of them."""
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    hint = f" (did you mean {close[0]}?)" if close else ""
    return f"{hint}; known are {', '.join(known)}"
