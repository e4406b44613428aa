"""Draws the pictures of the README and of the documentation as SVG files, from runs of this package.

    python tools/pictures.py docs/pictures

The package must be installed with scikit-learn; the run takes about a minute. Colours are readable on white and on black.
"""

import sys
from pathlib import Path

import numpy as np

import standoff

ROOT = Path(__file__).resolve().parent.parent
INK, BLUE, ORANGE, GREY = "#6b7280", "#2f6fb3", "#d97706", "#9ca3af"


def svg(width, height, parts, title):
    """A picture with a title for screen readers."""
    style = f'font-family="sans-serif" font-size="13" fill="{INK}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" {style}>'
    return "\n".join([head, f"<title>{title}</title>", *parts, "</svg>", ""])


def text(x, y, words, anchor="start", more=""):
    safe = words.replace("&", "&amp;").replace("<", "&lt;")
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}>{safe}</text>'


def line(points, colour, width=2, more=""):
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}" {more}/>'


def adult():
    """Test accuracy of both classes of the table Adult, in percent, for the usual and for the worst-group training."""
    path = ROOT / "data/adult/adult.csv.gz"
    table = standoff.read_table(path, label="income", seed=1)
    found = {}
    for method in ("normal", "minmax"):
        model = standoff.FairClassifier(method=method, random_state=1, n_jobs=-1).fit(table.X, table.y)
        right = model.predict(table.test.X) == np.asarray(table.test.y)
        found[method] = [100 * right[np.asarray(table.test.y) == place].mean() for place in model.classes_]
    return list(table.classes), found


def bars(names, found, left, top, width, height):
    """Groups of two bars, with their values."""
    parts = [text(left, top - 12, "Accuracy by group: table Adult", more='font-weight="bold"')]
    step = width / len(names)
    for place, name in enumerate(names):
        for which, (method, colour) in enumerate([("normal", GREY), ("minmax", BLUE)]):
            value = found[method][place]
            x, tall = left + place * step + 8 + which * (step / 2 - 10), value / 100 * height
            parts.append(f'<rect x="{x:.1f}" y="{top + height - tall:.1f}" width="{step / 2 - 14:.1f}" height="{tall:.1f}" fill="{colour}"/>')
            parts.append(text(x + step / 4 - 7, top + height - tall - 5, f"{value:.0f} %", "middle"))
        parts.append(text(left + (place + 0.5) * step, top + height + 18, f"earns {name}", "middle"))
    parts.append(text(left, top + height + 42, "■ usual training", more=f'style="fill:{GREY}"'))
    parts.append(text(left + 130, top + height + 42, "■ trained for the worst group", more=f'style="fill:{BLUE}"'))
    return parts


def gaps(left, top, width, height):
    """X and Y of a formula game against gradients, on a logarithmic scale, and the proven eps."""
    eps = 1e-6
    r = standoff.Game.from_file(ROOT / "examples/worst-group.toml").solve(eps=eps)
    trace = r.trace
    calls = np.asarray(trace["njev_x"]) + np.asarray(trace["njev_y"])
    low, high = -8.0, 0.5

    def place(at, gap):
        return left + width * at / calls[-1], top + height * (high - np.clip(np.log10(max(gap, 1e-300)), low, high)) / (high - low)

    parts = [text(left, top - 12, "A formula: X and Y fall until eps is proven", more='font-weight="bold"')]
    for power in range(-8, 1, 2):
        y = place(0, 10.0**power)[1]
        parts.append(line([(left, y), (left + width, y)], GREY, 0.5, 'opacity="0.5"'))
        parts.append(text(left - 8, y + 4, f"1e{power}", "end"))
    for name, colour in [("gap_x", BLUE), ("gap_y", ORANGE)]:
        parts.append(line([place(a, g) for a, g in zip(calls, trace[name], strict=True)], colour))
    y = place(0, eps)[1]
    parts.append(line([(left, y), (left + width, y)], INK, 1.5, 'stroke-dasharray="5 4"'))
    parts.append(text(left + 6, y + 16, f"eps: {r.status}, {r.proof}"))
    parts.append(text(left + width - 4, top + 14, "X", "end", f'style="fill:{BLUE}" font-weight="bold"'))
    parts.append(text(left + width - 4, top + 32, "Y", "end", f'style="fill:{ORANGE}" font-weight="bold"'))
    parts.append(text(left + width, top + height + 18, f"{calls[-1]} gradients", "end"))
    return parts


def game():
    """The values of the game kink, its upper envelope, and the path of the default method."""
    seen = []

    def f(x, y):
        return np.cos(3 * x[0]) / 4 + y[0] * (x[0] - 0.5)

    def grad_x(x, y):
        seen.append((float(x[0]), float(y[0])))
        return [-0.75 * np.sin(3 * x[0]) + y[0]]

    r = standoff.solve(f, [1.7], [-1.0], [(-2, 2)], [(-1, 1)], grad_x, lambda x, y: [x[0] - 0.5], linear_in_y=True)
    left, top, width, height, columns, rows = 50, 20, 560, 190, 48, 20
    parts = []
    for i in range(columns):
        for j in range(rows):
            x, y = -2 + 4 * (i + 0.5) / columns, 1 - 2 * (j + 0.5) / rows
            share = np.clip((f([x], [y]) + 2.3) / 4.6, 0, 1)
            colour = "#" + "".join(f"{int(a + (b - a) * share):02x}" for a, b in [(24, 250), (52, 224), (92, 150)])
            cell = f'x="{left + i * width / columns:.1f}" y="{top + j * height / rows:.1f}" width="{width / columns + 0.5:.1f}"'
            parts.append(f'<rect {cell} height="{height / rows + 0.5:.1f}" fill="{colour}"/>')

    def across(x):
        return left + width * (x + 2) / 4

    parts.append(line([(across(x), top + height * (1 - y) / 2) for x, y in seen], "#ffffff", 1.5))
    end = across(float(r.x[0])), top + height * (1 - float(r.y[0])) / 2
    parts.append(f'<circle cx="{end[0]:.1f}" cy="{end[1]:.1f}" r="5" fill="none" stroke="#ffffff" stroke-width="2.5"/>')
    parts += [text(left - 8, top + 12, "y = 1", "end"), text(left - 8, top + height, "-1", "end")]
    base, tall = top + height + 150, 120
    grid = np.linspace(-2, 2, 161)
    parts.append(line([(across(x), base - tall * (np.cos(3 * x) / 4 + abs(x - 0.5)) / 2.8) for x in grid], BLUE))
    parts.append(text(across(-0.9), base - tall + 30, "max over y of f(x, y)"))
    parts.append(line([(across(0.5), top + height), (across(0.5), base)], GREY, 1, 'stroke-dasharray="4 4"'))
    parts += [text(across(x), base + 18, f"{x:g}", "middle") for x in (-2, -1, 0, 0.5, 1, 2)]
    return svg(640, base + 30, parts, "Colours of f(x, y), the path of the method to the equilibrium, and the maximum over y below")


def main():
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "docs/pictures")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "game.svg").write_text(game(), encoding="utf-8")
    names, found = adult()
    title = "Left: accuracy of two groups with and without training for the worst; right: certificate bounds falling to eps"
    parts = bars(names, found, 20, 40, 340, 180) + gaps(430, 40, 380, 180)
    (folder / "overview.svg").write_text(svg(830, 280, parts, title), encoding="utf-8")


if __name__ == "__main__":
    main()
