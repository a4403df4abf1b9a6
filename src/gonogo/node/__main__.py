"""The collector on its own: ``python gonogo-collect.pyz [--raw] [--python P] [--output FILE]`` prints facts as JSON."""

from __future__ import annotations

import argparse
import json
import os
import sys

from gonogo import __version__
from gonogo.node import collection, interpreter, raw
from gonogo.node.facts.missing import Missing
from gonogo.node.facts.redaction import redactor_for_this_machine
from gonogo.node.ports.host import live_host


def main(arguments: list[str] | None = None) -> int:
    """0 when facts were written, 2 for wrong usage or an output that cannot be written."""
    parser = argparse.ArgumentParser(
        prog="gonogo-collect",
        description="Collect this machine's facts as JSON, redacted, for: gonogo check --facts FILE",
    )
    parser.add_argument("--raw", action="store_true", help="the files and outputs as read, to replay collectors")
    parser.add_argument("--python", default="", metavar="P", help="the interpreter whose environment is read")
    parser.add_argument("--thorough", action="store_true", help="also what is slow or may ask the network: updates")
    parser.add_argument("--output", metavar="FILE", help="write there instead of to standard output")
    parser.add_argument("--version", action="version", version=f"gonogo-collect {__version__}")
    options = parser.parse_args(arguments)
    host = live_host(options.python, options.thorough)
    if options.python:
        choice = interpreter.choose(host)
        if isinstance(choice, Missing) or host.files.kind(choice.executable) != "file":
            sys.stderr.write(f"gonogo-collect: --python {options.python}: no such interpreter\n")
            return 2
    results = collection.gather(host, record=options.raw)
    document = raw.document(results) if options.raw else collection.document(results)
    text = json.dumps(redactor_for_this_machine().redact(document), indent=1) + "\n"
    try:
        if options.output:
            with open(options.output, "w", encoding="utf-8") as file:
                file.write(text)
        else:
            if sys.stdout is None:
                raise OSError("standard output is closed")
            sys.stdout.write(text)
            sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    except OSError as error:
        if not options.output and sys.stdout is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # or the interpreter fails once more at its end
        sys.stderr.write(f"gonogo-collect: cannot write: {error.strerror or error}\n")
        return 2
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.stderr.write("gonogo-collect: interrupted\n")
        sys.exit(130)
