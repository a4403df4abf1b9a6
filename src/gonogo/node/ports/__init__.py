"""The three ways in which a collector reaches the machine: Files, Commands, Devices; bundled as a Host.

Each can be recorded and replayed, so that a collector runs the same on this machine and on one that someone sent.
"""
