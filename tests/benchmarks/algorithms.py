"""Algorithms as they are first written down: loops over elements, rows and little matrices, run once.

    python -m tests.benchmarks.algorithms                 all of them (needs the `conformance` extra)
    python -m tests.benchmarks.algorithms viterbi nms     some of them

Each library has a process of its own for each algorithm, in which something else has run before. The first run and the
least of further ones count, in ms; ratios are ours / PyTorch's.
"""

from __future__ import annotations

import json
import math
import random
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from .by_name import library_of

AGAIN = 5
ALGORITHMS: dict[str, Callable[[Any], Any]] = {}


def algorithm(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Decorator: a function of the library, which gives a number."""
    ALGORITHMS[function.__name__] = function
    return function


def seeded(lib: Any) -> random.Random:
    """Python's random numbers, after the library's were seeded."""
    lib.manual_seed(0)
    return random.Random(0)


# ---- dynamic programs --------------------------------------------------------------------------------


@algorithm
def viterbi(lib):
    """The likeliest states of a hidden Markov model."""
    seeded(lib)
    turns, seen = lib.rand(6, 6).softmax(1), lib.rand(6, 5).softmax(1)
    observed = lib.randint(0, 5, (60,))
    best, back = seen[:, observed[0]].log() - math.log(6), []
    for t in range(1, 60):
        best, arg = (best[:, None] + turns.log()).max(0)
        best = best + seen[:, observed[t]].log()
        back.append(arg)
    path = [int(best.argmax())]
    for arg in reversed(back):
        path.append(int(arg[path[-1]]))
    return sum(path)


@algorithm
def hidden_markov_gradient(lib):
    """Ten steps up the likelihood of a hidden Markov model."""
    seeded(lib)
    a, b = lib.randn(4, 4, requires_grad=True), lib.randn(4, 5, requires_grad=True)
    observed = lib.randint(0, 5, (30,))
    for _ in range(10):
        turns, seen = a.log_softmax(1), b.log_softmax(1)
        alpha = seen[:, observed[0]]
        for t in range(1, 30):
            alpha = lib.logsumexp(alpha[:, None] + turns, 0) + seen[:, observed[t]]
        loss = -lib.logsumexp(alpha, 0)
        loss.backward()
        with lib.no_grad():
            for p in (a, b):
                p -= 0.1 * p.grad
                p.grad = None
    return loss.item()


@algorithm
def edit_distance(lib):
    """Between two lines."""
    a, b = "intention of the writer", "execution of the reader"
    d = lib.zeros(len(a) + 1, len(b) + 1, dtype=lib.int64)
    for i in range(len(a) + 1):
        d[i, 0] = i
    for j in range(len(b) + 1):
        d[0, j] = j
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + (a[i - 1] != b[j - 1]))
    return d[-1, -1].item()


@algorithm
def value_iteration(lib):
    """On a grid of 6 x 6."""
    values, reward = lib.zeros(6, 6), lib.zeros(6, 6)
    reward[5, 5] = 1
    for _ in range(15):
        new = values.clone()
        for i in range(6):
            for j in range(6):
                best = -1e9
                for di, dj in ((0, 1), (1, 0), (0, -1), (-1, 0)):
                    a, b = min(max(i + di, 0), 5), min(max(j + dj, 0), 5)
                    q = reward[a, b] + 0.9 * values[a, b]
                    if q > best:
                        best = q
                new[i, j] = best
        if (new - values).abs().max() < 1e-4:
            break
        values = new
    return values.sum().item()


# ---- learning, by hand -------------------------------------------------------------------------------


@algorithm
def perceptron(lib):
    """Updates of 2,000 examples."""
    seeded(lib)
    x = lib.randn(200, 5)
    y, w, mistakes = lib.sign(x @ lib.randn(5)), lib.zeros(5), 0
    for _ in range(10):
        for i in range(200):
            if y[i] * (w @ x[i]) <= 0:
                w += y[i] * x[i]
                mistakes += 1
    return mistakes


@algorithm
def logistic_regression(lib):
    """300 steps whose gradient is written down."""
    seeded(lib)
    x = lib.randn(100, 3)
    y, w, b = (x[:, 0] > 0).float(), lib.zeros(3), lib.zeros(1)
    for _ in range(300):
        difference = lib.sigmoid(x @ w + b) - y
        w -= 0.1 * (x.T @ difference) / 100
        b -= 0.1 * difference.mean()
    return w.sum().item()


@algorithm
def network(lib):
    """300 steps of two layers, with their backward pass by hand."""
    seeded(lib)
    x, y = lib.randn(64, 10), lib.randn(64, 1)
    first, second = lib.randn(10, 32) * 0.1, lib.randn(32, 1) * 0.1
    for i in range(300):
        hidden = (x @ first).clamp(min=0)
        loss = ((hidden @ second - y) ** 2).sum()
        if i % 50 == 0:
            loss.item()
        slope = 2 * (hidden @ second - y)
        below = slope @ second.T
        below[hidden == 0] = 0
        second -= 1e-4 * (hidden.T @ slope)
        first -= 1e-4 * (x.T @ below)
    return loss.item()


@algorithm
def adam(lib):
    """200 steps of Adam's rule."""
    seeded(lib)
    w, x = lib.randn(10, 10, requires_grad=True), lib.randn(32, 10)
    m, v = lib.zeros(10, 10), lib.zeros(10, 10)
    for t in range(1, 201):
        loss = ((x @ w - x) ** 2).mean()
        loss.backward()
        with lib.no_grad():
            m = 0.9 * m + 0.1 * w.grad
            v = 0.999 * v + 0.001 * w.grad * w.grad
            w -= 0.01 * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8)
            w.grad = None
    return loss.item()


@algorithm
def recurrent_cell(lib):
    """Ten steps of an LSTM over 20 steps, each gate written down."""
    seeded(lib)
    w, u, x = (lib.randn(64, 8) * 0.1).requires_grad_(), (lib.randn(64, 16) * 0.1).requires_grad_(), lib.randn(20, 4, 8)
    for _ in range(10):
        h = c = lib.zeros(4, 16)
        for t in range(20):
            i, f, g, o = (x[t] @ w.T + h @ u.T).chunk(4, 1)
            c = lib.sigmoid(f) * c + lib.sigmoid(i) * lib.tanh(g)
            h = lib.sigmoid(o) * lib.tanh(c)
        loss = (h**2).mean()
        loss.backward()
        with lib.no_grad():
            for p in (w, u):
                p -= 0.1 * p.grad
                p.grad = None
    return loss.item()


@algorithm
def bandit(lib):
    """A thousand pulls, greedily but for one of ten."""
    draws = seeded(lib)
    q, n, means = lib.zeros(10), lib.zeros(10), lib.linspace(-1, 1, 10)
    for _ in range(1000):
        arm = draws.randrange(10) if draws.random() < 0.1 else int(q.argmax())
        reward = means[arm] + draws.gauss(0, 1)
        n[arm] += 1
        q[arm] += (reward - q[arm]) / n[arm]
    return q.max().item()


@algorithm
def factors_of_a_matrix(lib):
    """By stochastic gradients, rating by rating."""
    draws = seeded(lib)
    users, items = lib.randn(20, 4) * 0.1, lib.randn(30, 4) * 0.1
    ratings = [(draws.randrange(20), draws.randrange(30), draws.random() * 5) for _ in range(200)]
    for _ in range(5):
        for u, v, rating in ratings:
            error, before = rating - (users[u] * items[v]).sum(), users[u].clone()
            users[u] += 0.01 * (error * items[v] - 0.02 * users[u])
            items[v] += 0.01 * (error * before - 0.02 * items[v])
    return users.sum().item()


@algorithm
def nearest_neighbours(lib):
    """Classes of 100 points, one by one."""
    seeded(lib)
    x, y, found = lib.randn(200, 4), lib.randint(0, 3, (200,)), 0
    for _ in range(100):
        distances = ((x - lib.randn(4)) ** 2).sum(1)
        near = y[distances.topk(5, largest=False).indices]
        found += int(lib.bincount(near, minlength=3).argmax())
    return found


@algorithm
def decision_stump(lib):
    """The best of all splits of 80 examples."""
    seeded(lib)
    x = lib.randn(80, 4)
    y, best = (x[:, 1] > 0.2).long(), 1.0
    for feature in range(4):
        for threshold in x[:, feature]:
            left, impurity = x[:, feature] <= threshold, 0.0
            for part in (y[left], y[~left]):
                if len(part):
                    p = part.float().mean()
                    impurity += len(part) / 80 * float(2 * p * (1 - p))
            best = min(best, impurity)
    return best


@algorithm
def mixture(lib):
    """Fifty rounds of EM with two normal distributions."""
    seeded(lib)
    x = lib.cat([lib.randn(100, 2), lib.randn(100, 2) + 4])
    means, weights, variances = x[[0, 150]].clone(), lib.ones(2) / 2, lib.ones(2)
    for _ in range(50):
        distances = ((x[:, None] - means[None]) ** 2).sum(-1)
        shares = (weights.log() - distances / (2 * variances) - variances.log()).softmax(1)
        n = shares.sum(0)
        means, variances = (shares.T @ x) / n[:, None], (shares * distances).sum(0) / (2 * n)
        weights = n / 200
    return means.sum().item()


@algorithm
def genetic(lib):
    """Fifty generations of thirty."""
    draws = seeded(lib)
    population = lib.rand(30, 10)
    for _ in range(50):
        fitness = -((population - 0.5) ** 2).sum(1)
        parents, children = population[fitness.argsort(descending=True)[:10]], []
        for _ in range(30):
            a, b = draws.randrange(10), draws.randrange(10)
            mask = lib.tensor([draws.random() < 0.5 for _ in range(10)])
            children.append(lib.where(mask, parents[a], parents[b]) + 0.02 * draws.gauss(0, 1))
        population = lib.stack(children)
    return fitness.max().item()


# ---- numerical methods -------------------------------------------------------------------------------


@algorithm
def page_rank(lib):
    """Until it stands still."""
    seeded(lib)
    links = (lib.rand(50, 50) > 0.8).float()
    links, rank = links / links.sum(0).clamp(min=1), lib.ones(50) / 50
    for _ in range(200):
        new = 0.85 * links @ rank + 0.15 / 50
        if (new - rank).abs().sum() < 1e-5:
            break
        rank = new
    return rank.max().item()


@algorithm
def power_iteration(lib):
    """The greatest eigenvalue."""
    seeded(lib)
    a = lib.randn(40, 40)
    a, v = a @ a.T, lib.randn(40)
    for _ in range(200):
        v = a @ v
        v = v / v.norm()
    return (v @ a @ v).item()


@algorithm
def gauss_seidel(lib):
    """Unknown by unknown."""
    seeded(lib)
    n = 20
    a, b, x = lib.rand(n, n) + n * lib.eye(n), lib.rand(n), lib.zeros(n)
    for _ in range(20):
        for i in range(n):
            x[i] = (b[i] - a[i, :i] @ x[:i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return x.sum().item()


@algorithm
def elimination(lib):
    """Gauss's, row by row."""
    seeded(lib)
    n = 24
    a, b, x = lib.rand(n, n) + 3 * lib.eye(n), lib.rand(n), lib.zeros(n)
    for k in range(n):
        for i in range(k + 1, n):
            factor = a[i, k] / a[k, k]
            a[i, k:] -= factor * a[k, k:]
            b[i] -= factor * b[k]
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - (a[i, i + 1 :] * x[i + 1 :]).sum()) / a[i, i]
    return x.sum().item()


@algorithm
def newton(lib):
    """A root, by first and second derivatives."""
    x = lib.tensor(3.0, requires_grad=True)
    for _ in range(50):
        f = x**3 - 2 * x - 5
        (slope,) = lib.autograd.grad(f, x, create_graph=True)
        lib.autograd.grad(slope, x)
        with lib.no_grad():
            x -= f / slope
    return x.item()


@algorithm
def polynomial(lib):
    """Sine by a polynomial of degree three: 500 steps of PyTorch's tutorial."""
    x = lib.linspace(-math.pi, math.pi, 2000)
    y, coefficients = lib.sin(x), [lib.full((), 0.1 * k, requires_grad=True) for k in range(4)]
    for _ in range(500):
        a, b, c, d = coefficients
        loss = (a + b * x + c * x**2 + d * x**3 - y).pow(2).sum()
        loss.backward()
        with lib.no_grad():
            for p in coefficients:
                p -= 1e-6 * p.grad
                p.grad = None
    return loss.item()


# ---- simulations -------------------------------------------------------------------------------------


@algorithm
def bodies(lib):
    """Five of them, 200 steps."""
    seeded(lib)
    places, speeds, masses = lib.randn(5, 2), lib.zeros(5, 2), lib.rand(5)
    for _ in range(200):
        r = places[None] - places[:, None]
        squares = (r**2).sum(-1) + 0.1
        speeds = speeds + 0.01 * (masses[None, :, None] * r / squares[..., None] ** 1.5).sum(1)
        places = places + 0.01 * speeds
    return places.sum().item()


@algorithm
def lorenz(lib):
    """A thousand steps, each kept."""
    path, state = lib.zeros(1000, 3), lib.ones(3)
    for t in range(1000):
        x, y, z = state[0], state[1], state[2]
        state = state + 0.005 * lib.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])
        path[t] = state
    return path[:300].mean().item()


@algorithm
def cart_and_pole(lib):
    """500 steps, begun again when the pole falls."""
    state = lib.zeros(4)
    for _ in range(500):
        x, speed, angle, turn = state
        force = 10.0 if angle > 0 else -10.0
        cosine, sine = lib.cos(angle), lib.sin(angle)
        push = (force + 0.05 * turn**2 * sine) / 1.1
        spin = (9.8 * sine - cosine * push) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
        pull = push - 0.05 * spin * cosine / 1.1
        state = lib.stack([x + 0.02 * speed, speed + 0.02 * pull, angle + 0.02 * turn, turn + 0.02 * spin])
        if abs(state[2]) > 0.5:
            state = lib.zeros(4)
    return state.abs().sum().item()


@algorithm
def ising(lib):
    """1,500 spins looked at."""
    draws = seeded(lib)
    spins = lib.ones(16, 16)
    for _ in range(1500):
        i, j = draws.randrange(16), draws.randrange(16)
        energy = 2 * spins[i, j] * (spins[(i + 1) % 16, j] + spins[i - 1, j] + spins[i, (j + 1) % 16] + spins[i, j - 1])
        if energy <= 0 or draws.random() < math.exp(-0.4 * energy):
            spins[i, j] *= -1
    return spins.sum().item()


@algorithm
def game_of_life(lib):
    """A hundred generations."""
    seeded(lib)
    cells = (lib.rand(64, 64) > 0.7).int()
    for _ in range(100):
        moves = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]
        near = sum(lib.roll(cells, move, (0, 1)) for move in moves)
        cells = ((near == 3) | ((cells == 1) & (near == 2))).int()
    return cells.sum().item()


@algorithm
def mandelbrot(lib):
    """200 x 200 points."""
    y, x = lib.meshgrid(lib.linspace(-1.3, 1.3, 200), lib.linspace(-2, 1, 200), indexing="ij")
    c = lib.complex(x, y)
    z, inside = lib.zeros_like(c), lib.zeros(200, 200)
    for _ in range(30):
        z = z * z + c
        inside += (z.abs() < 4).float()
    return inside.mean().item()


@algorithm
def kalman(lib):
    """A filter of one number."""
    seeded(lib)
    seen = lib.cumsum(lib.randn(300) * 0.1, 0) + lib.randn(300)
    x, p, path = lib.tensor(0.0), lib.tensor(1.0), []
    for k in range(300):
        p = p + 0.01
        gain = p / (p + 1.0)
        x, p = x + gain * (seen[k] - x), (1 - gain) * p
        path.append(x)
    return lib.stack(path).mean().item()


# ---- others --------------------------------------------------------------------------------------------


@algorithm
def nms(lib):
    """Boxes that overlap little, the best first."""
    seeded(lib)
    boxes, scores = lib.rand(60, 4), lib.rand(60)
    boxes[:, 2:] += boxes[:, :2]
    order, kept = scores.argsort(descending=True), 0
    sizes = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    while len(order):
        i, rest = order[0], order[1:]
        kept += 1
        low, high = lib.maximum(boxes[i, :2], boxes[rest, :2]), lib.minimum(boxes[i, 2:], boxes[rest, 2:])
        inside = (high - low).clamp(0).prod(1)
        order = rest[inside / (sizes[i] + sizes[rest] - inside) <= 0.5]
    return kept


@algorithm
def convolution(lib):
    """Window by window."""
    seeded(lib)
    x, kernel, out = lib.rand(20, 20), lib.rand(3, 3), lib.zeros(18, 18)
    for i in range(18):
        for j in range(18):
            out[i, j] = (x[i : i + 3, j : j + 3] * kernel).sum()
    return out.sum().item()


@algorithm
def annealing(lib):
    """A round trip of twenty towns."""
    draws = seeded(lib)
    towns = lib.rand(20, 2)
    distances, tour, heat = lib.cdist(towns, towns), list(range(20)), 1.0

    def length(tour):
        return sum(distances[tour[i], tour[i - 1]] for i in range(20))

    now = length(tour)
    for _ in range(150):
        i, j = sorted(draws.sample(range(20), 2))
        other = tour[:i] + tour[i:j][::-1] + tour[j:]
        new = length(other)
        if new < now or draws.random() < math.exp(-(new - now).item() / heat):
            tour, now = other, new
        heat *= 0.97
    return now.item()


@algorithm
def letters(lib):
    """How likely a text is by its pairs of letters."""
    text = "the quick brown fox jumps over the lazy dog " * 10
    place = {c: i for i, c in enumerate(sorted(set(text)))}
    counts, likely = lib.zeros(len(place), len(place), dtype=lib.int32), 0.0
    for a, b in zip(text, text[1:]):
        counts[place[a], place[b]] += 1
    shares = (counts + 1).float()
    shares /= shares.sum(1, keepdim=True)
    for a, b in zip(text, text[1:]):
        likely += lib.log(shares[place[a], place[b]])
    return (likely / len(text)).item()


# ---- timing --------------------------------------------------------------------------------------------


def work(library: str, name: str) -> None:
    """Print the milliseconds of the first run and the least of further ones."""
    lib = library_of(library)
    (lib.ones(3) + 1).sum().item()
    times = []
    for _ in range(1 + AGAIN):
        begun = time.perf_counter()
        ALGORITHMS[name](lib)
        times.append((time.perf_counter() - begun) * 1e3)
    print(json.dumps([times[0], min(times[1:])]))


def main() -> None:
    """Print a table."""
    names = [name for name in sys.argv[1:] if name in ALGORITHMS] or list(ALGORITHMS)
    ratios: list[list[float]] = [[], []]
    print(f"{'':24s} first: ours, PyTorch, ratio       later")
    for name in names:
        found = []
        for library in ("ours", "torch"):
            command = [sys.executable, "-m", "tests.benchmarks.algorithms", "--work", library, name]
            found.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
        cells = []
        for column, ours, theirs in zip(ratios, *found):
            column.append(ours / theirs)
            cells.append(f"{ours:8.1f} ms {theirs:8.1f} {ours / theirs:6.2f}")
        print(f"{name:24s}{'   '.join(cells)}", flush=True)
    means = [math.exp(sum(map(math.log, column)) / len(column)) for column in ratios]
    print("geometric means: first {:.2f}, later {:.2f}".format(*means))


if __name__ == "__main__":
    work(*sys.argv[2:]) if sys.argv[1:2] == ["--work"] else main()
