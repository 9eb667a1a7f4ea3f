"""The programs and data of the demo, which run inside its pods.

Must not know: the control plane.
"""
