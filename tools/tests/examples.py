"""Made-up proofs for mutate_proofs.py: games at their equilibria and a small network. Their claims are E, rounded up."""

import json
import math
import os
import random
import re

from test_network import CONV, above, conv_network, f32, reference_margins
from writer import checked, game_proof, network_proof, safetensors, sealed

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples")
SADDLE = 'objective = "x^3/3 - x + 2*x*y - y^2"\n[min.x]\nlower = 0\nupper = 2\n[max.y]\nlower = -1\nupper = 1\n'
CORNER = """objective = "3*w[0] + 2*w[1] + sum(w^2)/2 + 1.25*c + 2*h - 0.1*exp(h) - dot(q, B @ q)/2 + q[0]"
[min.w]
dim = 2
set = { ball = { radius = 1.0 } }
[min.c]
lower = -1
upper = 2
[max.h]
set = { halfspace = { a = 2, b = 3 } }
[max.q]
dim = 2
set = { polyhedron = { A = [[1, 0], [0, 1], [-1, -1]], b = [0.5, 0.5, 0.25] } }
[data]
B = [[2, 0.5], [0.5, 1]]
"""
MIXED = """objective = "dot(a, z) - 0.25*dot(z, z) + dot(p, M @ z) + sum(log1p(r^2)) + 0.5*abs(z[0])"
[min.z]
dim = 3
set = { l1 = { radius = 1.5 } }
[min.r]
dim = 2
set = { affine = { A = [[1, 1]], b = [1] } }
[max.p]
dim = 2
set = "simplex"
[data]
a = [0.1, -0.5, 3]
M = [[1, 0, 0], [0, 1, 0]]
"""


def example(name):
    with open(os.path.join(FOLDER, name)) as text:
        return text.read()


def bounds(proof):
    """The bounds that the checker prints, for any claims."""
    generous = json.loads(json.dumps(proof))
    generous["claim"].update(X=1e6, Y=1e6)
    code, output = checked(sealed(generous))
    if code:
        raise ValueError(output)
    return [float(re.search(rf"^{name}: E = (\S+),", output, re.MULTILINE)[1]) for name in "XY"]


def rounded_up(proof):
    """The same proof with claims just above its bounds."""
    for name, bound in zip("XY", bounds(proof)):
        proof["claim"][name] = math.nextafter(max(bound, 0.0), math.inf)
    return sealed(proof)


def corner():
    pull, w = -(1 - 1 / math.sqrt(13)), [v * (1 - 2**-50) / math.sqrt(13) for v in (-3, -2)]
    x = [{"n": [3 * pull, 2 * pull]}, {"n": [-1.25]}]
    y = [{"l": [1 - 0.05 * math.exp(1.5)]}, {"l": [0.125, 0.0, 0.0]}]
    return game_proof(CORNER, [*w, -1.0], [1.5, 0.5, -0.25], (0.0, 0.0), (x, y))


def mixed():
    x = [{"n": [0.0, -0.5, -3.75]}, {"l": [-0.8]}]
    return game_proof(MIXED, [0.0, 0.0, -1.5, 0.5, 0.5], [0.0, 1.0], (0.0, 0.0), (x, [{"n": [0.0, 0.0]}]), (((0, 0, [-0.2]),), ()))


def games():
    root, thirds = math.sqrt(2) - 1, [1 / 2, 1 / 3, 1 / 6]
    labels = [-0.9051482536448664, 0.6351489523872873, 0.9950547536867305]
    proofs = [
        game_proof(SADDLE, [root], [root], (0.0, 0.0)),
        game_proof(example("rock-paper-scissors.toml"), thirds, thirds, (0.0, 0.0), outside=(1e-16, 1e-16)),
        game_proof(example("kink.toml"), [0.5], [0.75 * math.sin(1.5)], (0.0, 0.0)),
        game_proof(example("robust-regression.toml"), [1.5], labels, (0.0, 0.0)),
        corner(),
        mixed(),
    ]
    return [rounded_up(proof) for proof in proofs]


def network(images=3):
    """A small network as bytes, and a proof for some images."""
    tensors = conv_network(5)
    random.seed(11)
    proven = []
    for _ in range(images):
        pixels = [f32(random.uniform(0, 1)) for _ in range(50)]
        margins = reference_margins(tensors, pixels, 0.05, 0)
        proven.append((pixels, 0, [None] + [above(v) for v in margins[1:]]))
    model = safetensors(CONV, tensors)
    return model, network_proof(model, proven, 0.05)
