"""The loop: queue, snapshot, plan, execute with preconditions and rails.

Must not know: who asks (api, cli), nor the sandbox.
"""
