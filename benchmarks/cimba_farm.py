"""The workload of `benchmarks.peers` as a model of cimba, which compiles the classes of a module."""

import cimba

SERVERS = 20


class Server(cimba.Model):
    """One server: its length, and the area under it."""

    length: int = 0
    area: float = 0.0
    last: float = 0.0

    @cimba.function
    def change(self, by: int) -> int:
        """Change the length."""
        self.area += self.length * (cimba.now() - self.last)
        self.last = cimba.now()
        self.length += by
        return self.length

    @cimba.event
    def leave(self):
        """End a service and begin the next."""
        if self.change(-1) > 0:
            cimba.schedule(self.leave, cimba.random.exponential(1.0))


class Farm(cimba.Model):
    """All servers and the arrivals; the mean response by Little's law."""

    rate: cimba.Param[float] = 1.0
    servers: list[Server]
    arrivals: cimba.Output[int]
    response: cimba.Output[float]

    @cimba.function
    def shortest(self, d: int) -> int:
        """Return the shortest of two or three different servers."""
        first = cimba.random.dice(0, 19)
        second = cimba.random.dice(0, 18)
        if second >= first:
            second += 1
        best = first
        if self.servers[second].length < self.servers[best].length:
            best = second
        if d == 3:
            third = cimba.random.dice(0, 17)
            if third >= min(first, second):
                third += 1
            if third >= max(first, second):
                third += 1
            if self.servers[third].length < self.servers[best].length:
                best = third
        return best

    @cimba.process
    def source(self):
        """Send arrivals to servers."""
        while True:
            cimba.hold(cimba.random.exponential(1.0 / self.rate))
            server = self.servers[self.shortest(2 + cimba.random.bernoulli(0.5))]
            self.arrivals += 1
            if server.change(1) == 1:
                cimba.schedule(server.leave, cimba.random.exponential(1.0))

    @cimba.on_end
    def measure(self):
        """Divide the area under the number in system by the number of arrivals."""
        area = 0.0
        for i in range(SERVERS):
            area += self.servers[i].area
        self.response = area / self.arrivals


def run(rate, arrivals, seed):
    """Return the mean response time and the number of arrivals of one run."""
    farm = Farm()
    farm.rate = rate
    farm.servers = [Server() for _ in range(SERVERS)]
    window = cimba.Window(duration=arrivals / rate)
    results = cimba.Experiment(farm, window=window, seed=seed).run(workers=1)[farm]
    return float(results.response[0, 0]), int(results.arrivals[0, 0])
