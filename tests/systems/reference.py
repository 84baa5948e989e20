"""The event loop of `servers` again: plain Python, jobs as objects, one heap of events."""

import heapq
from dataclasses import dataclass, field

import numpy as np

SWITCH, ARRIVE, LEAVE = range(3)


@dataclass
class Job:
    """One job at a server."""

    number: int
    left: float
    deadline: float


@dataclass
class Server:
    """A server and its jobs in order of arrival."""

    limit: int
    slowdown: float
    up: bool = True
    since: float = 0.0
    version: int = 0
    jobs: list = field(default_factory=list)

    def at_work(self):
        return self.jobs[: self.limit]

    def work_until(self, time):
        working = self.at_work() if self.up else []
        for job in working:
            job.left -= (time - self.since) / (1 + self.slowdown * (len(working) - 1))
        self.since = time

    def next_to_leave(self):
        """Return when and which job leaves next if nothing else happens here."""
        working = self.at_work()
        pace = 1 + self.slowdown * (len(working) - 1)
        ends = [(self.since + job.left * pace, job) for job in working if self.up]
        ends += [(job.deadline, job) for job in self.jobs[self.limit :]]
        return min(ends, key=lambda end: end[0], default=(np.inf, None))


def run(
    arrival, requirement, treated, order, samples, first, last, session, sessions, stick,
    deadline, switch_time, switch_server, limit, slowdown,
):  # fmt: skip
    """Do what `systems.servers.run` does, slowly."""
    servers = [Server(limit, slowdown) for _ in range(order.shape[1])]
    events = [(time, SWITCH, k, int(s), None) for k, (time, s) in
              enumerate(zip(switch_time, switch_server, strict=True))]  # fmt: skip
    events += [(time, ARRIVE, j, j, None) for j, time in enumerate(arrival)]
    heapq.heapify(events)
    departure, chosen, home = np.full(len(arrival), np.nan), np.empty((2, len(arrival)), int), {}
    scheduled = len(events)

    def choose(arm, j):
        at = home.get(session[j]) if session[j] >= 0 else None
        if at is not None and len(servers[at].jobs) < stick:
            return at
        allowed = [s for s in order[j] if first[arm, j] <= s < last[arm, j]][: samples[arm]]
        return min(allowed, key=lambda s: len(servers[s].jobs))

    while events:
        time, what, _, which, left = heapq.heappop(events)
        if what == ARRIVE:
            chosen[:, which] = choose(0, which), choose(1, which)
            number = int(chosen[int(treated[which]), which])
            home[session[which]] = number
            server = servers[number]
            server.work_until(time)
            server.jobs.append(Job(which, requirement[which], deadline[which]))
        elif what == SWITCH:
            number, server = which, servers[which]
            server.work_until(time)
            server.up = not server.up
        else:
            job, version = left
            number, server = which, servers[which]
            if version != server.version:
                continue
            server.work_until(time)
            server.jobs.remove(job)
            departure[job.number] = time
        server.version += 1
        end, job = server.next_to_leave()
        if job is not None and np.isfinite(end):
            scheduled += 1
            heapq.heappush(events, (end, LEAVE, scheduled, number, (job, server.version)))
    return departure, chosen
