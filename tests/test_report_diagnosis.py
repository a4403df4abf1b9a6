"""The formats of a diagnosis with hostile texts in every place: terminals, issue pages and programs read them.

Oracles: the schema, a CommonMark parser (markdown-it), Unicode's own categories.
"""

from __future__ import annotations

import getpass
import json
import re
import unicodedata
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gonogo import schemas
from gonogo.diagnosis import Diagnosis, Evidence, Note, Outcome
from gonogo.finding import CONFIDENCES, FixStep
from gonogo.logs.device import Device
from gonogo.printable import printable
from gonogo.report import Style
from gonogo.report.diagnosis import Read, names, renderer

markdown_it = pytest.importorskip("markdown_it")

HOSTILE = [
    *(
        "\x1b[2J\x1b[31mred",
        "\x1b]0;title\x07",
        "a\rb",
        "a\nb",
        "\x00\x07\b",
        "\x9b31m",
        "\u202egnp.exe",
        "\u2066x\u2069",
        "\ufeff",
    ),
    *(
        "\u2028\u2029\x85",
        "zero\u200bwidth\u200f",
        "\udcff\ud800",
        "`code` ``` ~~~",
        "``````",
        "<script>alert(1)</script>",
        "&lt;&#64;",
    ),
    *(
        "![x](http://x/y.png)",
        "[link](http://x)",
        "<http://x>",
        "# heading",
        "- item",
        "1. item",
        "+ x",
        "=====",
        "> quote",
        "| a | b |",
    ),
    *(
        "**bold** _it_ ~~no~~",
        "@somebody and @org/team",
        "fixes #12 and owner/repo#7",
        "$a_b$",
        "    code",
        "\\",
        "%s {0} {x}",
        "---",
    ),
]
TEXTS = st.one_of(
    st.sampled_from(HOSTILE), st.text(max_size=20), st.lists(st.sampled_from(HOSTILE), max_size=3).map(" ".join)
)
#: Titles, and how to confirm, are the catalogue's.
OWN = st.sampled_from(["a title", "nvidia-smi -q | grep `x` < y > z; echo $a_b_c", "uses __all__ of it"])
NUMBERS = st.integers(1, 10**9)
IMPACTS = ("none", "transient", "reversible", "persistent", "irreversible")
DIAGNOSES = st.builds(
    Diagnosis,
    gotcha=st.sampled_from(["G1", "G21"]),
    code=st.sampled_from(["G1.missing-runtime", "G21.x"]),
    title=OWN,
    confidence=st.sampled_from(CONFIDENCES),
    evidence=st.lists(st.builds(Evidence, TEXTS, NUMBERS, TEXTS), max_size=6).map(tuple),
    fix=st.lists(st.builds(FixStep, TEXTS, st.sampled_from(IMPACTS), TEXTS), max_size=3).map(tuple),
    text=TEXTS,
    if_device=st.sampled_from(["", "unified", "discrete"]),
    confirm=OWN,
)
NOTES = st.builds(Note, st.just("G7.capability-remark"), TEXTS, NUMBERS, TEXTS, TEXTS)
READS = st.builds(
    Read,
    outcome=st.builds(
        Outcome,
        diagnoses=st.lists(DIAGNOSES, max_size=3).map(tuple),
        notes=st.lists(NOTES, max_size=10).map(tuple),
        device=st.sampled_from([Device(), Device("unified"), Device("discrete")]),
    ),
    files=st.lists(TEXTS, max_size=3).map(tuple),
    bytes_read=st.integers(0, 10**12),
    lines_read=st.integers(0, 10**9),
    problems=st.lists(TEXTS, max_size=2).map(tuple),
    interrupted=st.booleans(),
)
STYLES = st.builds(Style, verbose=st.booleans(), color=st.booleans(), width=st.integers(0, 140))


def rendered(name: str, read: Read, style: Style = Style()) -> str:  # noqa: B008
    render = renderer(name)
    assert render is not None
    return render(read, style)


def one(**changes: Any) -> Read:
    item = Diagnosis("G1", "G1.missing-runtime", "a title", "high", (Evidence("a.log", 7, "the line"),))
    return Read(Outcome((item._replace(**changes),), (), Device()), ("a.log",), 123, 45)


def test_the_formats() -> None:
    assert names() == ["json", "markdown", "text"]
    for name in ("", "txt", "..", "text.x", "__init__", "te xt", "text/../json"):
        assert renderer(name) is None


@settings(max_examples=60, deadline=None)
@given(READS, STYLES)
def test_nothing_raw_reaches_a_terminal_or_a_page(read: Read, style: Style) -> None:
    for name in ("text", "markdown"):
        text = rendered(name, read, style)
        assert text.endswith("\n")
        # Markdown has one of its own, which keeps @ and #1 from being links.
        for letter in text.replace("\u200b" if name == "markdown" else "\n", "").replace("\n", ""):
            assert unicodedata.category(letter) not in ("Cc", "Cs", "Zl", "Zp"), repr(letter)
            assert letter not in "\u200b\u200e\u200f\ufeff"
            assert unicodedata.bidirectional(letter) not in (
                "LRE",
                "RLE",
                "LRO",
                "RLO",
                "PDF",
                "LRI",
                "RLI",
                "FSI",
                "PDI",
            )


@settings(max_examples=60, deadline=None)
@given(READS, STYLES)
def test_json_is_as_the_schema_says(read: Read, style: Style) -> None:
    text = rendered("json", read, style)
    assert text.isascii()
    document = json.loads(text)
    jsonschema.Draft202012Validator(schemas.schema("diagnose") or {}).validate(document)
    outcome = read.outcome
    assert [item["code"] for item in document["diagnoses"]] == [item.code for item in outcome.diagnoses]
    assert [note["text"] for note in document["notes"]] == [note.text for note in outcome.notes]
    assert document["files"] == list(read.files)
    for shown, item in zip(document["diagnoses"], outcome.diagnoses, strict=True):
        assert [(row["file"], row["line"], row["text"]) for row in shown["evidence"]] == [
            tuple(row) for row in item.evidence
        ]
        assert [(step["step"], step["impact"], step["undo"]) for step in shown["fix"]] == [
            tuple(row) for row in item.fix
        ]


# -- markdown ---------------------------------------------------------------------------------------------------------

PRINTABLE = st.characters(min_codepoint=32, max_codepoint=126)
BLOCKS = {"heading_open", "heading_close", "paragraph_open", "paragraph_close", "inline", "fence"}
LISTS = {f"{kind}_list_{end}" for kind in ("bullet", "ordered") for end in ("open", "close")} | {
    "list_item_open",
    "list_item_close",
}


@settings(max_examples=80, deadline=None)
@given(READS)
def test_markdown_holds_no_markup_of_others(read: Read) -> None:
    text = rendered("markdown", read)
    tokens = markdown_it.MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    assert {token.type for token in tokens} <= BLOCKS | LISTS
    assert [token.tag for token in tokens if token.type == "heading_open"] == ["h3"] * len(read.outcome.diagnoses)
    assert sum(token.type == "fence" for token in tokens) == len(read.outcome.diagnoses)
    for token in tokens:
        kinds = {child.type for child in token.children or ()}
        assert kinds <= {"text", "text_special", "code_inline", "softbreak"}
        shown = "".join(child.content for child in token.children or () if child.type.startswith("text"))
        assert not re.search(r"@(?!\u200b)|#[0-9]", shown)  # as GitHub finds them in what is shown


@given(st.one_of(st.sampled_from([text for text in HOSTILE if text.isprintable()]), st.text(PRINTABLE, max_size=40)))
def test_markdown_shows_the_text_as_it_is(text: str) -> None:
    # What a reader of the page sees is the sentence; a backslash too many would be in a command that is copied.
    for read in (one(text=f"{text} y"), one(fix=(FixStep(f"{text} y", "none"),))):
        tokens = markdown_it.MarkdownIt("commonmark").parse(rendered("markdown", read))
        inline = [token.children for token in tokens if token.type == "inline"][1]
        shown = "".join(child.content for child in inline or ()).replace("\u200b", "")
        assert shown.split()[: len(f"{text} y".split())] == f"{text} y".split()


def test_markdown_masks_what_is_private(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/data/people/quentin")
    monkeypatch.setenv("USER", "quentin")
    private = "/home/olivia/run and quentin at 10.1.2.3 with hf_abcdefghijklmnop1234 in /data/people/quentin/x"
    step = FixStep(f"look at {private}", "reversible", f"undo {private}")
    read = one(text=private, evidence=(Evidence(f"/home/olivia/{getpass.getuser()}.log", 1, private),), fix=(step,))
    noted = Note("G7.x", "/home/olivia/a.log", 3, private, private)
    text = rendered("markdown", read._replace(outcome=read.outcome._replace(notes=(noted,))))
    for word in ("olivia", "quentin", "10.1.2.3", "hf_abc", "hf\\_abc", "abcdefgh"):
        assert word not in text
    assert text.count("/home/xxxxxx/run") >= 5


# -- text -------------------------------------------------------------------------------------------------------------


def test_text_by_hand() -> None:
    first = Diagnosis(
        *("G1", "G1.missing-runtime", "a library is missing", "high"),
        tuple(Evidence("a.log", number, f"line {number}") for number in range(1, 7)),
        (FixStep("look", "none"), FixStep("install it", "reversible", "remove it")),
        "libcudart 13 is wanted",
    )
    second = Diagnosis("G3", "G3.x", "no room", "low", (Evidence("b.log", 9, "out of memory"),), if_device="unified")
    notes = tuple(Note("G7.x", "b.log", number, "remark", "harmless") for number in range(1, 12))
    read = Read(Outcome((first, second), notes, Device()), ("a.log", "b.log"), 1000, 20)
    lines = rendered("text", read).splitlines()
    assert lines[:11] == [
        "likely: G1  a library is missing  (confidence high)",
        "  libcudart 13 is wanted",
        *(f"  a.log:{number}: line {number}" for number in range(1, 5)),
        "  first: look",
        "         (changes nothing)",
        "  then:  install it",
        "         (can be undone, undo: remove it)",
        "  more: gonogo explain G1",
    ]
    assert lines[11:15] == [
        "",
        "also: G3  no room  (confidence low)",
        "  if this is a machine with unified memory: the log does not name its device",
        "  b.log:9: out of memory",
    ]
    assert lines[-1] == "read 20 lines, 1000 bytes of 2 files"
    assert sum("remark" in line for line in lines) == 8
    assert "  ... and 3 more (-v)" in lines
    verbose = rendered("text", read, Style(verbose=True)).splitlines()
    assert sum("remark" in line for line in verbose) == 11
    assert "  a.log:6: line 6" in verbose


def test_nothing_found_says_what_was_read() -> None:
    nothing = Read(Outcome((), (), Device()), ("train.log",), 1234, 56)
    assert rendered("text", nothing).startswith("nothing known was found in 56 lines, 1234 bytes of train.log; ")
    assert "0 bytes of 2 files" in rendered("text", nothing._replace(files=("a", "b"), bytes_read=0))
    assert "0 files" in rendered("text", nothing._replace(files=(), interrupted=True))
    assert "Nothing known was found." in rendered("markdown", nothing)
    assert "56 lines, 1234 bytes, 1 inputs" in rendered("markdown", nothing)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=300), st.integers(0, 140))
def test_a_long_sentence_is_wrapped_and_whole(text: str, width: int) -> None:
    # A terminal of no width at all is one that does not know its own.
    lines = rendered("text", one(text=f"a {text} z"), Style(width=width)).split("\n")
    sentence = lines[1 : lines.index("  a.log:7: the line")]
    assert "".join("".join(sentence).split()) == "".join(printable(f"a {text} z").split())
    assert all(len(line) <= max(width, 40) for line in sentence)
