"""Runs a page of the documentation in the working folder: its commands, then its Python examples.

    python tools/run_page.py docs/start/table.md

Commands are the lines `$ ...` of blocks `console` and the lines of blocks `sh`, unless the block is marked `not-run`. A command that fails and an
example that prints something else than the page are errors.
"""

import doctest
import subprocess
import sys
import time


def commands(text):
    info = None
    for line in text.splitlines():
        if line.startswith("```"):
            info = None if info is not None else line[3:].split(",")
        elif info and "not-run" not in info:
            if info[0] == "sh" and line.strip():
                yield line
            elif info[0] == "console" and line.startswith("$ "):
                yield line[2:]


def main(pages):
    for page in pages:
        with open(page, encoding="utf-8") as file:
            text = file.read()
        begun, count = time.monotonic(), 0
        for command in commands(text):
            print(f"$ {command}", flush=True)
            done = subprocess.run(command, shell=True, capture_output=True, text=True)
            if done.returncode != 0:
                raise SystemExit(f"error: {page}: `{command}` ends with {done.returncode}\n{done.stdout}{done.stderr}")
            count += 1
        failed, tried = doctest.testfile(page, module_relative=False)
        if failed:
            raise SystemExit(f"error: {page}: {failed} of {tried} Python examples fail")
        print(f"{page}: {count} commands, {tried} lines of Python, {time.monotonic() - begun:.0f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
