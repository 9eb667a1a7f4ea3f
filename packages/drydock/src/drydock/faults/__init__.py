"""Faults on purpose: a transport that fails, lies, lags and crashes by a plan, and a record of all that was called.

Must not know: what is called through it; it sees requests, answers and lines.
"""

from drydock.faults.effects import (
    Answer,
    ArriveLate,
    CallEffect,
    Crash,
    CutStream,
    Delay,
    DropEvents,
    Duplicate,
    Effect,
    EmptyList,
    FailStream,
    Hang,
    LagEvents,
    LoseAnswer,
    Refuse,
    RepeatEvents,
    ReplayOldEvents,
    SilenceStream,
    StaleRead,
    StreamEffect,
)
from drydock.faults.plan import Plan, Rule, resource_of
from drydock.faults.process import Call, Crashed, Process
from drydock.faults.skew import SkewedClock
from drydock.faults.sometimes import Sometimes
from drydock.faults.stream import lines_of
from drydock.faults.transport import FaultyTransport

__all__ = [
    "Answer",
    "ArriveLate",
    "Call",
    "CallEffect",
    "Crash",
    "Crashed",
    "CutStream",
    "Delay",
    "DropEvents",
    "Duplicate",
    "Effect",
    "EmptyList",
    "FailStream",
    "FaultyTransport",
    "Hang",
    "LagEvents",
    "LoseAnswer",
    "Plan",
    "Process",
    "Refuse",
    "RepeatEvents",
    "ReplayOldEvents",
    "Rule",
    "SilenceStream",
    "SkewedClock",
    "Sometimes",
    "StaleRead",
    "StreamEffect",
    "lines_of",
    "resource_of",
]
