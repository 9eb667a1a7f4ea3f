"""Faults on purpose: a transport that fails, lies, lags and crashes by a plan, and a record of all that was called.

Must not know: what is called through it; it sees requests, answers and lines.
"""

from mooring.sandbox.faults.effects import (
    Answer,
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
from mooring.sandbox.faults.plan import Plan, Rule
from mooring.sandbox.faults.process import Call, Crashed, Process
from mooring.sandbox.faults.skew import SkewedClock
from mooring.sandbox.faults.sometimes import Sometimes
from mooring.sandbox.faults.transport import FaultyTransport

__all__ = [
    "Answer",
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
]
