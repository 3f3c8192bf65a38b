"""Old names of parameters are accepted with a warning."""

from __future__ import annotations

import pytest

from assignors import registry
from assignors.errors import UnknownAssignorError
from assignors.model.traffic_rates import TrafficUnit
from assignors.renamed_parameters import RenamedParametersWarning, rename_parameters
from assignors.tasks.optimal import Optimal


def test_parameters_keep_their_order() -> None:
    assert rename_parameters({"slack": 1, "minimises": "bytes", "apart": "tags"}) == (
        {"slack": 1, "minimizes": "bytes", "apart": "tags"},
        ["minimises"],
    )
    assert rename_parameters({"slack": 1}) == ({"slack": 1}, [])


def test_old_name_is_accepted_with_a_warning() -> None:
    with pytest.warns(
        RenamedParametersWarning, match=r"optimal: parameter 'minimises' was renamed to 'minimizes'.*0\.3"
    ):
        assignor = registry.make(registry.find("optimal"), {"minimises": "bytes"})
    assert assignor == Optimal(minimizes=TrafficUnit.BYTES)


def test_old_name_is_rejected_beside_the_current_one() -> None:
    with pytest.raises(UnknownAssignorError, match="minimises"):
        registry.make(registry.find("optimal"), {"minimises": "bytes", "minimizes": "bytes"})
