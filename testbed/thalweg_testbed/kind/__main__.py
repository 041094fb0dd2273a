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
from thalweg_testbed.kind.tables import latency_table, node_table
from thalweg_testbed.latency.links import Link, Links, parse_duration_s
from thalweg_testbed.latency.measuring import Measured

__all__ = ["main"]

NAME = "thalweg"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; an error of the test bed is one message, not a traceback."""
    options = _parser().parse_args(arguments)
    try:
        # A cluster stays in its Docker, whichever answers now.
        record = None
        if options.verb != "prepare":
            record = Records(cache_directory()).read(options.name)
        if record is None and options.verb not in {"up", "prepare"}:
            print(f"==> no cluster {options.name} is up: start one with `make kind`")
            return 0 if options.verb == "down" else 1
        with use_engine(host=record.docker_host if record else None) as engine:
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
    about = f"which cluster (default: {NAME}); before or after the verb"
    parser.add_argument("--name", default=NAME, help=about)
    named = argparse.ArgumentParser(add_help=False)
    # Without a default of its own, which would win over what stands before the verb.
    named.add_argument("--name", default=argparse.SUPPRESS, help=about)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")

    def verb(name: str, text: str) -> argparse.ArgumentParser:
        return verbs.add_parser(name, help=text, description=text, parents=[named])

    up = verb("up", "make a cluster and leave it running, or find it as it was left")
    up.add_argument("--domains", type=int, help="how many (default: 4)")
    up.add_argument("--nodes", type=int, help="how many in each domain (default: 2)")
    prepare = verb("prepare", "make what clusters and tests are made of, but no cluster")
    prepare.add_argument("--soak", action="store_true", help="also for the tests of `make soak`")
    verb("down", "remove it")
    verb("status", "show its nodes and what was done to them")
    _add_latency(verb("latency", "set latency between two domains, or measure all"))
    for name, text in {
        "sleep": "suspend a node",
        "wake": "resume a node that sleeps",
        "crash": "end a node at once",
        "start": "boot a node that has crashed",
    }.items():
        verb(name, text).add_argument("node", help="its name, or b-0 for short")
    verb("load", "put an image of Docker's into all nodes").add_argument("image")
    verb("partition", "let nothing pass between two domains").add_argument("domains", nargs=2)
    verb("heal", "end a partition, or all of them").add_argument("domains", nargs="*")
    return parser


def _add_latency(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="FROM TO 10ms | FILE.csv | off")
    parser.add_argument("--back", metavar="40ms", help="of the way back, if it is not the same")
    parser.add_argument("--jitter", metavar="1ms", help="packets take up to so much more or less")
    parser.add_argument(
        "--loss",
        metavar="PERCENT",
        type=float,
        help="per cent of the packets that never arrive: 0.5 is one in 200 (0.005 in a CSV file)",
    )


def _run(options: argparse.Namespace, clusters: Clusters) -> int:
    if options.verb == "up":
        _show(clusters.up(options.name, domains=options.domains, per_domain=options.nodes))
        return 0
    clusters.remove_abandoned()
    if options.verb == "prepare":
        clusters.prepare()
        Images(clusters.engine).prepare(soak=options.soak)
        return 0
    if options.verb == "down":
        clusters.remove(options.name)
        print(f"==> removed {options.name}")
        return 0
    _act(options, clusters.open(options.name))
    return 0


def _act(options: argparse.Namespace, cluster: KindCluster) -> None:
    actions = {
        "status": lambda: print(node_table(cluster)),
        "latency": lambda: _latency(options, cluster),
        "sleep": lambda: cluster.sleep_node(options.node),
        "wake": lambda: cluster.wake_node(options.node),
        "crash": lambda: cluster.crash_node(options.node),
        "start": lambda: cluster.start_node(options.node),
        "load": lambda: cluster.load(options.image),
        "partition": lambda: cluster.partition(*options.domains),
        "heal": lambda: _heal(options.domains, cluster),
    }
    actions[options.verb]()


def _show(cluster: KindCluster) -> None:
    kubectl = "kubectl" if shutil.which("kubectl") else str(cluster.kubectl_path)
    print(node_table(cluster))
    print(f"    export KUBECONFIG={cluster.kubeconfig}")
    if cluster.engine.is_ours:
        print(f"    export DOCKER_HOST={cluster.engine.host}")
    print(f"    {kubectl} get nodes -L topology.kubernetes.io/zone")
    print("    make kind-down    # removes it")


def _heal(domains: Sequence[str], cluster: KindCluster) -> None:
    if len(domains) not in (0, 2):
        raise BedError("write `heal` for all partitions, or `heal a b` for the one between two")
    cluster.heal(*domains)


def _latency(options: argparse.Namespace, cluster: KindCluster) -> None:
    measured = _measured(options, cluster)
    print(f"==> by {cluster.means}")
    print(latency_table(measured))


def _measured(options: argparse.Namespace, cluster: KindCluster) -> list[Measured]:
    words = options.words
    if len(words) == 3:
        return cluster.change_latency(_changes(options))
    if {options.back, options.jitter, options.loss} != {None}:
        raise BedError("--back, --jitter and --loss go with `latency a b 10ms`")
    if not words:
        return cluster.check_latency()
    if words == ["off"]:
        return cluster.set_latency(Links())
    if len(words) == 1:
        return cluster.set_latency(_read_links(Path(words[0])))
    raise BedError("write `latency`, `latency off`, `latency a b 10ms` or `latency FILE.csv`")


def _read_links(file: Path) -> Links:
    try:
        lines = file.read_text().splitlines()
    except OSError as error:
        usage = "write `latency`, `latency off`, `latency a b 10ms` or `latency FILE.csv`"
        raise BedError(f"{file}: {error.strerror}: {usage}") from None
    try:
        return Links.parse_csv(lines)
    except ValueError as error:
        raise BedError(f"{file}: {error}") from None


def _changes(options: argparse.Namespace) -> dict[tuple[str, str], Link]:
    one, other, there = options.words
    per_cent = options.loss or 0.0
    if not 0 <= per_cent < 100:
        raise BedError(f"--loss is per cent of the packets, 0 to below 100, not {per_cent:g}")
    jitter_s, loss = parse_duration_s(options.jitter or "0ms"), per_cent / 100
    return {
        (one, other): Link(latency_s=parse_duration_s(there), jitter_s=jitter_s, loss=loss),
        (other, one): Link(
            latency_s=parse_duration_s(options.back or there), jitter_s=jitter_s, loss=loss
        ),
    }


if __name__ == "__main__":
    sys.exit(main())
