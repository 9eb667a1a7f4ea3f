"""A JupyterHub spawner that starts notebook servers on warm Mooring workers."""
