"""Dispatch policies, one module each; importing this package registers all of them.

Every module here is found by itself: a new policy is one new file.
"""

import importlib
import pkgutil

from queuebench.queueing.policies.registry import known_policies, policy, register

__all__ = ["known_policies", "policy", "register"]

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
