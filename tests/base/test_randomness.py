import numpy as np
import pytest

from queuebench.base.randomness import stream


def test_streams_are_stable():
    """These numbers are an interface: changing them changes every result ever published."""
    assert stream(1, "cell", "service", 3).integers(0, 2**32, 3).tolist() == PINNED


PINNED = [3678573784, 492030372, 4003776888]


def test_keys_are_told_apart():
    keys = [(), ("a",), ("b",), ("a", 1), ("a", "1"), (1,), (1, "a"), ("a", "b"), ("ab",), (2**32,)]
    draws = {key: tuple(stream(7, *key).integers(0, 2**63, 2)) for key in keys}
    assert len(set(draws.values())) == len(keys)
    assert tuple(stream(8, "a").integers(0, 2**63, 2)) != draws[("a",)]


def test_draws_do_not_depend_on_how_they_are_split():
    whole = stream(5).standard_exponential(1000)
    split = stream(5)
    parts = np.concatenate([split.standard_exponential(k) for k in (1, 499, 500)])
    np.testing.assert_array_equal(whole, parts)


def test_negative_keys_are_refused():
    with pytest.raises(ValueError, match="must not be negative, got -1"):
        stream(1, -1)
