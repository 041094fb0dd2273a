"""The bench of one turn tells each kind of turn in a line, and offers what it says."""

from bench import turning


def turn(whole_s: float, **writes: int) -> turning.Turn:
    return turning.Turn(
        stages_s=dict.fromkeys(turning.STAGES, whole_s / len(turning.STAGES)),
        whole_s=whole_s,
        writes=writes,
    )


def test_a_topology_has_fifty_tasks() -> None:
    spec = turning.topology("t0")["spec"]
    assert sum(vertex["replicas"]["initial"] for vertex in spec["vertices"]) == 50
    assert len(spec["edges"]) == 3


def test_each_kind_of_turn_is_a_line() -> None:
    results = turning.Results(
        first=[turn(10.0, pods=500)],
        steady=[turn(1.0), turn(2.0), turn(4.0)],
        planning=[turn(3.0, **{"create streamplans": 10})],
    )
    lines = turning.told(results).splitlines()
    assert len(lines) == 2 + 3
    assert "1 / 2 / 4" in lines[3]
    assert results.planning[0].plans == 10
    assert results.steady[0].plans == 0
