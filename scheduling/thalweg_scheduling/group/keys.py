"""Keys, and the fixed number of groups that they are hashed to.

The hash is part of the contract with workers in other languages and of every state that was ever
handed over, so it never changes: CRC-32 (IEEE 802.3) of the key's bytes, modulo 1024.
"""

from collections.abc import Sequence
from zlib import crc32

KEY_GROUPS = 1024

Field = str | bytes | int | float | bool | None

_BETWEEN_FIELDS = b"\x1f"
_MOST_REMEMBERED = 65536


def key_group(key: bytes) -> int:
    """The group of a key.

    >>> key_group(b"stream")
    540
    """
    return crc32(key) % KEY_GROUPS


def key_bytes(value: Field) -> bytes:
    """The bytes by which a field is hashed: its text in UTF-8, as JSON writes numbers and words.

    >>> key_bytes("bed"), key_bytes(7), key_bytes(True), key_bytes(None)
    (b'bed', b'7', b'true', b'null')
    """
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if value is None:
        return b"null"
    if isinstance(value, bool):
        return b"true" if value else b"false"
    return repr(value).encode("ascii")


class GroupsOfKeys(dict[Field, int]):
    """The groups of single fields; those of words are remembered, for words come again.

    >>> groups = GroupsOfKeys()
    >>> groups["stream"], groups[7], sorted(groups)
    (540, 642, ['stream'])
    """

    def __missing__(self, value: Field) -> int:
        """Work it out."""
        group = key_group(key_bytes(value))
        # Only text: 1, 1.0 and True are one key in a dict, but not by their bytes.
        if type(value) is str:
            if len(self) >= _MOST_REMEMBERED:
                self.clear()
            self[value] = group
        return group


def joined_key(values: Sequence[Field]) -> bytes:
    r"""The bytes of several fields together, in their order.

    Good for hashing only: other fields can give the same bytes, so state needs the fields
    themselves.

    >>> joined_key(["bed", 7])
    b'bed\x1f7'
    """
    return _BETWEEN_FIELDS.join(map(key_bytes, values))
