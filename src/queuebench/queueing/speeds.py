"""Server speeds, scaled so that they sum to the number of servers."""

import numpy as np

_KINDS = {
    "equal": lambda servers: np.ones(servers),
    "two_speed": lambda servers, ratio: np.where(np.arange(servers) < servers // 2, 1.0, ratio),
    "linear": lambda servers, ratio: np.linspace(1.0, ratio, servers),
    "list": lambda servers, values: np.array(values, dtype=float),
}


def server_speeds(servers, kind, **parameters):
    """Return the service rates of all servers.

    Parameters
    ----------
    servers : int
        Number of servers N.
    kind : {"equal", "two_speed", "linear", "list"}
        ``two_speed`` (``ratio``): the first half slow, the others fast; ``linear`` (``ratio``):
        equally spaced; ``list`` (``values``): given.

    Returns
    -------
    ndarray of float64, shape (N,)
        Rates per mean service time; they sum to N.

    Raises
    ------
    ValueError
        If a list has the wrong length.
    """
    speeds = _KINDS[kind](servers, **parameters)
    if len(speeds) != servers:
        raise ValueError(f"there are {len(speeds)} speeds for {servers} servers")
    if np.all(speeds == speeds[0]):
        return np.ones(servers)
    return speeds * (servers / speeds.sum())


def speed_classes(speeds):
    """Number the classes of servers of equal speed, slowest first.

    Returns
    -------
    ndarray of int32, shape (N,)
    """
    return np.unique(speeds, return_inverse=True)[1].astype(np.int32)
