"""The stream worker: a process that hosts tasks of one topology and moves their tuples.

    connection ──▶ inlet ──▶ task ──▶ outlet ──▶ link ──▶ connection
    (a sender)     credit     step     grouping   unacknowledged      (a receiver)

A batch is acknowledged upstream once everything that it caused has been acknowledged downstream, so
what a dead process had in hand is always still in the hands of whoever sent it.
"""
