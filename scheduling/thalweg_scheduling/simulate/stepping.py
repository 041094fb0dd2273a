"""One event after another: tuples arrive, wait, are computed, are sent on, and are acknowledged.

A task takes one tuple at a time from its queue. What runs on a node shares its cores evenly, no
task more than one core, no process more than its own. A task whose receivers have no credit left
takes nothing. Numbers are drawn from the generator that is given, in the order of the events.
"""

from types import FunctionType
from typing import TypeAlias

import numpy as np

from thalweg_scheduling.model.arrays import Floats, Ints
from thalweg_scheduling.simulate import arena as of

Outside: TypeAlias = tuple[Floats, Ints]
"""When tuples arrive, and at which slots."""

DONE, NO_ROOM = range(2)
# An event in one number: what happens, to whom, and a call; events of an older call are void.
KIND_BITS, WHO_BITS = 3, 30


def push(whole: Ints, real: Floats, at_s: float, kind: int, who: int) -> None:
    """Put an event on the agenda, a heap by time. What is computed is of the node's last call."""
    begin, hole = whole[of.EVENTS], whole[of.EVENT_COUNT]
    whole[of.EVENT_COUNT] += 1
    while hole > 0:
        above = (hole - 1) >> 1
        if real[begin + above] <= at_s:
            break
        real[begin + hole], whole[begin + hole] = real[begin + above], whole[begin + above]
        hole = above
    call = whole[whole[of.NODES] + who * of.NODE + of.CALL] if kind == of.COMPUTED else 0
    real[begin + hole] = at_s
    whole[begin + hole] = (((call << WHO_BITS) | who) << KIND_BITS) | kind


def drop_first(whole: Ints, real: Floats) -> None:
    """Take the first event off the agenda."""
    begin = whole[of.EVENTS]
    whole[of.EVENT_COUNT] -= 1
    size = whole[of.EVENT_COUNT]
    hole, below = 0, 1
    while below < size:
        if below + 1 < size and real[begin + below + 1] < real[begin + below]:
            below += 1
        if real[begin + below] >= real[begin + size]:
            break
        real[begin + hole], whole[begin + hole] = real[begin + below], whole[begin + below]
        hole, below = below, 2 * below + 1
    real[begin + hole], whole[begin + hole] = real[begin + size], whole[begin + size]


def drawn(rng: np.random.Generator, cv2: float) -> float:
    """A positive number with mean 1 and this squared coefficient of variation."""
    if cv2 == 0.0:
        return 1.0
    if cv2 == 1.0:
        return rng.standard_exponential()
    return rng.standard_gamma(1.0 / cv2) * cv2


def advance(
    whole: Ints, real: Floats, rng: np.random.Generator, outside: Outside, until_s: float
) -> tuple[int, int]:
    """Go up to a time; how many have arrived by then, and whether there has to be more room."""
    spare, first_event, arrived = whole[of.SPARE], whole[of.EVENTS], 0
    most_events = (spare + 2) * (whole[of.SLOT_COUNT] + 2)
    while True:
        next_s = outside[0][arrived] if arrived < len(outside[0]) else np.inf
        is_event = whole[of.EVENT_COUNT] > 0 and real[first_event] <= next_s
        if (real[first_event] if is_event else next_s) > until_s:
            break
        free = min(whole[of.FREE_TUPLES], whole[of.FREE_ROOTS])
        if whole[of.EVENT_COUNT] + most_events > whole[of.EVENT_ROOM] or free <= spare:
            return arrived, NO_ROOM
        if is_event:
            real[of.NOW] = real[first_event]
            happen(whole, real, rng)
        else:
            real[of.NOW] = next_s
            source, arrived = outside[1][arrived], arrived + 1
            s = whole[of.SLOTS] + source * of.SLOT
            real[s + of.OFFERED] += 1.0
            whole[s + of.BACKLOG] += 1
            admit(whole, real, source)
            begin(whole, real, rng, source)
    real[of.NOW] = until_s
    return arrived, DONE


def happen(whole: Ints, real: Floats, rng: np.random.Generator) -> None:
    """The first event of the agenda."""
    code = whole[whole[of.EVENTS]]
    drop_first(whole, real)
    kind = code & ((1 << KIND_BITS) - 1)
    who = (code >> KIND_BITS) & ((1 << WHO_BITS) - 1)
    if kind == of.COMPUTED:
        if whole[whole[of.NODES] + who * of.NODE + of.CALL] == code >> (KIND_BITS + WHO_BITS):
            finish_computing(whole, real, rng, who)
    elif kind == of.RECEIVED:
        receive(whole, real, rng, who)
    elif kind == of.RELEASED:
        finish(whole, real, rng, who)
        begin(whole, real, rng, who)
    else:
        s = whole[of.SLOTS] + who * of.SLOT
        if whole[s + of.PHASE] != of.SUSPENDED:
            begin(whole, real, rng, who)
        elif real[of.NOW] >= real[s + of.PAUSED_UNTIL]:
            onto_cpu(whole, real, who)


def admit(whole: Ints, real: Floats, source: int) -> None:
    """Let what waits outside into the queue of its source, as far as there is credit."""
    s = whole[of.SLOTS] + source * of.SLOT
    while (
        whole[s + of.BACKLOG] > 0
        and whole[s + of.LEVEL] < real[of.CREDIT]
        and min(whole[of.FREE_ROOTS], whole[of.FREE_TUPLES]) > whole[of.SPARE]
    ):
        whole[s + of.BACKLOG] -= 1
        root = whole[of.NEXT_ROOT]
        r = whole[of.ROOTS] + root * of.ROOT
        whole[of.NEXT_ROOT] = whole[r + of.FREE]
        whole[of.FREE_ROOTS] -= 1
        whole[r + of.LEFT] = 1
        real[r + of.BEGUN], real[r + of.LAST_ACK] = real[of.NOW], real[of.NOW]
        whole[s + of.LEVEL] += 1
        queue_up(whole, real, make(whole, real, root, source))


def make(whole: Ints, real: Floats, root: int, target: int) -> int:
    """A new tuple of a root."""
    new: int = whole[of.NEXT_TUPLE]
    t = whole[of.TUPLES] + new * of.TUPLE
    whole[of.NEXT_TUPLE] = whole[t + of.FOLLOWING]
    whole[of.FREE_TUPLES] -= 1
    whole[t + of.ROOT_OF], whole[t + of.TARGET], whole[t + of.IS_REMOTE] = root, target, 0
    real[t + of.BACK], real[t + of.WIRE] = 0.0, 0.0
    return new


def queue_up(whole: Ints, real: Floats, one: int) -> None:
    """Last in the queue of its target."""
    t = whole[of.TUPLES] + one * of.TUPLE
    s = whole[of.SLOTS] + whole[t + of.TARGET] * of.SLOT
    real[t + of.ARRIVED] = real[of.NOW]
    if whole[s + of.QUEUED] == 0:
        whole[s + of.FIRST] = one
    else:
        whole[whole[of.TUPLES] + whole[s + of.LAST] * of.TUPLE + of.FOLLOWING] = one
    whole[s + of.LAST] = one
    whole[s + of.QUEUED] += 1


def receive(whole: Ints, real: Floats, rng: np.random.Generator, one: int) -> None:
    """A tuple reaches the node of its target; if the wire is taken, it has to wait there."""
    t = whole[of.TUPLES] + one * of.TUPLE
    target = whole[t + of.TARGET]
    if real[t + of.WIRE] > 0.0:
        node = whole[whole[of.SLOTS] + target * of.SLOT + of.NODE_OF]
        n = whole[of.NODES] + node * of.NODE
        at_s = max(real[of.NOW], real[n + of.IN_FREE] + real[t + of.WIRE])
        real[n + of.IN_FREE] = at_s
        real[t + of.WIRE] = 0.0
        if at_s > real[of.NOW]:
            real[t + of.BACK] += at_s - real[of.NOW]
            push(whole, real, at_s, of.RECEIVED, one)
            return
    queue_up(whole, real, one)
    begin(whole, real, rng, target)


def begin(whole: Ints, real: Floats, rng: np.random.Generator, who: int) -> None:
    """Take the first tuple of the queue, if there is one and nothing is against it."""
    s, now = whole[of.SLOTS] + who * of.SLOT, real[of.NOW]
    is_free = whole[s + of.PHASE] == of.IDLE and now >= real[s + of.PAUSED_UNTIL]
    if not is_free or whole[s + of.QUEUED] == 0:
        return
    if whole[s + of.FULL_TARGETS] > 0:
        if real[s + of.BLOCKED_SINCE] < 0.0:
            real[s + of.BLOCKED_SINCE] = now
        return
    if real[s + of.BLOCKED_SINCE] >= 0.0:
        real[s + of.BLOCKED] += now - real[s + of.BLOCKED_SINCE]
        real[s + of.BLOCKED_SINCE] = -1.0
    one = whole[s + of.FIRST]
    t = whole[of.TUPLES] + one * of.TUPLE
    whole[s + of.FIRST], whole[s + of.CURRENT] = whole[t + of.FOLLOWING], one
    whole[s + of.QUEUED] -= 1
    whole[s + of.LEVEL] -= 1
    give_credit(whole, real, who)
    real[s + of.STRETCH] = drawn(rng, real[of.SERVICE_CV2])
    cpu_s = real[s + of.CPU_S] + whole[t + of.IS_REMOTE] * real[of.RECEIVE_S]
    real[s + of.WORK] = real[s + of.STRETCH] * cpu_s
    real[s + of.SINCE] = now
    onto_cpu(whole, real, who)


def give_credit(whole: Ints, real: Floats, who: int) -> None:
    """Somebody may send again: first what waits outside, then other tasks."""
    s = whole[of.SLOTS] + who * of.SLOT
    if whole[s + of.BACKLOG] > 0:
        admit(whole, real, who)
    if whole[s + of.IS_FULL] == 1 and whole[s + of.LEVEL] < real[of.CREDIT]:
        whole[s + of.IS_FULL] = 0
        for entry in range(whole[s + of.SENDER_FROM], whole[s + of.SENDER_END]):
            sender = whole[whole[of.SENDERS] + entry]
            other = whole[of.SLOTS] + sender * of.SLOT
            whole[other + of.FULL_TARGETS] -= 1
            if whole[other + of.FULL_TARGETS] == 0:
                push(whole, real, real[of.NOW], of.WAKES, sender)


def onto_cpu(whole: Ints, real: Floats, who: int) -> None:
    """Start or go on computing."""
    s = whole[of.SLOTS] + who * of.SLOT
    n = whole[of.NODES] + whole[s + of.NODE_OF] * of.NODE
    touch(whole, real, whole[s + of.NODE_OF])
    place = whole[n + of.ROOM_FROM] + whole[n + of.ACTIVE]
    whole[whole[of.RUNNING] + place] = who
    whole[s + of.PLACE] = place
    whole[s + of.PHASE] = of.ON_CPU
    whole[n + of.ACTIVE] += 1
    whole[whole[of.PROCESSES] + whole[s + of.PROCESS_OF]] += 1
    share(whole, real, whole[s + of.NODE_OF])


def touch(whole: Ints, real: Floats, node: int) -> None:
    """Bring what runs on a node up to now."""
    n = whole[of.NODES] + node * of.NODE
    passed = real[of.NOW] - real[n + of.TOUCHED]
    real[n + of.TOUCHED] = real[of.NOW]
    if passed <= 0.0:
        return
    first = whole[of.RUNNING] + whole[n + of.ROOM_FROM]
    for place in range(first, first + whole[n + of.ACTIVE]):
        s = whole[of.SLOTS] + whole[place] * of.SLOT
        real[s + of.WORK] -= real[s + of.SPEED] * passed
        real[s + of.CPU] += real[s + of.SPEED] * passed


def share(whole: Ints, real: Floats, node: int) -> None:
    """Share a node's cores among what runs there, and say when the first of them will be done."""
    n = whole[of.NODES] + node * of.NODE
    first = whole[of.RUNNING] + whole[n + of.ROOM_FROM]
    behind = first + whole[n + of.ACTIVE]
    whole[n + of.CALL] += 1
    wanted, soonest = 0.0, np.inf
    for place in range(first, behind):
        s = whole[of.SLOTS] + whole[place] * of.SLOT
        p = whole[of.PROCESSES] + whole[s + of.PROCESS_OF]
        real[s + of.SPEED] = min(1.0, real[p] / whole[p])
        wanted += real[s + of.SPEED]
    if wanted > real[n + of.CORES]:
        ration(whole, real, node)
    for place in range(first, behind):
        s = whole[of.SLOTS] + whole[place] * of.SLOT
        if real[s + of.SPEED] > 0.0:
            left_s = max(0.0, real[s + of.WORK]) / real[s + of.SPEED]
            if left_s < soonest:
                soonest, whole[n + of.DUE] = left_s, whole[place]
    if soonest < np.inf:
        push(whole, real, real[of.NOW] + soonest, of.COMPUTED, node)


def ration(whole: Ints, real: Floats, node: int) -> None:
    """Nobody gets more than an even share of what those leave who need less."""
    n = whole[of.NODES] + node * of.NODE
    first = whole[of.RUNNING] + whole[n + of.ROOM_FROM]
    behind = first + whole[n + of.ACTIVE]
    level = 0.0
    for _ in range(behind - first):
        left, rest = real[n + of.CORES], 0
        for place in range(first, behind):
            speed = real[whole[of.SLOTS] + whole[place] * of.SLOT + of.SPEED]
            if speed <= level:
                left -= speed
            else:
                rest += 1
        if rest == 0 or left / rest <= level:
            break
        level = left / rest
    for place in range(first, behind):
        s = whole[of.SLOTS] + whole[place] * of.SLOT
        real[s + of.SPEED] = min(real[s + of.SPEED], level)


def finish_computing(whole: Ints, real: Floats, rng: np.random.Generator, node: int) -> None:
    """The CPU part of a tuple is done; perhaps the task waits for something else then."""
    touch(whole, real, node)
    n = whole[of.NODES] + node * of.NODE
    who = whole[n + of.DUE]
    s = whole[of.SLOTS] + who * of.SLOT
    whole[whole[of.PROCESSES] + whole[s + of.PROCESS_OF]] -= 1
    whole[n + of.ACTIVE] -= 1
    final = whole[whole[of.RUNNING] + whole[n + of.ROOM_FROM] + whole[n + of.ACTIVE]]
    whole[whole[of.RUNNING] + whole[s + of.PLACE]] = final
    whole[whole[of.SLOTS] + final * of.SLOT + of.PLACE] = whole[s + of.PLACE]
    if real[s + of.HELD_S] > 0.0:
        whole[s + of.PHASE] = of.HOLDING
        at_s = real[of.NOW] + real[s + of.HELD_S] * real[s + of.STRETCH]
        push(whole, real, at_s, of.RELEASED, who)
    else:
        finish(whole, real, rng, who)
        begin(whole, real, rng, who)
    if whole[s + of.PHASE] != of.ON_CPU:
        share(whole, real, node)


def finish(whole: Ints, real: Floats, rng: np.random.Generator, who: int) -> None:
    """A tuple is processed: count it, send what it causes, acknowledge it if it causes nothing."""
    s, now = whole[of.SLOTS] + who * of.SLOT, real[of.NOW]
    whole[s + of.PHASE] = of.IDLE
    one = whole[s + of.CURRENT]
    t = whole[of.TUPLES] + one * of.TUPLE
    real[s + of.PROCESSED] += 1.0
    real[s + of.WAITED] += real[s + of.SINCE] - real[t + of.ARRIVED]
    real[s + of.SERVED] += now - real[s + of.SINCE]
    root = whole[t + of.ROOT_OF]
    r = whole[of.ROOTS] + root * of.ROOT
    if whole[s + of.IS_SINK] == 1:
        real[of.LATENCY_SUM] += now - real[r + of.BEGUN]
        real[of.LATENCIES] += 1.0
    children = send_all(whole, real, rng, who)
    whole[r + of.LEFT] += children - 1
    if children == 0:
        real[r + of.LAST_ACK] = max(real[r + of.LAST_ACK], now + real[t + of.BACK])
    if whole[r + of.LEFT] == 0:
        took_s = real[r + of.LAST_ACK] - real[r + of.BEGUN]
        real[of.COMPLETE_SUM] += took_s
        real[of.COMPLETED] += 1.0
        if took_s > real[of.TIMEOUT_S]:
            real[of.FAILED] += 1.0
        whole[r + of.FREE], whole[of.NEXT_ROOT] = whole[of.NEXT_ROOT], root
        whole[of.FREE_ROOTS] += 1
    whole[t + of.FOLLOWING], whole[of.NEXT_TUPLE] = whole[of.NEXT_TUPLE], one
    whole[of.FREE_TUPLES] += 1


def send_all(whole: Ints, real: Floats, rng: np.random.Generator, who: int) -> int:
    """Send what a slot's tuple causes; how many that were."""
    s, children = whole[of.SLOTS] + who * of.SLOT, 0
    for group in range(whole[s + of.GROUP_FROM], whole[s + of.GROUP_END]):
        g = whole[of.GROUPS] + group * of.GROUP
        copies = int(real[g + of.COPIES])
        part = real[g + of.COPIES] - copies
        if part > 0.0 and rng.random() < part:
            copies += 1
        for _ in range(copies):
            low, high = whole[g + of.PAIR_FROM], whole[g + of.PAIR_END] - 1
            chance = rng.random() if low < high else 0.0
            while low < high:
                middle = (low + high) >> 1
                if real[whole[of.PAIRS] + middle * of.PAIR + of.UPTO] > chance:
                    high = middle
                else:
                    low = middle + 1
            send(whole, real, rng, who, low)
        children += copies
    return children


def send(whole: Ints, real: Floats, rng: np.random.Generator, who: int, pair: int) -> None:
    """One tuple on its way from one task to another."""
    sender, now = whole[of.SLOTS] + who * of.SLOT, real[of.NOW]
    p = whole[of.PAIRS] + pair * of.PAIR
    t = whole[of.TUPLES] + whole[sender + of.CURRENT] * of.TUPLE
    new = make(whole, real, whole[t + of.ROOT_OF], whole[p + of.TARGET_OF])
    child = whole[of.TUPLES] + new * of.TUPLE
    real[p + of.SENT] += 1.0
    whole[child + of.IS_REMOTE] = whole[p + of.IS_REMOTE_PAIR]
    take_credit(whole, real, whole[p + of.TARGET_OF])
    hop_s = real[p + of.HOP_S]
    if real[p + of.WIRE_S] > 0.0:
        n = whole[of.NODES] + whole[sender + of.NODE_OF] * of.NODE
        real[n + of.OUT_FREE] = max(now, real[n + of.OUT_FREE]) + real[p + of.WIRE_S]
        hop_s += real[n + of.OUT_FREE] - now
        real[child + of.WIRE] = real[p + of.WIRE_S]
    real[child + of.BACK] = real[t + of.BACK] + hop_s
    if hop_s > 0.0:
        push(whole, real, now + hop_s, of.RECEIVED, new)
    else:
        receive(whole, real, rng, new)


def take_credit(whole: Ints, real: Floats, target: int) -> None:
    """One more is on its way to a slot; if that was the last of its credit, its senders wait."""
    s = whole[of.SLOTS] + target * of.SLOT
    whole[s + of.LEVEL] += 1
    if whole[s + of.LEVEL] >= real[of.CREDIT] and whole[s + of.IS_FULL] == 0:
        whole[s + of.IS_FULL] = 1
        for entry in range(whole[s + of.SENDER_FROM], whole[s + of.SENDER_END]):
            sender = whole[whole[of.SENDERS] + entry]
            whole[whole[of.SLOTS] + sender * of.SLOT + of.FULL_TARGETS] += 1


KERNELS = tuple(each for each in list(globals().values()) if isinstance(each, FunctionType))
