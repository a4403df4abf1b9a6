"""Turning a log into what can be judged: marks found in its lines, and readings as partial facts. Judges nothing."""
