"""`python -m thalweg_testbed.kind …`: what the make targets call, and the verbs of the bed."""

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from thalweg_testbed.binaries import cache_directory
from thalweg_testbed.docker import use_engine
from thalweg_testbed.errors import BedError
from thalweg_testbed.images import Images
from thalweg_testbed.kind.cluster import KindCluster
from thalweg_testbed.kind.lifetime import Clusters
from thalweg_testbed.kind.records import Records
from thalweg_testbed.kind.shape import Shape
from thalweg_testbed.kind.tables import latency_table, node_table
from thalweg_testbed.latency.links import Link, Links, parse_duration_s

__all__ = ["main"]

NAME = "thalweg"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; an error of the test bed is one message, not a traceback."""
    options = _parser().parse_args(arguments)
    try:
        if (
            options.verb not in {"up", "prepare"}
            and Records(cache_directory()).read(options.name) is None
        ):
            print(f"==> no cluster {options.name} is up: start one with `make kind`")
            return 0 if options.verb == "down" else 1
        with use_engine() as engine:
            return _run(options, Clusters(engine))
    except (BedError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m thalweg_testbed.kind",
        description="A Kubernetes of containers, in domains that are some milliseconds apart.",
    )
    parser.add_argument("--name", default=NAME, help="which cluster (default: %(default)s)")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    up = verbs.add_parser("up", help="make a cluster and leave it running")
    up.add_argument("--domains", type=int, default=4)
    up.add_argument("--nodes", type=int, default=2, help="how many in each domain")
    prepare = verbs.add_parser(
        "prepare", help="make what clusters and tests are made of, but no cluster"
    )
    prepare.add_argument("--soak", action="store_true", help="also for the tests of `make soak`")
    verbs.add_parser("down", help="remove it")
    verbs.add_parser("status", help="show its nodes and what was done to them")
    latency = verbs.add_parser("latency", help="set latency between two domains, or measure all")
    latency.add_argument("words", nargs="*", metavar="FROM TO 10ms | FILE.csv | off")
    latency.add_argument("--back", help="of the way back, if it is not the same")
    latency.add_argument("--jitter", default="0ms")
    latency.add_argument("--loss", type=float, default=0.0, help="per cent of the packets")
    for verb, text in {
        "sleep": "suspend a node",
        "wake": "resume a node that sleeps",
        "crash": "end a node at once",
        "start": "boot a node that has crashed",
    }.items():
        verbs.add_parser(verb, help=text).add_argument("node", help="its name, or b-0 for short")
    verbs.add_parser("load", help="put an image of Docker's into all nodes").add_argument("image")
    cut = verbs.add_parser("partition", help="let nothing pass between two domains")
    cut.add_argument("domains", nargs=2)
    heal = verbs.add_parser("heal", help="end a partition, or all of them")
    heal.add_argument("domains", nargs="*")
    return parser


def _run(options: argparse.Namespace, clusters: Clusters) -> int:
    if options.verb == "up":
        return _up(options, clusters)
    clusters.remove_abandoned()
    if options.verb == "prepare":
        clusters.prepare()
        Images(clusters.engine).prepare(soak=options.soak)
        return 0
    if options.verb == "down":
        clusters.remove(options.name)
        print(f"==> removed {options.name}")
        return 0
    cluster = clusters.open(options.name)
    if options.verb == "latency":
        return _latency(options, cluster)
    actions = {
        "status": lambda: print(node_table(cluster)),
        "sleep": lambda: cluster.sleep_node(options.node),
        "wake": lambda: cluster.wake_node(options.node),
        "crash": lambda: cluster.crash_node(options.node),
        "start": lambda: cluster.start_node(options.node),
        "load": lambda: cluster.load(options.image),
        "partition": lambda: cluster.partition(*options.domains),
        "heal": lambda: cluster.heal(*options.domains),
    }
    actions[options.verb]()
    return 0


def _up(options: argparse.Namespace, clusters: Clusters) -> int:
    shape = Shape(domains=options.domains, per_domain=options.nodes)
    if clusters.is_whole(options.name):
        print("==> the cluster is already up")
        cluster = clusters.open(options.name)
    else:
        cluster = clusters.create(options.name, shape, is_owned=False)
    kubectl = "kubectl" if shutil.which("kubectl") else str(cluster.kubectl_path)
    print(node_table(cluster))
    print(f"    export KUBECONFIG={cluster.kubeconfig}")
    if cluster.engine.is_ours:
        print(f"    export DOCKER_HOST={cluster.engine.host}")
    print(f"    {kubectl} get nodes -L topology.kubernetes.io/zone")
    print("    make kind-down    # removes it")
    return 0


def _latency(options: argparse.Namespace, cluster: KindCluster) -> int:
    words = options.words
    if not words:
        measured = cluster.measure_latency()
    elif words == ["off"]:
        measured = cluster.set_latency(Links())
    elif len(words) == 1:
        measured = cluster.set_latency(Links.parse_csv(Path(words[0]).read_text().splitlines()))
    elif len(words) == 3:
        measured = cluster.change_latency(_changes(options))
    else:
        raise BedError("write `latency`, `latency off`, `latency a b 10ms` or `latency FILE.csv`")
    print(f"==> by {cluster.means}")
    print(latency_table(measured))
    return 0


def _changes(options: argparse.Namespace) -> dict[tuple[str, str], Link]:
    one, other, there = options.words
    jitter_s, loss = parse_duration_s(options.jitter), options.loss / 100
    return {
        (one, other): Link(latency_s=parse_duration_s(there), jitter_s=jitter_s, loss=loss),
        (other, one): Link(
            latency_s=parse_duration_s(options.back or there), jitter_s=jitter_s, loss=loss
        ),
    }


if __name__ == "__main__":
    sys.exit(main())
