"""The plugins of the tests of all three packages."""

pytest_plugins = (
    "packages.testing.completeness",
    "packages.testing.coroutines",
    "packages.testing.distribution",
    "packages.testing.endings",
    "packages.testing.garbage",
    "packages.testing.interruption",
    "packages.testing.processor",
    "packages.testing.time_limit",
    "packages.mooring.tests.rights_report",
)
