"""What is asked for: for each direction between two domains, a latency, its jitter and loss."""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

__all__ = ["Link", "Links", "parse_duration_s"]

_UNITS_S = {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(us|µs|ms|s)")
_LONGEST_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One direction between two domains."""

    latency_s: float = 0.0
    jitter_s: float = 0.0
    """Each packet takes between latency minus this and latency plus this."""

    loss: float = 0.0
    """The share of packets that never arrive, 0 to 1."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.latency_s <= _LONGEST_S:
            raise ValueError(f"a latency is between 0 and {_LONGEST_S:g} s, not {self.latency_s}")
        if not 0.0 <= self.jitter_s <= self.latency_s:
            raise ValueError("jitter is between 0 and the latency")
        if not 0.0 <= self.loss < 1.0:
            raise ValueError("loss is a share below 1")

    @property
    def is_plain(self) -> bool:
        """Tell whether packets pass as if nothing had been asked for."""
        return self == Link()


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """All directions that differ from a plain link: (from, to) → Link."""

    links: Mapping[tuple[str, str], Link] = field(default_factory=dict)

    def __post_init__(self) -> None:
        inside = [source for source, target in self.links if source == target]
        if inside:
            raise ValueError(f"no latency within domain {inside[0]}: only between two")

    @classmethod
    def symmetric(cls, latencies_s: Mapping[tuple[str, str], float]) -> "Links":
        """Make links that are alike in both directions, from one-way latencies."""
        one_way = {pair: Link(latency_s=value) for pair, value in latencies_s.items()}
        return cls(links=one_way | {(b, a): link for (a, b), link in one_way.items()})

    @classmethod
    def parse_csv(cls, lines: Iterable[str]) -> "Links":
        """Read lines `from,to,latency_s[,jitter_s[,loss]]`, each for one direction."""
        links = {}
        for number, row in enumerate(csv.reader(lines), start=1):
            words = [word.strip() for word in row]
            if not words or words[0].startswith("#") or words[:2] == ["from", "to"]:
                continue
            try:
                links[words[0], words[1]] = _parse_link(words)
            except ValueError as error:
                raise ValueError(f"line {number}, {','.join(words)!r}: {error}") from None
        return cls(links=links)

    def between(self, source: str, target: str) -> Link:
        """Return the link of one direction."""
        return self.links.get((source, target), Link())

    def changed(self, changes: Mapping[tuple[str, str], Link]) -> "Links":
        """Return these links with some directions replaced; plain ones are left out."""
        merged = {**self.links, **changes}
        return Links(links={pair: link for pair, link in merged.items() if not link.is_plain})

    def csv_lines(self) -> Iterator[str]:
        """Write what `parse_csv` reads."""
        yield "from,to,latency_s,jitter_s,loss"
        for (source, target), link in sorted(self.links.items()):
            yield f"{source},{target},{link.latency_s:g},{link.jitter_s:g},{link.loss:g}"


def _parse_link(words: Sequence[str]) -> Link:
    """Read one row of `parse_csv`."""
    if not 3 <= len(words) <= 5:
        raise ValueError("write from,to,latency_s[,jitter_s[,loss]]")
    try:
        values = [float(word) for word in words[2:]]
    except ValueError:
        raise ValueError("latency and jitter are seconds, like 0.025; loss is a share") from None
    latency_s, jitter_s, loss = [*values, 0.0, 0.0][:3]
    return Link(latency_s=latency_s, jitter_s=jitter_s, loss=loss)


def parse_duration_s(text: str) -> float:
    """Return 10ms as 0.01; a number needs a unit (us, ms, s)."""
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is no duration: write 10ms, 500us or 0.2s")
    return float(match[1]) * _UNITS_S[match[2]]
