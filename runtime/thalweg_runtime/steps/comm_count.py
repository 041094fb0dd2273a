"""COMMCount: read → split → count, over what customers of a shop do (Ns-Stream)."""

from typing import Any

from thalweg_runtime.steps.seeded import Skewed, drawn

_GOODS = Skewed(4000)
_DEEDS = ("pv", "pv", "pv", "pv", "cart", "fav", "buy")

Record = dict[str, Any]


def read(sequence: int) -> Record:
    """Make a line as the shop's log has it: user, commodity, category, behaviour, time."""
    chance = drawn(sequence)
    goods = _GOODS.place(chance)
    deed = chance.choice(_DEEDS)
    user = chance.randrange(100_000)
    return {"line": f"{user},{goods},{goods % 97},{deed},{1_511_544_070 + sequence}"}


def split(record: Record) -> Record:
    """Take a line apart."""
    _, goods, category, deed, _ = record["line"].split(",")
    return {"commodity": goods, "category": category, "behaviour": deed}


def count(record: Record, state: Record) -> Record:
    """Count what was done with a commodity."""
    name = f"{record['commodity']}/{record['behaviour']}"
    state[name] = state.get(name, 0) + 1
    return {"commodity": record["commodity"], "count": state[name]}
