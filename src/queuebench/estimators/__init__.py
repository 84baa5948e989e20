"""Estimators: from a trace to estimates of the global treatment effect.

Every module here is found by itself: a new estimator is one new file, a function decorated with `register`.
What estimators share is in `queuebench.estimators.common`.
"""

import importlib
import pkgutil

from queuebench.estimators.common.registry import (
    Estimate,
    EstimationError,
    all_estimators,
    assuming,
    estimators_for,
    known_estimators,
    register,
)

__all__ = [
    "Estimate",
    "EstimationError",
    "all_estimators",
    "assuming",
    "estimators_for",
    "known_estimators",
    "register",
]

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
