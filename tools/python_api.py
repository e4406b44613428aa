"""Prints the reference of the Python package in Markdown, from its docstrings: the page docs/reference/python.md.

    python tools/python_api.py > docs/reference/python.md

The package must be installed with scikit-learn. `.ci/site` compares the page with the output.
"""

import inspect
import re
import textwrap

import standoff

GROUPS = {
    "Solve and certify": ["solve", "certify", "verify", "check", "plan", "noise_plan", "race", "methods"],
    "Games": ["Game", "zoo", "from_jax", "from_torch"],
    "Sets": ["Box", "Simplex", "Ball", "L1Ball", "Free", "Halfspace", "Affine", "Polyhedron", "Product", "Projected", "ConvexSet"],
    "Results": ["Result", "Certificate", "Record"],
    "Estimators and data": ["FairClassifier", "FairRegressor", "FairMeta", "RobustClassifier", "evaluate", "attack", "Network", "read_table", "read_images", "read_run",
                            "load_safetensors", "save_safetensors"],
}  # fmt: skip
LEFT_OUT = {"__version__", "Zoo", "Differentiable", "gap"}  # a constant, the types of `zoo` and `from_jax`, the earlier name of `certify`


def signature(thing):
    """The parameters of a function, without the types, which make them hard to read."""
    try:
        found = inspect.signature(thing)
    except ValueError:  # a class without a constructor of its own
        return ""
    parts = [p.replace(annotation=inspect.Parameter.empty) for p in found.parameters.values() if p.name != "self"]
    return str(found.replace(parameters=parts, return_annotation=inspect.Signature.empty))


def wrapped(text):
    return "\n".join(textwrap.wrap(text, 100, subsequent_indent="    ", break_long_words=False))


def text_of(thing, mark="`"):
    """A docstring as Markdown: examples in a fence, double backquotes as single ones, sections of NumPy's form in bold."""
    lines = inspect.cleandoc(thing.__doc__ or "").splitlines()
    out, fenced = [], False
    for place, line in enumerate(lines):
        example = line.startswith(">>>") or (fenced and line.strip() != "")
        if example != fenced:
            out.append("```python" if example else "```")
            fenced = example
        following = lines[place + 1] if place + 1 < len(lines) else ""
        if not fenced and re.fullmatch(r"-{3,}", line):
            continue
        if not fenced and re.fullmatch(r"-{3,}", following):
            line = f"**{line}**\n"
        elif not fenced:
            line = re.sub(r"``(.+?)``", rf"{mark}\1{mark}", line)
            if re.match(r"\S.* : ", line) or re.fullmatch(r"[a-z_]+(, [a-z_]+)*", line):
                name, _, kind = line.partition(" : ")
                line = f"- **`{name}`** {kind}".rstrip()
            line = line.replace("<", "&lt;") if "`" not in line else line
        out.append(line)
    if fenced:
        out.append("```")
    return "\n".join(out)


def methods_of(kind):
    """The public methods that a class defines itself, with the first paragraph of their docstrings."""
    for name, thing in vars(kind).items():
        if name.startswith("_") or isinstance(thing, property):
            continue
        function = thing.__func__ if isinstance(thing, classmethod) else thing
        if not inspect.isfunction(function) or not function.__doc__:
            continue
        first = inspect.cleandoc(function.__doc__).split("\n\n")[0].replace("\n", " ").replace("``", "`").replace("|", "\\|")
        shown = signature(getattr(kind, name)).replace("|", "\\|")
        yield f"| `{name}{shown}` | {first} |"


def main():
    named = {name for names in GROUPS.values() for name in names}
    missing = set(standoff.__all__) - named - LEFT_OUT
    if missing:
        raise SystemExit(f"give these names a place in GROUPS or LEFT_OUT: {sorted(missing)}")
    print("# Python API\n\nLook up every function and class of the package `standoff`, with parameters and defaults. [The guide](../python.md)")
    print("shows how they work together.\n\n<!-- Made by tools/python_api.py from the docstrings, which are tests; .ci/site compares them. -->")
    for group, names in GROUPS.items():
        print(f"\n## {group}")
        for name in names:
            thing = getattr(standoff, name)
            if name == "zoo":
                print(f"\n### `standoff.zoo`\n\n{text_of(type(thing))}")
                continue
            print(f"\n### `standoff.{name}`\n\n```text\n{wrapped(name + signature(thing))}\n```\n\n{text_of(thing)}")
            rows = list(methods_of(thing)) if inspect.isclass(thing) else []
            if rows:
                print("\n| method | |\n|---|---|\n" + "\n".join(rows))


if __name__ == "__main__":
    main()
