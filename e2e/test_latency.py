"""Latency between domains: what is asked for is what pods and nodes see, each way."""

import json
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from statistics import median, quantiles

import pytest

from thalweg_testbed import BedError
from thalweg_testbed.kind import CONTROL_DOMAIN, KindCluster
from thalweg_testbed.latency import Link, Links, Measured
from thalweg_testbed.latency.means import PORT, PROGRAM


def one_way_s(measured: list[Measured], source: str, target: str) -> float:
    return median(
        one.forward_s
        for one in measured
        if (one.source_domain, one.target_domain) == (source, target)
    )


def test_all_pairs_differ(whole: KindCluster) -> None:
    pairs = list(combinations(whole.domains, 2))
    asked = {pair: 0.004 * (index + 1) for index, pair in enumerate(pairs)}
    assert len(asked) == 6
    # Setting measures, and is an error if one of them is not what was asked for.
    measured = whole.set_latency(Links.symmetric(asked))
    for (one, other), latency_s in asked.items():
        for source, target in ((one, other), (other, one)):
            seen_s = one_way_s(measured, source, target)
            assert seen_s == pytest.approx(latency_s, abs=max(0.002, 0.15 * latency_s))
    assert {one.path for one in measured} == {"pods", "nodes"}


def test_the_way_back_may_take_longer(whole: KindCluster) -> None:
    links = {("a", "b"): Link(latency_s=0.005), ("b", "a"): Link(latency_s=0.040)}
    measured = whole.set_latency(Links(links=links))
    assert one_way_s(measured, "a", "b") < 0.010
    assert one_way_s(measured, "b", "a") > 0.030


def test_the_control_planes_node_may_be_far_away(whole: KindCluster) -> None:
    links = {("a", CONTROL_DOMAIN): 0.005, (CONTROL_DOMAIN, "a"): 0.030}
    measured = whole.set_latency(
        Links(links={pair: Link(latency_s=latency_s) for pair, latency_s in links.items()})
    )
    assert one_way_s(measured, "a", CONTROL_DOMAIN) == pytest.approx(0.005, abs=0.002)
    assert one_way_s(measured, CONTROL_DOMAIN, "a") == pytest.approx(0.030, abs=0.0045)
    assert one_way_s(measured, "b", CONTROL_DOMAIN) < 0.002
    # Where no link names it, it is not measured.
    without = whole.set_latency(Links.symmetric({("a", "b"): 0.005}))
    assert CONTROL_DOMAIN not in {one.source_domain for one in without}


def test_a_change_leaves_the_other_pairs(whole: KindCluster) -> None:
    whole.set_latency(Links.symmetric({("a", "b"): 0.030, ("c", "d"): 0.010}))
    measured = whole.change_latency({("a", "b"): Link(latency_s=0.015)})
    assert one_way_s(measured, "a", "b") < 0.020
    assert one_way_s(measured, "b", "a") > 0.025
    assert one_way_s(measured, "c", "d") > 0.008


def test_open_connections_live_through_a_change(whole: KindCluster) -> None:
    whole.set_latency(Links.symmetric({("a", "b"): 0.010}), measure=False)
    source, target = whole.nodes_of("a")[0], whole.nodes_of("b")[0]
    words = (PROGRAM, "flood", "-from", source.probe_address, "-port", str(PORT), "-span", "15s")
    with ThreadPoolExecutor(max_workers=1) as pool:
        # One TCP connection; it fails if that breaks.
        flood = pool.submit(whole.engine.run, "exec", source.name, *words, target.probe_address)
        for latency_s in (0.030, 0.005):
            whole.set_latency(Links.symmetric({("a", "b"): latency_s}), measure=False)
        assert flood.running()
        assert json.loads(flood.result())["bytes"] > 1_000_000


def middle_half_s(values: list[float]) -> float:
    """How far apart the first and the last quarter are: what a busy moment does not change."""
    first, _, last = quantiles(values, n=4)
    return last - first


def test_jitter_spreads_and_loss_loses(whole: KindCluster) -> None:
    link = Link(latency_s=0.020, jitter_s=0.008, loss=0.3)
    measured = whole.set_latency(Links(links={("a", "b"): link}))
    towards = [m for m in measured if (m.source_domain, m.target_domain) == ("a", "b")]
    answered = sum(m.answered for m in towards) / sum(m.sent for m in towards)
    assert 0.4 < answered < 0.95
    # Half of all packets are within 8 ms of each other if any delay from 12 to 28 ms is as likely.
    source, target = whole.nodes_of("a")[0], whole.nodes_of("b")[0]
    probe = (PROGRAM, "probe", "-from", source.probe_address, "-port", str(PORT))
    options = ("-count", "200", "-interval", "20ms", target.probe_address)
    (answer,) = json.loads(whole.engine.run("exec", source.name, *probe, *options))
    assert 0.004 < middle_half_s(answer["forward_s"]) < 0.012
    assert middle_half_s(answer["backward_s"]) < 0.004


def test_off_is_off(whole: KindCluster) -> None:
    whole.set_latency(Links.symmetric({("a", "b"): 0.030}))
    measured = whole.set_latency(Links())
    assert one_way_s(measured, "a", "b") < 0.002


def test_a_domain_that_is_not_there(whole: KindCluster) -> None:
    with pytest.raises(BedError, match="no domain z: there are a, b, c, d"):
        whole.set_latency(Links.symmetric({("a", "z"): 0.01}))
