"""Writes the hostile games for the certificate: `python3 make.py [KIND...]`, in this folder, with mpmath installed.

The tests do not run it; it takes about 5 minutes.

Each file is a game of one kind, with a point and the true bounds there in its first lines:

    # point: {"x": [...], "y": [...]}
    # truth: X >= number, Y >= number        or        # truth: outside

X is the largest first-order gain of x by a feasible step of length at most 1; Y is the same for y. At a kink, the one-sided
directional derivative counts. The numbers are lower bounds: exact.py exhibits a feasible step (checked with fractions) and
differentiates along it with 1500 digits. `outside` means that a player's point is not in its set, exactly. A certificate is
wrong if its upper bound of X or Y is below the number, or if it claims a small gap for a point outside.
Every case is written twice: NAME-min.toml, where the tested variable minimises, and NAME-max.toml, where it maximises.
"""

import json
import re
import shutil
import sys
from fractions import Fraction
from pathlib import Path

import cases
import exact

HERE = Path(__file__).parent


def toml(value):
    return "[" + ", ".join(map(toml, value)) + "]" if isinstance(value, list) else repr(value)


def text_of(case, side):
    """The game file without its first lines."""
    variable, other = ("x", "y") if side == "min" else ("y", "x")
    objective = re.sub(r"\bv\b", variable, case.objective)
    objective = f"{objective} - y^2" if side == "min" else f"x^2 - ({objective})"
    dim = f"dim = {len(case.point)}\n" if case.vector else ""
    tables = {side: f"[{side}.{variable}]\n{dim}{case.limits}\n"}
    mirror = "max" if side == "min" else "min"
    tables[mirror] = f"[{mirror}.{other}]\n{cases.UNIT}\n"
    data = "".join(f"{name} = {toml(value)}\n" for name, value in case.data.items())
    return f'objective = "{objective}"\n\n{tables["min"]}\n{tables["max"]}' + (f"\n[data]\n{data}" if data else "")


def truth_of(case, text, point, player):
    """The line with the true bounds; checks that the player under test has a gain."""
    game = exact.Game(text)
    inside = game.contains(player, [Fraction(e) for e in point[player]])
    assert inside != case.outside, f"{case.kind}/{case.name}: inside is {inside}"
    if case.outside:
        return "outside"
    gains = {p: exact.gain(game, point, p, case.extra if p == player else ()) for p in "xy"}
    assert gains[player] > 0, f"{case.kind}/{case.name}: the gain is not positive"
    return f"X >= {gains['x']!r}, Y >= {gains['y']!r}"


def write(case, side):
    player = "x" if side == "min" else "y"
    point = {"x": [0.0], "y": [0.0]} | {player: case.point}
    text = text_of(case, side)
    truth = truth_of(case, text, point, player)
    head = f"# point: {json.dumps(point)}\n# truth: {truth}\n# {case.why}\n"
    path = HERE / case.kind / f"{case.name}-{side}.toml"
    assert not path.exists(), f"two cases have the name {case.kind}/{case.name}"
    path.write_text(head + text)


def main():
    wanted = sys.argv[1:]
    for kind in cases.ALL:
        if wanted and kind.__name__ not in wanted:
            continue
        folder = HERE / kind.__name__
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for case in kind():
            for side in ("min", "max"):
                write(case, side)
        print(kind.__name__, len(list(folder.iterdir())))


if __name__ == "__main__":
    main()
