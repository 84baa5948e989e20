"""Whether a policy is named and parametrised as its registration asks."""

import difflib

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
    wanted = policy(name).parameters
    for key in parameters:
        if key not in wanted:
            takes = f"takes {', '.join(wanted)}" if wanted else "takes no parameters"
            return key, f"unknown key, {name} {takes}"
    for key in wanted:
        if key not in parameters:
            return key, f"{name} needs this key"
    if "d" in wanted:
        return _find_fault_of_d(parameters["d"], pool, why)
    return None


def _find_fault_of_d(d, pool, why):
    if not isinstance(d, int) or isinstance(d, bool) or d < 1 or (pool is not None and d > pool):
        most = "up" if pool is None else f"to {pool} ({why})"
        return "d", f"must be a whole number from 1 {most}, got {d!r}"
    return None


def suggestion(word, known):
    """Return the nearest known word, if one is near, and all of them."""
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    hint = f" (did you mean {close[0]}?)" if close else ""
    return f"{hint}; known are {', '.join(known)}"
