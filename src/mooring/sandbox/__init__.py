"""An embedded Kubernetes for one machine and for virtual time.

Must not know: Mooring's own loop; it would serve any operator.
"""
