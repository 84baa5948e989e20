"""What queueing theory gives in closed form."""


def mm1_response(load):
    """Return the mean response time of an M/M/1 queue, also that of random routing (d = 1).

    Parameters
    ----------
    load : float
        ``0 <= load < 1``.

    Returns
    -------
    float
        ``1 / (1 - load)`` mean service times.

    Raises
    ------
    ValueError
        If the queue is not stable.
    """
    if not 0 <= load < 1:
        raise ValueError(f"load is {load}; the system is stable for loads from 0 up to below 1")
    return 1 / (1 - load)
