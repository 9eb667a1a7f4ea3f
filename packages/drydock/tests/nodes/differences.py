"""Known differences between drydock's kubelet and the real one; docs/drydock/using.md lists them for users."""

DIFFERENCES: dict[str, str] = {
    "what_the_status_repeats": "allocatedResources, resources, user and volumeMounts are not in the status",
    "a_program_without_a_handler": "SIGTERM ends a process at once: only the first process of a container ignores it",
}
