"""What runs on a node: facts about a machine, collected and never judged.

Python 3.8 and later, standard library plus pynvml (optional). Nothing here imports the rest of gonogo:
this package, with ``gonogo/__init__.py`` and ``pynvml.py``, is the collector zipapp.
"""
