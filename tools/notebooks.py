"""Runs the notebooks of docs/notebooks again and stores their outputs.

    python tools/notebooks.py              all of them
    python tools/notebooks.py --check      runs them and writes nothing; an exception in a cell is an error

They run in their own folder, as a user opens them. It needs nbclient, ipykernel, matplotlib, scikit-learn and the installed package.
"""

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parent.parent
LARGEST = 200_000  # bytes of a notebook with its outputs


def run(path, check):
    book = nbformat.read(path, as_version=4)
    NotebookClient(book, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}}).execute()
    for cell in book.cells:
        cell.metadata.clear()  # the times of execution differ in every run
    book.metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    text = nbformat.writes(book) + "\n"
    if len(text) > LARGEST:
        raise SystemExit(f"error: {path.name} has {len(text)} bytes, at most {LARGEST} are allowed: show less")
    if not check:
        path.write_text(text, encoding="utf-8")
    print(f"{path.name}: {len(book.cells)} cells, {len(text)} bytes")


def main():
    check = "--check" in sys.argv[1:]
    for path in sorted((ROOT / "docs/notebooks").glob("*.ipynb")):
        run(path, check)


if __name__ == "__main__":
    main()
