"""``gonogo record``: this machine's facts, redacted, to judge elsewhere or to attach to a report."""

from __future__ import annotations

import argparse
import json

HELP = "write this machine's facts as JSON, redacted; --raw: the files and outputs as read"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``record``."""
    parser.add_argument("--raw", action="store_true", help="what the collectors read, to replay them")
    parser.add_argument("--python", metavar="P", help="read this interpreter's environment")
    parser.add_argument("--thorough", action="store_true", help="also what is slow or may ask the network: updates")
    parser.add_argument("--output", metavar="FILE", help="write there instead of to standard output")


def run(options: argparse.Namespace) -> int:
    """0 when the record was written. Raises UsageError."""
    from gonogo.cli import _output
    from gonogo.cli.check import refuse_no_python, refuse_other_program
    from gonogo.node import collection, raw
    from gonogo.node.facts import codec
    from gonogo.node.facts.redaction import redactor_for_this_machine
    from gonogo.node.facts.sections.python import Python
    from gonogo.node.ports.host import live_host

    host = live_host(options.python or "", options.thorough)
    if options.python is not None:
        refuse_no_python(host, options.python)
    results = collection.gather(host, record=options.raw)
    if options.python is not None:
        section = codec.decode(collection.document(results), forgiving=True).sections.get("python")
        if isinstance(section, Python):
            refuse_other_program(options.python, section.executable, section.start)
    document = raw.document(results) if options.raw else collection.document(results)
    _output.write(json.dumps(redactor_for_this_machine().redact(document), indent=1) + "\n", options.output)
    return 0
