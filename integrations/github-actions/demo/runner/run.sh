#!/bin/sh
# Stands for the run.sh of GitHub's runner, with the same command line: run.sh --jitconfig CONFIG
exec "${DEMO_PYTHON:-python3}" "$(dirname "$0")/fake_runner.py" "$@"
