"""Reads YAML and CSV files so that whatever is wrong can be told with the file and the line."""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from thalweg_operator.errors import OperatorError

# The parser written in C where it is there: a thousand nodes are a hundred thousand lines.
_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
_TIMESTAMP = "tag:yaml.org,2002:timestamp"


class WrongFile(OperatorError):
    """A file that cannot be used; the message begins with its name and the line."""

    def __init__(self, path: Path, message: str, line: int | None = None) -> None:
        place = f"{path}:{line}" if line is not None else f"{path}"
        super().__init__(f"{place}: {message}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One YAML document: its value, and where each part of it stands."""

    path: Path
    value: Any
    root: yaml.Node

    def line_of(self, where: str) -> int:
        """The line of `spec.vertices[2].name`, or of the nearest part above that is there."""
        node = self.root
        line = node.start_mark.line
        for name, index in _STEP.findall(where):
            found = _child(node, name, index)
            if found is None:
                break
            line, node = found
        return line + 1

    def wrong(self, where: str, message: str) -> WrongFile:
        """The error to raise about the part at `where`."""
        return WrongFile(self.path, message, self.line_of(where))


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of a CSV file that is not its header."""

    path: Path
    line: int
    cells: Mapping[str, str]

    def wrong(self, message: str) -> WrongFile:
        """The error to raise about this line."""
        return WrongFile(self.path, message, self.line)

    def number(self, column: str) -> float:
        """The number in a column: known, finite and at least 0."""
        text = self.cells[column]
        try:
            value = float(text)
        except ValueError:
            raise self.wrong(f"{column} must be a number, not {text!r}") from None
        if not 0 <= value < float("inf"):
            raise self.wrong(f"{column} must be a number of at least 0, not {text}")
        return value


def read_documents(path: Path) -> tuple[Document, ...]:
    """All documents of a YAML (or JSON) file that are not empty."""
    text = _read(path)
    try:
        loader = _loader(text)
        documents = []
        while loader.check_node():
            root = loader.get_node()
            if root is None:
                break
            _refuse_twins(path, root)
            documents.append(Document(path=path, value=loader.construct_document(root), root=root))
    except yaml.YAMLError as error:
        raise _not_yaml(path, text, error) from None
    except RecursionError:
        raise WrongFile(path, "is nested too deeply, or in itself", 1) from None
    found = tuple(document for document in documents if document.value is not None)
    if not found:
        raise WrongFile(path, "is empty", 1)
    return found


def read_table(path: Path, columns: Sequence[str], optional: Sequence[str] = ()) -> list[Row]:
    """The rows of a CSV file whose header has all of `columns` and perhaps some of `optional`."""
    lines = csv.reader(io.StringIO(_read(path), newline=""), strict=True, skipinitialspace=True)
    rows: list[Row] = []
    header: list[str] | None = None
    try:
        for cells in lines:
            cells = [cell.strip() for cell in cells]
            if not any(cells) or cells[0].startswith("#"):
                continue
            if header is None:
                header = _header(path, lines.line_num, cells, columns, optional)
                continue
            rows.append(_row(path, lines.line_num, header, cells))
    except csv.Error as error:
        raise WrongFile(path, f"is not CSV: {error}", lines.line_num) from None
    if header is None:
        raise WrongFile(path, f"is empty; its first line must be {','.join(columns)}", 1)
    return rows


def _read(path: Path) -> str:
    try:
        # Spreadsheets put a mark before the first letter, which would become part of its word.
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise WrongFile(path, "there is no such file") from None
    except IsADirectoryError:
        raise WrongFile(path, "is a directory, not a file") from None
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise WrongFile(path, "is not text in UTF-8", line) from None
    except OSError as error:
        raise WrongFile(path, f"cannot be read: {error.strerror}") from None
    return text


def _loader(text: str) -> yaml.SafeLoader:
    loader = _Loader(text)
    # Kubernetes keeps times as strings; so do we.
    loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in found if tag != _TIMESTAMP]
        for first, found in loader.yaml_implicit_resolvers.items()
    }
    return loader


def _not_yaml(path: Path, text: str, error: yaml.YAMLError) -> WrongFile:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
    # What is missing at the end is told of the line after it; there is none.
    last = max(1, len(text.splitlines()))
    line = min(mark.line + 1, last) if mark is not None else last
    return WrongFile(path, f"is not YAML: {problem}", line)


def _refuse_twins(path: Path, root: yaml.Node) -> None:
    """YAML lets the last of two equal keys win; whoever wrote both meant something else."""
    seen: set[int] = set()
    left = [root]
    while left:
        node = left.pop()
        # An alias is the same node again, and may even stand inside itself.
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            _refuse_equal_keys(path, node)
            left.extend(part for pair in node.value for part in pair)
        elif isinstance(node, yaml.SequenceNode):
            left.extend(node.value)


def _refuse_equal_keys(path: Path, node: yaml.MappingNode) -> None:
    first: dict[str, int] = {}
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise WrongFile(path, "a key must be a word", key.start_mark.line + 1)
        line = key.start_mark.line + 1
        if key.value in first and key.value != "<<":
            raise WrongFile(path, f"{key.value} is already given in line {first[key.value]}", line)
        first[key.value] = line


def _child(node: yaml.Node, name: str, index: str) -> tuple[int, yaml.Node] | None:
    """The line and the node of one step down."""
    if name and isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == name:
                return key.start_mark.line, value
    if index and isinstance(node, yaml.SequenceNode) and int(index) < len(node.value):
        value = node.value[int(index)]
        return value.start_mark.line, value
    return None


def _header(
    path: Path, line: int, cells: list[str], columns: Sequence[str], optional: Sequence[str]
) -> list[str]:
    wanted = f"the first line must be {','.join((*columns, *optional))}"
    for cell in cells:
        if cell not in (*columns, *optional):
            raise WrongFile(path, f"there is no column {cell!r}; {wanted}", line)
    for column in columns:
        if column not in cells:
            raise WrongFile(path, f"column {column} is missing; {wanted}", line)
    if len(set(cells)) != len(cells):
        raise WrongFile(path, f"a column is there twice; {wanted}", line)
    return cells


def _row(path: Path, line: int, header: list[str], cells: list[str]) -> Row:
    if len(cells) != len(header):
        raise WrongFile(path, f"has {len(cells)} values; {len(header)} are wanted", line)
    return Row(path=path, line=line, cells=dict(zip(header, cells, strict=True)))


def items_of(documents: Sequence[Document]) -> Iterator[tuple[Document, str, Any]]:
    """Every object in the documents with its place, those inside of Lists one by one."""
    for document in documents:
        value = document.value
        if isinstance(value, Mapping) and str(value.get("kind", "")).endswith("List"):
            items = value.get("items")
            if not isinstance(items, list):
                raise document.wrong("items", "items must be a list")
            yield from ((document, f"items[{n}]", item) for n, item in enumerate(items))
        else:
            yield document, "", value
