"""Stable random streams: one per purpose, named and never counted.

A stream depends on the study's seed and on what it is for (a cell, a purpose, a replicate), never on
the position of something in a list. So the order of jobs, the size of batches and the addition of
scenarios, loads or replicates change no number that existed before.
"""

import functools
import hashlib

import numpy as np


def stream(seed, *key):
    """Return the random generator that belongs to a key.

    Parameters
    ----------
    seed : int
        The study's seed, not negative.
    *key : str or int
        What the stream is for, for example ``("homogeneous-load0.5", "bernoulli", "service", 17)``.
        Strings are hashed, integers (not negative) enter as they are.

    Returns
    -------
    numpy.random.Generator
        An SFC64 generator, the fastest of NumPy's; streams of different keys are independent
        because ``numpy.random.SeedSequence`` mixes the key into the seed.

    Raises
    ------
    ValueError
        If the seed or an integer of the key is negative.
    """
    words = [word for part in key for word in _words(part)]
    sequence = np.random.SeedSequence(seed, spawn_key=words)
    return np.random.Generator(np.random.SFC64(sequence))


@functools.lru_cache(maxsize=4096)
def _words(part):
    """Turn one part of a key into words of 32 bits, prefixed by their kind so that 1 is not "1"."""
    if isinstance(part, str):
        digest = hashlib.sha256(part.encode()).digest()
        return [1, *(int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4))]
    number = int(part)
    if number < 0:
        raise ValueError(f"a stream's key must not be negative, got {number}")
    return [0, number & 0xFFFFFFFF, number >> 32]
