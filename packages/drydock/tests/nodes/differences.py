"""Known differences between drydock's kubelet and the real one; docs/drydock.md lists them for users."""

DIFFERENCES: dict[str, str] = {}
