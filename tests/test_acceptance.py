"""The accept list: what it may say, what it does to a finding, and how every format shows it.

Expectations: docs/contract.md, "Accepted findings". Days are compared as ISO 8601 orders them.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from gonogo import catalogue, schemas
from gonogo.acceptance import AcceptanceError, Entry, applied, entries, merged
from gonogo.finding import STATUSES, Acceptance, Finding, FixStep
from gonogo.node.facts.codec import decode
from gonogo.preflight import Preflight, Request, judge
from gonogo.report import Style, renderer

GOTCHAS, CODES = catalogue.gotchas(), catalogue.codes()
THERMAL = {"event_reasons_active": ["sw_thermal_slowdown"]}
CPU_ONLY = {"folder": "/opt/training/torch", "version": "2.9.1", "cuda": {"missing": "not_found"}}
NO_TORCH = {"torch": {"missing": "not_found"}}


def entry(selector: str, until: str | None = None, reason: str = "known here") -> Entry:
    return Entry(selector, reason, until, "gonogo.toml")


def read(table: Any) -> tuple[Entry, ...]:
    return entries(table, "gonogo.toml", GOTCHAS, CODES)


# -- what a list may say ----------------------------------------------------------------------------------------------


def test_a_list() -> None:
    assert read({}) == ()
    day = datetime.date(2027, 1, 31)
    found = read(
        {
            "g9": {"reason": " bare metal ", "until": day},
            "G4.Thermal-Slowdown": {"reason": "x", "until": "2027-01-31"},
            "G4.unknown": {"reason": "é"},
        }
    )
    assert found == (
        entry("G9", "2027-01-31", "bare metal"),
        entry("G4.thermal-slowdown", "2027-01-31", "x"),
        entry("G4.unknown", None, "é"),
    )


@pytest.mark.parametrize("key", ["G99", "", "G", "9", "G9.nonsense", "G9.ok", "G1,G3", "*", "G1.", "x" * 10_000])
def test_what_is_no_gotcha_and_no_code(key: str) -> None:
    with pytest.raises(AcceptanceError) as error:
        read({key: {"reason": "x"}})
    assert "gonogo list" in str(error.value) and len(str(error.value)) < 200


@pytest.mark.parametrize("reason", [None, "", "  ", "\n", "two\nlines", "two\u2028lines", 1, True, ["x"], {"why": "x"}])
def test_a_reason_is_one_line_of_text(reason: Any) -> None:
    with pytest.raises(AcceptanceError, match=r"^accept\.G9: reason "):
        read({"G9": {} if reason is None else {"reason": reason}})


@pytest.mark.parametrize(
    "until",
    [
        *("", "soon", "2027-1-31", "2027-02-30", "20270131", "2027-W04-7", "2027-01-31T00:00:00", " 2027-01-31"),
        *("\u0662027-01-31", 2027, 2027.5, True, [], {}),
        datetime.datetime(2027, 1, 31, 12, 0),
        datetime.time(12, 0),
    ],
)
def test_until_is_a_day(until: Any) -> None:
    with pytest.raises(AcceptanceError, match=r"^accept\.G9: until must be a day"):
        read({"G9": {"reason": "x", "until": until}})


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (1, "must be a table"),
        (["G9"], "must be a table"),
        ({"G9": "because"}, r"accept\.G9 must be a table"),
        ({"G9": [{"reason": "x"}]}, r"accept\.G9 must be a table"),
        ({"G9": {"reason": "x", "untill": "2027-01-31"}}, "untill"),
        ({"G9": {"no-marker": {"reason": "x"}}}, r'quotes, \[accept\."G9\.no-marker"\]'),
        ({"G9": {"reason": "x"}, "g9": {"reason": "y"}}, "twice"),
    ],
)
def test_what_cannot_be_meant(table: Any, said: str) -> None:
    with pytest.raises(AcceptanceError, match=said):
        read(table)


def test_the_earlier_list_wins_for_the_same_thing() -> None:
    own, users = (entry("G9", reason="own"),), (entry("G9", reason="users"), entry("G9.no-marker"), entry("G1"))
    assert merged(own, users) == (own[0], *users[1:])


# -- what it does to a finding ----------------------------------------------------------------------------------------

WARNING = Finding("G9.drift", "WARN", "torch 2.9.1, pinned 2.9.0", ("a",), fix=(FixStep("do", "none"),))


@pytest.mark.parametrize("status", STATUSES)
def test_only_what_counts_is_accepted(status: str) -> None:
    item = WARNING._replace(status=status)
    after = applied(item, (entry("G9"),), "2026-11-30")
    if status in ("PASS", "SKIP", "INFO"):
        assert after == item
    else:
        assert after == item._replace(
            status="INFO",
            message=f"{item.message} (accepted {status}: known here)",
            accepted=Acceptance(status, "known here", None, "gonogo.toml"),
        )


@pytest.mark.parametrize("selector", ["G1", "G90", "G9.dr", "G9.drift-more", "G9.no-marker"])
def test_another_one_is_left_alone(selector: str) -> None:
    assert applied(WARNING, (entry(selector),), "2026-11-30") == WARNING
    ten = WARNING._replace(code="G10.drift")
    assert applied(ten, (entry("G1"), entry("G9")), "2026-11-30") == ten


@pytest.mark.parametrize(
    ("today", "counts"), [("2026-12-31", False), ("2027-01-31", False), ("2027-02-01", True), ("2030-01-01", True)]
)
def test_the_last_day_is_the_last_on_which_it_holds(today: str, counts: bool) -> None:
    after = applied(WARNING, (entry("G9", "2027-01-31"),), today)
    assert after.status == ("WARN" if counts else "INFO")
    ran_out, holds = "acceptance ran out on 2027-01-31: known here", "accepted WARN until 2027-01-31: known here"
    assert after.message == f"{WARNING.message} ({ran_out if counts else holds})"
    assert (after.accepted is None) == counts


def test_the_entry_that_names_it_most_closely_decides() -> None:
    both = (entry("G9", reason="all of it"), entry("G9.drift", "2026-01-01", "only this"))
    for order in (both, both[::-1]):
        assert applied(WARNING, order, "2026-11-30").message.endswith("ran out on 2026-01-01: only this)")
        assert applied(WARNING._replace(code="G9.shadowed"), order, "2026-11-30").status == "INFO"


# -- the verdict, and the formats -------------------------------------------------------------------------------------


@pytest.fixture
def judged(spark: Callable[..., Any]) -> Callable[..., Preflight]:
    """A Spark, with one WARN (G4) and one FAIL (G12), and the entries given."""

    def outcome(*accepted: Entry, today: str = "2026-11-30", torch: Any = CPU_ONLY) -> Preflight:
        document = spark(python={"torch": torch})
        document["sections"]["gpu"]["devices"][0].update(THERMAL)
        return judge(decode(document), Request(accepted=accepted, today=today, config=("gonogo.toml",)))

    return outcome


def shown(preflight: Preflight, name: str, verbose: bool = False) -> str:
    render = renderer(name)
    assert render is not None
    return render(preflight, Style(verbose=verbose))


def test_the_verdict_follows(judged: Callable[..., Preflight]) -> None:
    assert judged().verdict == "no-go"
    assert judged(entry("G12")).verdict == "go-with-warnings"
    both = judged(entry("G12"), entry("G4.thermal-slowdown", "2026-12-01"))
    assert (both.verdict, both.reasons) == ("go", ())
    later = judged(entry("G12"), entry("G4.thermal-slowdown", "2026-12-01"), today="2026-12-02")
    assert later.verdict == "go-with-warnings"
    assert later.reasons[0].endswith("(acceptance ran out on 2026-12-01: known here)")


def test_what_is_no_finding_cannot_be_accepted(spark: Callable[..., Any]) -> None:
    everything = Request(accepted=tuple(entry(gotcha) for gotcha in GOTCHAS))
    for changes, verdict in (({"python": NO_TORCH}, "go-with-warnings"), ({"gpu": {"missing": "failed"}}, "no-go")):
        outcome = judge(decode(spark(**changes)), everything)
        assert outcome.verdict == verdict
        assert not {item.status for item in outcome.findings} & {"UNKNOWN", "WARN", "FAIL"}


def test_the_message_keeps_its_beginning(judged: Callable[..., Preflight]) -> None:
    # What scripts read from G3 and G4, and env-report with them.
    accepted = judged(entry("G4"), entry("G3"))
    line = shown(accepted, "plain").splitlines()[3]
    assert re.fullmatch(r"G4 INFO: 41, 4\.20 W .*\(accepted WARN: known here\)", line)
    report = json.loads(shown(accepted, "env-report"))
    assert report["checks"]["G4"] == line.replace("G4 INFO", "info")


def test_plain_tells_of_an_accepted_finding_beyond_ten(judged: Callable[..., Preflight]) -> None:
    lines = shown(judged(entry("G12", "2027-01-31")), "plain").splitlines()
    assert [line.split()[:2] for line in lines[10:]] == [["G12", "INFO:"]]
    assert lines[10].endswith("(accepted FAIL until 2027-01-31: known here)")


def test_json(judged: Callable[..., Preflight], spark: Callable[..., Any]) -> None:
    preflight = judged(entry("G12"), entry("G4", "2027-01-31"), entry("G9", "2020-01-01"))
    schema, single = schemas.schema("check"), schemas.schema("finding")
    assert schema and single
    body = json.loads(shown(preflight, "json", verbose=True))
    Draft202012Validator(schema).validate(body)
    assert body["config"] == ["gonogo.toml"]
    assert "config" not in json.loads(shown(preflight, "json"))
    for item in body["findings"]:
        Draft202012Validator(single).validate(item)
    assert {item["gotcha"]: item["accepted"] for item in body["findings"] if "accepted" in item} == {
        "G4": {"status": "WARN", "reason": "known here", "until": "2027-01-31", "source": "gonogo.toml"},
        "G12": {"status": "FAIL", "reason": "known here", "until": None, "source": "gonogo.toml"},
    }
    assert single["properties"] == schema["$defs"]["finding"]["properties"]


def test_coverage_still_says_what_did_not_answer(spark: Callable[..., Any]) -> None:
    preflight = judge(decode(spark(gpu={"missing": "timed_out"})), Request(accepted=(entry("G4"),)))
    assert "G4" in json.loads(shown(preflight, "json"))["coverage"]["unknown"]


def test_text_shows_them_before_other_information(judged: Callable[..., Preflight]) -> None:
    text = shown(judged(entry("G12")), "text", verbose=True)
    information = [line for line in text.splitlines() if line.startswith("INFO")]
    assert information[0].startswith("INFO    G12  ")
    assert "(accepted FAIL: known here)" in re.sub(r"\s+", " ", text)
    assert "accepted by gonogo.toml" in text
    assert text.endswith("\nconfig: gonogo.toml\n")
    # Nothing to do about it, so no fix; the one that counts keeps its own.
    plain = shown(judged(entry("G12")), "text").partition("INFO ")[2]
    assert "fix:" not in plain and "fix:" in shown(judged(), "text")
