"""Commands that need an extra: a missing package is named, a defect of ours is not hidden."""

import importlib
import sys

import pytest

from mooring.cli.launch.extras import extra_for


def test_a_missing_package_ends_the_command_with_the_line_that_installs_it(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "drydock", None)
    with pytest.raises(SystemExit) as ended, extra_for("up", "embedded"):
        importlib.import_module("drydock")
    assert ended.value.code == 1
    line = "mooring: not_installed: 'mooring up' needs more packages: pip install 'kube-mooring[embedded]'\n"
    assert capsys.readouterr().err.startswith(line)


@pytest.mark.parametrize("name", ["mooring.no_such_module", "hawser.no_such_module"])
def test_a_missing_module_of_ours_is_a_defect(name):
    with pytest.raises(ModuleNotFoundError), extra_for("up", "embedded"):
        importlib.import_module(name)
