"""`up`, `serve`, `sandbox`, `replay` and `install`: commands that start something, or print what a cluster starts.

The only part of the terminal that knows the server and drydock. Bodies are imported when the command runs.
"""
