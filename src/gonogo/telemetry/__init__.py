"""A machine over time, as data that can be judged. Judges nothing."""
