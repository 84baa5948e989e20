"""Whether the arms of a group design kept to their own servers."""

import numpy as np

from queuebench.estimators import assuming
from queuebench.logs.findings import WARNING, Finding
from queuebench.logs.record.replicate import LogReplicate


def check_groups(replicate: LogReplicate) -> list[Finding]:
    """Return a finding if servers worked for both arms."""
    jobs = np.zeros((0, 2), np.int64)
    for server, treated in replicate.chunks("server", "treated"):
        counted = np.bincount(2 * server.astype(np.int64) + treated)
        counted = np.append(counted, 0) if len(counted) % 2 else counted
        rows = max(len(jobs), len(counted) // 2)
        both = np.zeros((rows, 2), np.int64)
        both[: len(jobs)] += jobs
        both[: len(counted) // 2] += counted.reshape(-1, 2)
        jobs = both
    shared = int((jobs > 0).all(axis=1).sum())
    if not shared:
        return []
    text = (
        f"{shared:,} servers worked for both arms; in a group design each arm has its own, and the "
        "difference of means is then not the effect"
    )
    return [Finding(WARNING, "shared_servers", shared, text, assuming("own_servers"))]
