"""Start-up parameters that only the gateway sends to a worker."""

TRANSACTION = "mooring.transaction"  # "failed": the session begins in a failed transaction
