"""``gonogo schema NAME``: the published JSON schemas."""

from __future__ import annotations

import argparse
import json

from gonogo.cli import UsageError

HELP = "print the JSON schema of a document that gonogo reads or writes"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``schema``."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="which one; without a name: the list")
    parser.add_argument("--output", metavar="FILE", help="write there instead of to standard output")


def run(options: argparse.Namespace) -> int:
    """0, or UsageError for a schema that does not exist."""
    from gonogo import schemas
    from gonogo.cli import _output

    if options.name is None:
        _output.write("".join(f"{name}\n" for name in schemas.names()), options.output)
        return 0
    schema = schemas.schema(options.name)
    if schema is None:
        raise UsageError(f"unknown schema {options.name!r}: one of {', '.join(schemas.names())}")
    _output.write(json.dumps(schema, indent=2) + "\n", options.output)
    return 0
