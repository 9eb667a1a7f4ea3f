"""`python -m drydock`: the command `drydock`."""

import sys

from drydock.command import main

if __name__ == "__main__":
    sys.exit(main())
