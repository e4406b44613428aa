"""Sets for the search over formulas: text, projection and the largest gain of a step, in mpmath's precision."""

from mpmath import mp, mpf


class Region:
    """A set of one player, with a point in it or near it."""

    def __init__(self, random, n, mild=False):
        self.n, self.random = n, random
        kinds = ["box", "ball", "simplex"] if mild else ["free", "box", "ball", "simplex", "halfspace"]
        self.kind = random.choice(kinds)
        self.point = getattr(self, self.kind)(mild)

    def special(self):
        return self.random.choice([0.0, 1.0, -1.0, 0.5, 0.1, -0.3, 2.0, self.random.uniform(-2, 2)])

    def free(self, _mild):
        self.text = 'set = "free"'
        return [self.special() for _ in range(self.n)]

    def box(self, mild):
        point = [self.special() for _ in range(self.n)]
        widths = [self.random.choice([0.0, 0.5, 1.0, 1e-9, 1e9]) for _ in range(2 * self.n)]
        if mild:
            widths = [1.0 + self.random.random() for _ in widths]
        self.lower = [p - w for p, w in zip(point, widths)]
        self.upper = [p + w for p, w in zip(point, widths[self.n :])]
        self.text = f"lower = {self.lower}\nupper = {self.upper}"
        return point

    def ball(self, _mild):
        self.radius = self.random.choice([1.0, 0.5, 3.0])
        self.text = f"set = {{ ball = {{ radius = {self.radius} }} }}"
        if self.random.random() < 0.3:
            point = [0.0] * self.n
            point[self.random.randrange(self.n)] = self.random.choice([-1, 1]) * self.radius
            return point
        return [self.special() * self.radius / 4 / self.n for _ in range(self.n)]

    def simplex(self, _mild):
        self.text = 'set = "simplex"'
        point = [self.random.choice([0.0, 1.0, 1.0, self.random.random()]) for _ in range(self.n)]
        total = sum(point)
        return [p / total for p in point] if total > 0 else [1.0] + [0.0] * (self.n - 1)

    def halfspace(self, _mild):
        self.a = [self.special() or 1.0 for _ in range(self.n)]
        point = [self.special() for _ in range(self.n)]
        self.b = sum(a * p for a, p in zip(self.a, point)) + self.random.choice([0.0, 0.0, 1.0, 1e-9])
        self.text = f"set = {{ halfspace = {{ a = {self.a}, b = {self.b} }} }}"
        return point

    def project(self, v):
        if self.kind == "box":
            return [min(max(v, mpf(l)), mpf(u)) for v, l, u in zip(v, self.lower, self.upper)]
        if self.kind == "ball":
            length = mp.sqrt(sum(a * a for a in v))
            return v if length <= self.radius else [a * self.radius / length for a in v]
        if self.kind == "simplex":
            above, level = mpf(0), mpf(0)
            for k, a in enumerate(sorted(v, reverse=True)):
                above += a
                if a > (above - 1) / (k + 1):
                    level = (above - 1) / (k + 1)
            return [max(a - level, mpf(0)) for a in v]
        if self.kind == "halfspace":
            beyond = sum(mpf(a) * b for a, b in zip(self.a, v)) - mpf(self.b)
            square = sum(mpf(a) ** 2 for a in self.a)
            return v if beyond <= 0 else [b - beyond / square * mpf(a) for a, b in zip(self.a, v)]
        return v

    def step(self, g, tau):
        z = self.project([mpf(x) - tau * d for x, d in zip(self.point, g)])
        return [z - mpf(x) for z, x in zip(z, self.point)]

    def gain(self, g, radius):
        """A tight lower bound of `max { -<g, s> }`: the gain of a step on the path whose length is just below the radius."""
        size = mp.sqrt(sum(d * d for d in g))
        if size == 0:
            return mpf(0)
        if self.kind == "free":
            return radius * size
        length = lambda s: mp.sqrt(sum(a * a for a in s))
        low = mpf(radius) / size
        low, high = low / 2, low * mpf(2) ** 120
        if length(self.step(g, high)) > radius:
            for _ in range(200):
                middle = mp.sqrt(low * high) if high > 4 * low else (low + high) / 2
                if length(self.step(g, middle)) <= radius:
                    low = middle
                else:
                    high = middle
                if high - low < low * mpf(2) ** -70:
                    break
        else:
            low = high
        s = self.step(g, low)
        gain = -sum(a * b for a, b in zip(g, s))
        return gain if length(s) <= radius else mpf(0)

    def samples(self, radius, count=6):
        """Some feasible steps."""
        out = []
        for k in range(count + 2 * self.n):
            d = [mpf(self.random.uniform(-1, 1)) for _ in range(self.n)]
            if k >= count:
                d = [mpf(0)] * self.n
                d[(k - count) // 2] = mpf(1 if k % 2 else -1)
            s = self.step(d, mpf(2))
            length = mp.sqrt(sum(a * a for a in s))
            inside = self.step([mpf(0)] * self.n, mpf(1))
            if length > radius and any(inside):
                continue
            out.append([a * radius / length for a in s] if length > radius else s)
        return out
