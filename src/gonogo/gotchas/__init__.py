"""One folder per failure mode; everything about it lives there.

``gotcha.toml`` says what it is: symptom, cause, check, fix, the claim it began as, the evidence since, every finding
code with its remedy. ``check.py`` judges facts: functions named ``check_*`` whose parameters are their needs (a
section of the facts, ``platform``, ``plan``) and which yield findings. A number is never reused.
"""
