"""What the simulator has to be told because no metric says it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """Costs and shapes; the defaults are those of our own Python workers."""

    serialise_s: float = 2e-5
    """CPU seconds to send one tuple to another process."""
    deserialise_s: float = 2e-5
    """CPU seconds to receive one tuple from another process."""
    process_cores: float = 1.0
    """How many cores one process can use at a time: 1 for Python, all of them for Storm."""
    process_overhead_cores: float = 0.0
    """What a process costs that does nothing."""
    node_overhead_cores: float = 0.0
    arrival_cv2: float = 1.0
    """Squared coefficient of variation of the times between arrivals; 1 is Poisson."""
    service_cv2: float = 1.0
    """The same of service times: 1 is exponential, 0 is constant."""
    bandwidth_bytes_per_s: float = float("inf")
    """Of each node, in each direction."""
    credit_tuples: float = 1000.0
    """How many tuples can wait in front of a task before its senders are held up."""


DEFAULTS = Parameters()
