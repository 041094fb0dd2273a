"""The tables of the matrix store: names, columns, and what is text among them.

The operator reads these; change them only together with SCHEMA_VERSION and the golden store.
"""

SCHEMA_VERSION = 4

TABLES: dict[str, tuple[str, ...]] = {
    "dependency": (
        "namespace",
        "topology",
        "source_task",
        "target_task",
        "tuples_per_s",
        "bytes_per_s",
        "recent_tuples_per_s",
        "samples",
    ),
    "task_load": (
        "namespace",
        "topology",
        "vertex",
        "task",
        "cpu_cores",
        "memory_bytes",
        "io_bytes_per_s",
        "busy_share",
        "backpressured_share",
        "wait_s",
        "processed_per_s",
        "true_rate_per_s",
        "queue_tuples",
        "routes_version",
        "samples",
    ),
    "node_latency": ("source_node", "target_node", "latency_s", "samples"),
    "node_capacity": (
        "node",
        "cpu_allocatable_cores",
        "memory_allocatable_bytes",
        "cpu_used_cores",
        "memory_used_bytes",
        "cpu_others_cores",
        "memory_others_bytes",
        "cpu_free_cores",
        "memory_free_bytes",
        "io_share",
        "receive_bytes_per_s",
        "transmit_bytes_per_s",
        "bandwidth_bytes_per_s",
        "samples",
    ),
    "node_traffic": (
        "namespace",
        "topology",
        "source_node",
        "target_node",
        "tuples_per_s",
        "bytes_per_s",
    ),
    "tuple_latency": (
        "namespace",
        "topology",
        "p50_s",
        "p99_s",
        "mean_s",
        "complete_p50_s",
        "throughput_per_s",
        "samples",
    ),
    "coverage": (
        "matrix",
        "namespace",
        "topology",
        "window_s",
        "observed_at_s",
        "samples",
        "coverage",
    ),
}

TEXT = frozenset(
    {
        "namespace",
        "topology",
        "vertex",
        "task",
        "source_task",
        "target_task",
        "source_node",
        "target_node",
        "node",
        "matrix",
    }
)
WHOLE = frozenset({"samples"})
