"""The seven incidents, replayed with and without protection.

A replay is a play in two halves: the same story on a stage, which is a simulated environment. Must not know: the inside
of the application; a replay uses it as a user does.
"""
