"""Readings: figures in a log as partial facts and series, for the gotchas' own judges. Judges nothing.

Each module has ``LITERALS``, by which the fast scan finds its lines in a large log, and a function that takes lines.
"""
