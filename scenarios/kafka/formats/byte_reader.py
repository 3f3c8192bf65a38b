"""A reader of binary protocol fields, with errors that name the field."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypeVar

from scenarios.kafka.formats.lines import FormatError
from scenarios.language.errors import format_count

_Element = TypeVar("_Element")


class ByteReader:
    """Reads big-endian fields in sequence; every read method takes the field's name for errors.

    Attributes:
        size: Total number of bytes.
        version: Version of the encoding, for errors; None until it has been read.
    """

    def __init__(self, data: bytes, structure: str) -> None:
        """Read from `data`, which encodes the given structure (its name is for errors)."""
        self._data = data
        self._structure = structure
        self._position = 0
        self.size = len(data)
        self.version: int | None = None

    @property
    def left(self) -> int:
        """Return the number of bytes that have not been read."""
        return self.size - self._position

    def fail(self, problem: str) -> NoReturn:
        """Raise FormatError for malformed bytes."""
        version = "" if self.version is None else f" version {self.version}"
        raise FormatError(None, f"{self._structure}{version}: {problem}")

    def take(self, field: str, count: int) -> bytes:
        """Return the next `count` bytes; fail if fewer are left."""
        end = self._position + count
        if count < 0 or end > self.size:
            self.fail(f"{field} at byte {self._position} needs {count} bytes, but {self.left} are left")
        taken, self._position = self._data[self._position : end], end
        return taken

    def int8(self, field: str) -> int:
        """Return a signed integer of 1 byte."""
        return int.from_bytes(self.take(field, 1), signed=True)

    def int16(self, field: str) -> int:
        """Return a signed integer of 2 bytes."""
        return int.from_bytes(self.take(field, 2), signed=True)

    def int32(self, field: str) -> int:
        """Return a signed integer of 4 bytes."""
        return int.from_bytes(self.take(field, 4), signed=True)

    def int64(self, field: str) -> int:
        """Return a signed integer of 8 bytes."""
        return int.from_bytes(self.take(field, 8), signed=True)

    def string(self, field: str) -> str:
        """Return a UTF-8 string with a 2-byte length prefix."""
        return self._decode(field, self.take(field, self.int16(field)))

    def nullable_string(self, field: str) -> str | None:
        """Return a UTF-8 string with a 2-byte length prefix; None for length -1."""
        length = self.int16(field)
        return None if length == -1 else self._decode(field, self.take(field, length))

    def nullable_bytes(self, field: str) -> bytes | None:
        """Return bytes with a 4-byte length prefix; None for length -1."""
        length = self.int32(field)
        return None if length == -1 else self.take(field, length)

    def text(self, field: str) -> str:
        """Return a UTF-8 string with a 4-byte length prefix."""
        return self._decode(field, self.take(field, self.int32(field)))

    def utf16(self, field: str) -> str:
        """Return a string as Java's `writeChars` writes it, with its number of characters as a 4-byte prefix."""
        return self._decode(field, self.take(field, 2 * self.int32(field)), "utf-16-be")

    def array(self, field: str, read_element: Callable[[str], _Element]) -> list[_Element]:
        """Return a list with a 4-byte length prefix; `read_element` reads one element."""
        length = self.int32(field)
        if not 0 <= length <= self.left:
            self.fail(f"{field} before byte {self._position} cannot have {length} elements; {self.left} bytes are left")
        return [read_element(field) for _ in range(length)]

    def expect_end(self) -> None:
        """Fail if bytes follow the last field."""
        if self._position != self.size:
            self.fail(f"{format_count(self.size - self._position, 'byte follows', 'bytes follow')} the last field")

    def _decode(self, field: str, data: bytes, encoding: str = "utf-8") -> str:
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            self.fail(f"{field} before byte {self._position} is not text")
