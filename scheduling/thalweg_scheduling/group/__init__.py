"""Which of the receiving tasks gets a tuple. Pure Python: a sender asks for every tuple.

`picker_for` makes the picker of a grouping by the word in the topology. `Broadcast` is apart: it
has targets instead of a pick. How the planner sets weights is in `weighing`, which needs numpy and
is not imported here.
"""

from collections.abc import Callable, Sequence

from thalweg_scheduling.group.broadcast import Broadcast
from thalweg_scheduling.group.fields import Fields
from thalweg_scheduling.group.first_task import Global
from thalweg_scheduling.group.keys import KEY_GROUPS, GroupsOfKeys, joined_key, key_bytes, key_group
from thalweg_scheduling.group.load_aware_local import LoadAwareLocal, Locality
from thalweg_scheduling.group.near_source import NearSource, near_source_shares
from thalweg_scheduling.group.partial_key import PartialKey
from thalweg_scheduling.group.receivers import (
    NOBODY,
    NOWHERE,
    Nearness,
    NoReceiver,
    Origin,
    Picker,
    Receiver,
    Senders,
    nearness,
)
from thalweg_scheduling.group.shuffle import Shuffle
from thalweg_scheduling.group.w_choices import HeavyKeys, WChoices
from thalweg_scheduling.group.weighted import Weighted, WeightSteps, updated_weights
from thalweg_scheduling.model.errors import InvalidParameters
from thalweg_scheduling.model.graph import GroupingType

__all__ = [
    "KEY_GROUPS",
    "NOBODY",
    "NOWHERE",
    "Broadcast",
    "Fields",
    "Global",
    "GroupsOfKeys",
    "HeavyKeys",
    "LoadAwareLocal",
    "Locality",
    "NearSource",
    "Nearness",
    "NoReceiver",
    "Origin",
    "PartialKey",
    "Picker",
    "Receiver",
    "Senders",
    "Shuffle",
    "WChoices",
    "WeightSteps",
    "Weighted",
    "joined_key",
    "key_bytes",
    "key_group",
    "near_source_shares",
    "nearness",
    "picker_for",
    "updated_weights",
]


def picker_for(
    grouping: GroupingType,
    receivers: Sequence[Receiver],
    origin: Origin = NOWHERE,
    *,
    senders: Senders = NOBODY,
    seed: int = 0,
) -> Picker:
    """The picker of a grouping; give each sender a seed of its own, such as its index.

    `senders` says where all senders of the edge are, as far as somebody told.
    """
    if grouping in _SIMPLE:
        return _SIMPLE[grouping](receivers)
    if grouping is GroupingType.NEAR_SOURCE:
        return NearSource(receivers, origin, senders=senders, seed=seed)
    if grouping is GroupingType.LOAD_AWARE_LOCAL:
        return LoadAwareLocal(receivers, origin, seed=seed)
    if grouping is GroupingType.SHUFFLE:
        return Shuffle(receivers, seed=seed)
    raise InvalidParameters("Broadcast picks nobody: use Broadcast(receivers).targets")


_SIMPLE: dict[GroupingType, Callable[[Sequence[Receiver]], Picker]] = {
    GroupingType.FIELDS: Fields,
    GroupingType.PARTIAL_KEY: PartialKey,
    GroupingType.W_CHOICES: WChoices,
    GroupingType.WEIGHTED: Weighted,
    GroupingType.GLOBAL: Global,
}
