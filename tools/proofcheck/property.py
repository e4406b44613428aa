"""Proofs about networks in ONNX files and properties in VNN-LIB: bounds with whole numbers, see docs/proofs.md."""

import re
from fractions import Fraction
from itertools import product
from math import isfinite, ldexp
from operator import add, mul

from proofcheck.enclosure import rejected_if, unreadable_if
from proofcheck.onnx import FACTOR, UNIT, below, dot

ROW = 80  # coefficients of rows are whole numbers of 2^-ROW
SLOPE = 60  # slopes of lines are whole numbers of 2^-SLOPE

# Properties.

def expressions(text):
    stack = [[]]
    for word in re.findall(r"[()]|[^\s()]+", re.sub(r";.*", "", text)):
        if word == "(":
            stack.append([])
        elif word == ")":
            unreadable_if(len(stack) < 2, "a bracket too many")
            last = stack.pop()
            stack[-1].append(last)
        else:
            stack[-1].append(word)
    unreadable_if(len(stack) != 1, "a bracket is not closed")
    return stack[0]

def decimal(word):
    unreadable_if(not re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", word) or not isfinite(float(word)), f"{word} is no number")
    return Fraction(float(word))

def terms(term, factor, atom):
    """Adds `factor` times a linear term to an inequality."""
    if isinstance(term, list):
        if term[0] == "*":
            c, other = (term[1], term[2]) if isinstance(term[1], str) and term[1][0] not in "XY" else (term[2], term[1])
            unreadable_if(len(term) != 3, "a product is not linear")
            return terms(other, factor * decimal(c), atom)
        unreadable_if(term[0] not in ("+", "-") or len(term) < 2, "a term is not linear")
        for i, part in enumerate(term[1:]):
            terms(part, -factor if term[0] == "-" and (i or len(term) == 2) else factor, atom)
    else:
        variable = re.fullmatch(r"([XY])_(\d+)", term)
        key, c = ((variable[1], int(variable[2])), factor) if variable else (None, factor * decimal(term))
        atom[key] = atom.get(key, 0) + c

def disjunction(formula):
    """A list of conjunctions, each a list of inequalities `sum <= 0`."""
    name, *parts = formula
    if name == "or":
        return [case for part in parts for case in disjunction(part)]
    if name == "and":
        return [sum(cases, []) for cases in product(*map(disjunction, parts))]
    unreadable_if(name not in ("<=", ">=") or len(parts) != 2, f"{name} is not read")
    atom, sign = {}, Fraction(1 if name == "<=" else -1)
    terms(parts[0], sign, atom), terms(parts[1], -sign, atom)
    return [[atom]]

def read_property(text, inputs, outputs):
    """Cases: lower ends, upper ends and unsafe sets; a set is a list of rows, coefficients with a constant."""
    always, choices, declared, cases = [], [], {"X": set(), "Y": set()}, []
    for name, *rest in expressions(text):
        if name == "declare-const":
            declared[rest[0][0]].add(int(rest[0][2:]))
            continue
        unreadable_if(name != "assert" or len(rest) != 1, f"{name} is not read")
        found = disjunction(rest[0])
        always.extend(found[0]) if len(found) == 1 else choices.append(found)
    unreadable_if(declared != {"X": set(range(inputs)), "Y": set(range(outputs))}, "the property has other inputs or outputs than the network")
    for chosen in product(*choices):
        lower, upper, rows = [None] * inputs, [None] * inputs, []
        for atom in always + sum(chosen, []):
            constant, names = atom.get(None, Fraction(0)), [key for key in atom if key]
            if any(letter == "X" for letter, _ in names):
                unreadable_if(len(names) != 1 or not atom[names[0]], "a condition joins several inputs")
                (_, i), c = names[0], atom[names[0]]
                ends, end, pick = (upper, float(-constant / c), min) if c > 0 else (lower, float(-constant / c), max)
                ends[i] = end if ends[i] is None else pick(ends[i], end)
            else:
                rows.append(([atom.get(("Y", j), Fraction(0)) for j in range(outputs)], constant))
        unreadable_if(None in lower or None in upper, "an input has no end")
        if all(map(float.__le__, lower, upper)):
            if cases and cases[-1][:2] == (lower, upper):
                cases[-1][2].append(rows)
            else:
                cases.append((lower, upper, [rows]))
    unreadable_if(not cases, "no input satisfies the conditions")
    return cases

def violated(operations, output, cases, x):
    """True if the outputs of x, in exact arithmetic, are unsafe in a case that contains x."""
    values = []
    for op in operations:
        inputs = [values[i] for i in op.reads]
        if op.kind == "linear":
            common = max(v.denominator for v in inputs[0])
            if any(common % v.denominator for v in inputs[0]):  # after a division that is not exact in binary
                common = 1
            numbers = [v.numerator * (common // v.denominator) if common > 1 else v for v in inputs[0]]
            value = [Fraction(dot(p, w, numbers)) / (common << op.scale) + b for (p, w), b in zip(op.rows, op.exact)]
        elif op.kind == "affine":
            value = [f * v + g for f, v, g in zip(op.exact_factor, inputs[0], op.exact)]
        elif op.kind == "add":
            value = [sum(map(mul, op.signs, column)) for column in zip(*inputs)]
        else:
            value = [max(v, op.leak * v) for v in inputs[0]] if op.kind == "relu" else [Fraction(v) for v in x]
        values.append(value)
    inside = [sets for lower, upper, sets in cases if all(l <= v <= u for l, v, u in zip(lower, x, upper))]
    return any(all(sum(map(mul, c, values[output])) + d <= 0 for c, d in rows) for sets in inside for rows in sets)

# Bounds.

def up(value, bits):
    """Divides by 2^bits and rounds up."""
    return -(-value >> bits)

def gamma(value, n):
    """n u / (1 - n u) times a number that is not negative, rounded up; u = 2^-24."""
    return -(-value * n // ((1 << 24) - n))

class Bounds:
    """Ends, sizes and errors of all values over a box, in units of 2^-UNIT. `inside` has rows for ReLU layers, or is None: CROWN by rule."""
    def __init__(self, operations, lower, upper, inside=None):
        self.operations, self.low, self.high, self.size, self.error, self.lines = operations, [], [], [], [], {}
        relus = [i for i, op in enumerate(operations) if op.kind == "relu"]
        self.places = {i: sum(operations[j].size for j in relus if j < i) for i in range(len(operations))}  # of the first slope of a layer
        self.count, self.readers = sum(operations[i].size for i in relus), {operations[i].reads[0]: n for n, i in reversed(list(enumerate(relus)))}
        for i, op in enumerate(operations):
            if op.kind == "input":  # the ends may be rounded, and the input is rounded to float32
                widen = lambda v: up(abs(v), 24) + up(abs(v), 50) + 1
                ends = [(below(a, UNIT), -below(-b, UNIT)) for a, b in zip(lower, upper)]
                low, high, error = [a - widen(a) for a, _ in ends], [b + widen(b) for _, b in ends], [0] * op.size
            else:
                low, high, error = getattr(self, op.kind)(op, *[v for r in op.reads for v in (self.low[r], self.high[r], self.size[r])])
            self.add_value(low, high, error)
            if i in self.readers:
                given = self.rule(i) if inside is None else inside.get(self.readers[i], [])
                for entry, sign, slopes in given:
                    row = [0] * op.size
                    row[entry] = sign << ROW
                    bound = self.bound(i, row, 0, slopes) >> ROW
                    low[entry], high[entry] = (max(low[entry], bound), high[entry]) if sign > 0 else (low[entry], min(high[entry], -bound))
                rejected_if(any(a > b for a, b in zip(low, high)), "bounds of a value contradict each other")
                self.size[i] = [max(-a, b) for a, b in zip(low, high)]
            if op.kind == "relu":
                self.lines[i] = self.chords(op)
    def add_value(self, low, high, error):
        rejected_if(any(max(-a, b) >> 100 + UNIT for a, b in zip(low, high)), "sums could overflow in float32")
        for table, values in zip((self.low, self.high, self.error, self.size), (low, high, error, [max(-a, b) for a, b in zip(low, high)])):
            table.append(values)
    def rule(self, i):
        return [(k, sign, None) for k, (a, b) in enumerate(zip(self.low[i], self.high[i])) if a < 0 < b for sign in (1, -1)]
    def linear(self, op, low, high, size):
        """The errors are those of any order of the sums, with underflow: docs/proofs.md."""
        middle, radius, s, low_out, high_out, error = list(map(add, low, high)), [b - a for a, b in zip(low, high)], op.scale + 1, [], [], []
        tiny = (op.terms << UNIT) + sum(size)
        for (places, weights), absolute, b, exact in zip(op.rows, op.absolute, op.bias, op.exact):
            largest = up(dot(places, absolute, size), op.scale) + abs(b) + 1
            rejected_if(largest >> 100 + UNIT, "sums could overflow in float32")
            e = gamma(largest, op.terms + 2) + up(tiny + up(sum(absolute) << UNIT, op.scale), 120) + 2
            centre, reach = dot(places, weights, middle), dot(places, absolute, radius)
            low_out.append((centre - reach >> s) + b - e), high_out.append(up(centre + reach, s) + b + e), error.append(e)
        return low_out, high_out, error
    def affine(self, op, low, high, size):
        low_out, high_out, error, before = [], [], [], self.operations[op.reads[0]]
        for f, g, a, b, m in zip(op.factor, op.shift, low, high, size):
            # A division may be a product with the reciprocal; an offset of a linear map may be added before its products.
            e = up(up(abs(f) * m, FACTOR) + abs(g) + 1, 24 - (abs(f) != 1 << FACTOR)) + up(1 << UNIT, 120) + up(m, FACTOR) + 3
            e += gamma(abs(g) + 1, before.terms + 2) if before.kind == "linear" else 0
            ends = sorted((f * a, f * b))
            low_out.append((ends[0] >> FACTOR) + g - e), high_out.append(up(ends[1], FACTOR) + g + e), error.append(e)
        return low_out, high_out, error
    def add(self, op, *given):
        if len(op.signs) == 1:
            return list(given[0]), list(given[1]), [0] * op.size
        (la, ha, ma), (lb, hb, mb) = given[:3], given[3:] if op.signs[1] > 0 else ([-v for v in given[4]], [-v for v in given[3]], given[5])
        error = [up(a + b, 24) + up(1 << UNIT, 120) for a, b in zip(ma, mb)]
        return [a + b - e for a, b, e in zip(la, lb, error)], [a + b + e for a, b, e in zip(ha, hb, error)], error
    def relu(self, op, low, high, size):
        leak = below(op.leak, SLOPE)
        error = [up(m * leak, SLOPE + 23) + up(m, SLOPE) + up(1 << UNIT, 120) + 2 if op.leak else 0 for m in size]
        curve = lambda v: v if v > 0 else v * op.leak.numerator // op.leak.denominator
        return [curve(a) - e for a, e in zip(low, error)], [curve(b) + e + (e > 0) for b, e in zip(high, error)], error
    def chords(self, op):
        """Slopes of the lower and the upper lines of a ReLU layer, and offsets of the upper lines."""
        one, leak, lower, upper, offsets = 1 << SLOPE, below(op.leak, SLOPE), [], [], []
        for a, b in zip(self.low[op.reads[0]], self.high[op.reads[0]]):
            stable = one if a >= 0 else leak
            if a >= 0 or b <= 0:
                lower.append(stable), upper.append(stable), offsets.append(0)
                continue
            chord = min(one, max(leak, ((b << SLOPE) - leak * a) // (b - a)))
            lower.append(one if b > -a else leak), upper.append(chord)
            offsets.append(max(up((chord - leak) * -a, SLOPE), up((one - chord) * b, SLOPE)) + 1)
        return lower, upper, offsets
    def relaxed(self, i, slopes, splits):
        """The lines of a layer with these slopes below, and signs of some arguments."""
        (lower, upper, offsets), op = self.lines[i], self.operations[i]
        source, one, leak = op.reads[0], 1 << SLOPE, below(op.leak, SLOPE)
        if slopes is not None:
            own = slopes[self.places[i] : self.places[i] + op.size]
            lower = [min(one, max(leak, int(ldexp(v, SLOPE)))) if d else l for v, l, d in zip(own, lower, offsets)]
        for place, positive, _ in splits.get(source, []):
            if upper is self.lines[i][1]:
                lower, upper, offsets = list(lower), list(upper), list(offsets)
            lower[place], upper[place], offsets[place] = (one, one, 0) if positive else (leak, leak, 0)
        return lower, upper, offsets
    def bound(self, node, row, constant, slopes=None, splits={}):
        """A number that is at most `row . value + constant`, in units of 2^-(ROW + UNIT)."""
        rows, total = {node: row}, constant
        for i in range(node, 0, -1):
            if (a := rows.pop(i, None)) is None:
                continue
            op = self.operations[i]
            source = op.reads[0]
            total -= sum(map(mul, map(abs, a), self.error[i]))
            if op.kind == "linear":
                total += sum(map(mul, a, op.bias)) - sum(self.size[source])  # each new coefficient is rounded by less than one unit
                new = [dot(places, weights, a) >> op.scale for places, weights in op.columns]
            elif op.kind == "affine":
                total += sum(map(mul, a, op.shift)) - sum(self.size[source])
                new = [v * f >> FACTOR for v, f in zip(a, op.factor)]
            elif op.kind == "relu":
                lower, upper, offsets = self.relaxed(i, slopes, splits)
                total += sum(v * d for v, d in zip(a, offsets) if v < 0) - sum(self.size[source])
                new = [v * (l if v >= 0 else u) >> SLOPE for v, l, u in zip(a, lower, upper)]
                for place, positive, multiplier in splits.get(source, []):
                    new[place] -= multiplier if positive else -multiplier
            else:
                new = [op.signs[0] * v for v in a]
            for r, sign in zip(op.reads, getattr(op, "signs", [1])):
                part = new if sign == getattr(op, "signs", [1])[0] else [-v for v in new]
                rows[r] = part if r not in rows else list(map(add, rows[r], part))
        return total + sum(v * (l if v >= 0 else u) for v, l, u in zip(rows.get(0, []), self.low[0], self.high[0]))
    def proves(self, output, row, slopes=None, splits={}):
        """The larger of the bounds by lines and by intervals, as a float."""
        coefficients, constant = [below(c, ROW) for c in row[0]], below(row[1], ROW + UNIT)
        constant -= sum(self.size[output])  # the coefficients are rounded
        ends = sum(c * (l if c >= 0 else u) for c, l, u in zip(coefficients, self.low[output], self.high[output])) + constant
        return max(ends, self.bound(output, coefficients, constant, slopes, splits))

# Proof files.

def paths(tree, most):
    """The splits that lead to each leaf of a tree in preorder: every split has both sides, so the leaves leave no gap."""
    found, open_paths = [], [()]
    for number in tree:
        rejected_if(not open_paths or number >= most or number < -1, "a tree has a node too many, or an unknown split")
        path = open_paths.pop()
        if number < 0:
            found.append(path)
        else:
            open_paths += [path + ((number, False),), path + ((number, True),)]
    rejected_if(open_paths, "a tree leaves a gap")
    return found

class CaseProof:
    """The proof of one case: every unsafe set is excluded on every leaf of its tree."""
    def __init__(self, operations, output, case, split, inside, sets):
        self.operations, self.output, (self.lower, self.upper, self.sets), self.split = operations, output, case, split
        self.most = sum(op.size for op in operations if op.kind == "relu") if split == "relus" else len(self.lower)
        rejected_if(split not in ("relus", "inputs") or len(sets) != len(self.sets), "a proof has another number of unsafe sets, or an unknown split")
        self.inside, self.leaves, self.bounds = inside, [], None
        for rows, (tree, chosen, slopes, multipliers) in zip(self.sets, sets):
            found, at = paths(tree, self.most), 0
            rejected_if(len(chosen) != len(found) or any(not 0 <= r < len(rows) for r in chosen), "a leaf has no condition")
            unreadable_if(len(slopes) not in (0, self.most * len(found)) or any(not v >= 0 or not isfinite(v) for v in (*multipliers, *slopes)), "a slope or a multiplier is missing or negative")
            for k, (path, r) in enumerate(zip(found, chosen)):
                betas, at = multipliers[at : at + len(path)] if multipliers else (), at + len(path)
                self.leaves.append((path, rows[r], slopes[k * self.most : (k + 1) * self.most] if slopes else None, betas))
            unreadable_if(multipliers and at != len(multipliers), "a multiplier is missing")
    def holds(self, path, row, slopes, betas):
        """True if the row is positive for all inputs of the leaf."""
        if self.split == "inputs":
            lower, upper = list(self.lower), list(self.upper)
            for k, above in path:
                middle = 0.5 * (lower[k] + upper[k])
                rejected_if(not lower[k] <= middle <= upper[k], "a box cannot be halved")
                (lower if above else upper)[k] = middle
            return Bounds(self.operations, lower, upper).proves(self.output, row) > 0
        if self.bounds is None:
            self.bounds = Bounds(self.operations, self.lower, self.upper, self.read_inside())
        splits = {}
        for (number, positive), beta in zip(path, betas or [0.0] * len(path)):
            relu = max(i for i, op in enumerate(self.operations) if op.kind == "relu" and self.bounds.places[i] <= number)
            splits.setdefault(self.operations[relu].reads[0], []).append((number - self.bounds.places[relu], positive, int(ldexp(beta, ROW))))
        return self.bounds.proves(self.output, row, slopes, splits) > 0
    def read_inside(self):
        """For every layer: entry, sign and slopes of its rows."""
        layers, relus = {}, [op for op in self.operations if op.kind == "relu"]
        for layer, rows, slopes in self.inside:
            unreadable_if(not 0 <= layer < len(relus) or layer in layers or not rows or len(slopes) % len(rows), "rows of a layer are missing")
            size, each, before = relus[layer].size, len(slopes) // len(rows), relus[layer].reads[0]
            known = sum(op.size for op in self.operations[:before] if op.kind == "relu")
            unreadable_if(each != known or not all(map(isfinite, slopes)) or any(not 0 <= r < 2 * size for r in rows), "rows of a layer do not fit")
            layers[layer] = [(r // 2, -1 if r % 2 else 1, slopes[k * each : (k + 1) * each]) for k, r in enumerate(rows)]
        return layers if self.inside else None
