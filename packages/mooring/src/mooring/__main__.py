"""`python -m mooring` is `mooring`."""

from mooring.cli.main import main

main()
