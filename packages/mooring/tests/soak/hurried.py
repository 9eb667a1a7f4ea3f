"""`mooring serve` in a hurry: the same process, every timeout so many times shorter, in the same order."""

import asyncio
import sys

from mooring.cli.launch.process import configure_logs
from mooring.cli.launch.serve import serve
from mooring.model.timeouts import Timeouts
from mooring.settings import load_settings

if __name__ == "__main__":
    settings = load_settings()
    configure_logs(settings.log_level)
    asyncio.run(serve(settings, Timeouts().hurried(float(sys.argv[1]))))
