"""Event-by-event simulation of a dispatcher and parallel FCFS servers, on given random inputs."""

from collections import deque
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import floor

# Kinds of event, in the order in which simultaneous ones happen.
COMPLETION, LANDING, REFRESH, ARRIVAL = range(4)

NO_COUNTERFACTUAL = {
    f"{field}_if_{arm}": None
    for field in ("server", "queue", "seen")
    for arm in ("control", "treated")
}


@dataclass
class Job:
    """One job; the times are filled in as they become known."""

    arrival: float
    requirement: float
    treated: bool
    permutation: list
    server: int | None = None
    in_system: int | None = None
    queue_length: int | None = None
    start: float | None = None
    departure: float | None = None
    counterfactual: dict | None = None


def choose(policy, permutation, seen, speeds, turn):
    """Return the server that a policy picks.

    Parameters
    ----------
    policy : dict
        Its name under "policy", and the number of samples under "d" where it needs one.
    permutation : list of int
        The servers open to the arm in random order; ties go to the first.
    seen : list of int
        Length of every server's queue as the dispatcher sees it.
    speeds : list of float
    turn : int
        Number of jobs the arm has routed so far (round robin only).
    """
    name = policy["policy"]
    if name in ("power_of_d", "shortest_expected_delay"):
        d = policy["d"]
        if not 1 <= d <= len(permutation):
            raise ValueError(f"d is {d}, it must lie between 1 and {len(permutation)}")
    if name == "random":
        return permutation[0]
    # min() returns the first of equal candidates, which is the rule for ties.
    if name == "power_of_d":
        return min(permutation[:d], key=lambda server: seen[server])
    if name == "join_shortest_queue":
        return min(permutation, key=lambda server: seen[server])
    if name == "shortest_expected_delay":
        return min(permutation[:d], key=lambda server: (seen[server] + 1) / speeds[server])
    if name == "join_idle_queue":
        idle = [server for server in permutation if seen[server] == 0]
        return idle[0] if idle else permutation[0]
    if name == "round_robin":
        return sorted(permutation)[turn % len(permutation)]
    raise ValueError(f"unknown policy {name!r}")


def length_at(history, time):
    """Return the last length in `history` (pairs of time and new length) not later than `time`."""
    for when, length in reversed(history):
        if when <= time:
            return length
    return 0


def simulate(
    arrival_times,
    requirements,
    treated,
    permutations,
    *,
    speeds,
    control,
    treatment,
    travel_time=0.0,
    information=None,
    pools=None,
    record_from=0.0,
):
    """Run all given jobs to completion, one event after the other.

    Every event sits in one calendar. Simultaneous events happen in this order: completions,
    landings, refreshes of the bulletin board, decisions. A server's queue is the deque of the jobs
    that have landed and are not completed, its head being the job in service.

    Parameters
    ----------
    arrival_times : sequence of float
        In increasing order; they may be negative. The system is empty before the first.
    requirements : sequence of float
        A job's service takes its requirement divided by its server's speed.
    treated : sequence of bool
    permutations : sequence of sequences of int
        Per arrival, all servers open to it in random order: all N of them, or under `pools` those
        of its own arm's pool.
    speeds : sequence of float
    control, treatment : dict
        Policies, see `choose`. Round robin keeps one pointer per arm over its servers by increasing
        number, from the first job on; only jobs that the arm routes advance it.
    travel_time : float
        From dispatch to landing.
    information : None or dict
        What the dispatcher sees: None, the lengths now; {"kind": "constant_age", "age": a}, the
        lengths at t - a; {"kind": "bulletin_board", "period": p}, the lengths at p * floor(t / p).
        All events at that instant are included, only landed jobs count, and before the first
        event all queues are empty.
    pools : None or pair of sequences of int
        The servers of control and treatment in a group design.
    record_from : float

    Returns
    -------
    records : list of dict
        One per arrival at or after `record_from`, in order of arrival.
    carry : list of dict
        Server, arrival, start and departure of the jobs that were dispatched before `record_from`
        and completed after it, in order of arrival.
    """
    speeds = [float(speed) for speed in speeds]
    servers = range(len(speeds))
    arms = {False: control, True: treatment}
    if pools is None:
        own_servers = {False: list(servers), True: list(servers)}
    else:
        own_servers = {False: sorted(map(int, pools[0])), True: sorted(map(int, pools[1]))}

    jobs = [
        Job(float(arrival), float(requirement), bool(arm), [int(server) for server in permutation])
        for arrival, requirement, arm, permutation in zip(
            arrival_times, requirements, treated, permutations, strict=True
        )
    ]
    for number, job in enumerate(jobs):
        if number and job.arrival < jobs[number - 1].arrival:
            raise ValueError(f"arrival {number} comes before the one in front of it")
        if sorted(job.permutation) != own_servers[job.treated]:
            raise ValueError(f"permutation {number} is not one of {own_servers[job.treated]}")

    calendar = [(job.arrival, ARRIVAL, number) for number, job in enumerate(jobs)]
    kind = None if information is None else information["kind"]
    if kind not in (None, "constant_age", "bulletin_board"):
        raise ValueError(f"unknown kind of information {kind!r}")
    if kind == "bulletin_board":
        # Only the refreshes that some decision reads. The minimum keeps one that rounding puts
        # after its decision from coming too late.
        period = information["period"]
        instants = {min(period * floor(job.arrival / period), job.arrival) for job in jobs}
        calendar += [(instant, REFRESH, 0) for instant in instants]
    heapify(calendar)

    queues = [deque() for _ in servers]
    histories = [[] for _ in servers]
    board, board_time = [0 for _ in servers], None
    turns = {False: 0, True: 0}
    in_system = 0

    def begin_service(server, now):
        job = queues[server][0]
        job.start = now
        heappush(calendar, (now + job.requirement / speeds[server], COMPLETION, server))

    def what_is_seen(now):
        if kind == "constant_age":
            return [length_at(history, now - information["age"]) for history in histories]
        if kind == "bulletin_board":
            return list(board)
        return [len(queue) for queue in queues]

    while calendar:
        now, event, number = heappop(calendar)

        if event == COMPLETION:
            server = number
            queues[server].popleft().departure = now
            in_system -= 1
            if queues[server]:
                begin_service(server, now)

        elif event == LANDING:
            server = jobs[number].server
            jobs[number].queue_length = len(queues[server])
            queues[server].append(jobs[number])
            if len(queues[server]) == 1:
                begin_service(server, now)

        elif event == REFRESH:
            board, board_time = [len(queue) for queue in queues], now

        elif event == ARRIVAL:
            job = jobs[number]
            seen = what_is_seen(now)
            if pools is None:
                choice = {
                    arm: choose(arms[arm], job.permutation, seen, speeds, turns[arm])
                    for arm in (False, True)
                }
                job.server = choice[job.treated]
                job.counterfactual = {
                    "server_if_control": choice[False],
                    "server_if_treated": choice[True],
                    "queue_if_control": len(queues[choice[False]]),
                    "queue_if_treated": len(queues[choice[True]]),
                    "seen_if_control": seen[choice[False]],
                    "seen_if_treated": seen[choice[True]],
                }
            else:
                policy = arms[job.treated]
                job.server = choose(policy, job.permutation, seen, speeds, turns[job.treated])
                job.counterfactual = NO_COUNTERFACTUAL
            turns[job.treated] += 1
            job.in_system = in_system
            in_system += 1
            heappush(calendar, (now + travel_time, LANDING, number))

        if event in (COMPLETION, LANDING):
            histories[server].append((now, len(queues[server])))
            if now == board_time:  # the board includes all events at its instant
                heappush(calendar, (now, REFRESH, 0))

    records = [
        {
            "arrival_time": job.arrival,
            "treated": job.treated,
            "server": job.server,
            "queue_length": job.queue_length,
            "in_system": job.in_system,
            "response_time": job.departure - job.arrival,
            **job.counterfactual,
        }
        for job in jobs
        if job.arrival >= record_from
    ]
    carry = [
        {
            "server": job.server,
            "arrival": job.arrival,
            "start": job.start,
            "departure": job.departure,
        }
        for job in jobs
        if job.arrival < record_from < job.departure
    ]
    return records, carry


def littles_law_area(records, carry, record_end, record_from=0.0):
    """Return the area under the number in system over [record_from, record_end], twice.

    First as the sum over jobs of the time each spends in the system within the record, then as the
    integral over time of the number in system, which starts at the number of carried-in jobs.
    """
    stays = [(job["arrival"], job["departure"]) for job in carry]
    stays += [(r["arrival_time"], r["arrival_time"] + r["response_time"]) for r in records]
    over_jobs = sum(
        max(0.0, min(departure, record_end) - max(arrival, record_from))
        for arrival, departure in stays
    )

    changes = [(job["departure"], -1) for job in carry]
    changes += [(r["arrival_time"], +1) for r in records]
    changes += [(r["arrival_time"] + r["response_time"], -1) for r in records]
    over_time, number, since = 0.0, len(carry), record_from
    for time, change in sorted(changes):
        if time > record_end:
            break
        over_time += number * (time - since)
        number, since = number + change, time
    over_time += number * (record_end - since)
    return over_jobs, over_time
