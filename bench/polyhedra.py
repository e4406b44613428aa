"""Games on polyhedra of growing size: writes them as formula files with CSV data, solves each and prints the times.

    cargo build --release && python3 bench/polyhedra.py

Three kinds, all with n variables and 4 n rows for x (2 n random faces around the origin, 2 n sides of a box):
`indefinite` (an indefinite quadratic against a box), `convex` (a convex quadratic against a polytope of n/2 variables and 2 n rows)
and `equations` (as `indefinite`, with two rows of each of n/10 equations in place of faces). Needs only Python.
"""

import argparse
import json
import os
import random
import resource
import subprocess
import tempfile

KINDS = ["indefinite", "convex", "equations"]


def normals(draw, rows, cols, sigma):
    return [[draw.gauss(0.0, sigma) for _ in range(cols)] for _ in range(rows)]


def polytope(draw, n, equations=0):
    """4 n rows A z <= b: random faces at distance about 0.7, then the box [-2, 2]."""
    a = normals(draw, 2 * n - 2 * equations, n, n**-0.5)
    b = [0.7] * len(a)
    for row in normals(draw, equations, n, n**-0.5):
        a += [row, [-v for v in row]]
        b += [0.1, -0.1]
    for i in range(n):
        for sign in (1.0, -1.0):
            a.append([sign if k == i else 0.0 for k in range(n)])
            b.append(2.0)
    return a, b


def write_csv(folder, name, rows):
    with open(os.path.join(folder, name + ".csv"), "w") as out:
        for row in rows:
            out.write(",".join(map(repr, row if isinstance(row, list) else [row])) + "\n")


def write_game(folder, kind, n, seed):
    draw = random.Random(f"{kind}-{n}-{seed}")
    m = n // 2
    data = {"B": normals(draw, m, n, 1.5 * m**-0.5), "C": normals(draw, m // 2, m, m**-0.5)}
    h = normals(draw, n, n, n**-0.5)
    if kind != "convex":
        h = [[(h[i][k] + h[k][i]) / 2 for k in range(n)] for i in range(n)]
    data["H"] = h
    data["A"], data["b"] = polytope(draw, n, n // 10 if kind == "equations" else 0)
    quadratic, y_set = "0.5*dot(x, H @ x)", "{ box = { lower = -1, upper = 1 } }"
    if kind == "convex":
        quadratic, y_set = "0.5*sum((H @ x)^2)", '{ polyhedron = { A = "D", b = "d" } }'
        data["D"], data["d"] = polytope(draw, m)
    data["p"] = [draw.gauss(0.0, 1.0) for _ in range(n)]
    data["q"] = [draw.gauss(0.0, 1.0) for _ in range(m)]
    for name, rows in data.items():
        write_csv(folder, name, rows)
    path = os.path.join(folder, "game.toml")
    with open(path, "w") as out:
        out.write(f'objective = "{quadratic} + dot(p, x) + dot(y, B @ x + q) - 0.5*sum((C @ y)^2)"\n')
        out.write(f'[min.x]\ndim = {n}\nset = {{ polyhedron = {{ A = "A", b = "b" }} }}\n')
        out.write(f"[max.y]\ndim = {m}\nset = {y_set}\n[data]\n")
        for name in data:
            out.write(f'{name} = {{ file = "{name}.csv" }}\n')
    return path


def run(command, game, args):
    line = [command, "solve", game, "--eps", args.eps, "--json", "--time-limit", str(args.limit)] + args.options
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = subprocess.run(line, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if not result.stdout:
        raise SystemExit(result.stderr)
    return json.loads(result.stdout), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--sizes", default="30,60,120", help="variables of x")
    parse.add_argument("--kinds", default=",".join(KINDS))
    parse.add_argument("--seeds", type=int, default=3)
    parse.add_argument("--eps", default="1e-3")
    parse.add_argument("--limit", type=float, default=60.0, help="seconds per game")
    parse.add_argument("--command", default="target/release/standoff")
    parse.add_argument("--keep", help="write the games into this folder and keep them")
    parse.add_argument("options", nargs="*", help="further options of `standoff solve`, after --")
    args = parse.parse_args()
    print(f"{'kind':<12}{'rows x variables':<18}{'seed':>4}  {'seconds (user + system)':<24}{'gradients':>10}  ending")
    for size in map(int, args.sizes.split(",")):
        for kind in args.kinds.split(","):
            for seed in range(args.seeds):
                folder = args.keep and os.path.join(args.keep, f"{kind}-{size}-{seed}")
                if folder:
                    os.makedirs(folder, exist_ok=True)
                with tempfile.TemporaryDirectory() as scratch:
                    answer, seconds = run(args.command, write_game(folder or scratch, kind, size, seed), args)
                calls = answer.get("calls", {})
                gradients = calls.get("grad_x", 0) + calls.get("grad_y", 0)
                shape = f"{4 * size} x {size}"
                print(f"{kind:<12}{shape:<18}{seed:>4}  {seconds:<24.2f}{gradients:>10}  {answer.get('status', answer)}", flush=True)


if __name__ == "__main__":
    main()
