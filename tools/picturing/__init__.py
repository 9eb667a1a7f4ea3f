"""Pictures that are drawn from runs."""
