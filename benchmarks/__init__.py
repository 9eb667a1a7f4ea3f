"""Measurements of speed and cost, each with the bar that it has to meet.

`make bench` runs all of them in a small size; `python -m benchmarks.NAME` runs one in its full size.
"""
