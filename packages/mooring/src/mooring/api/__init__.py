"""HTTP: routes, authentication, the event stream.

Must not know: how decisions are made. It reads `queries` and sends commands to `controllers`.
"""
