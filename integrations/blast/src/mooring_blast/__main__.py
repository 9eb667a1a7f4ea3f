"""`python -m mooring_blast`, which is what runs in pods."""

import sys

from mooring_blast.command import main

sys.exit(main())
