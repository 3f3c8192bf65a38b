"""Reading the bytes of Kafka's protocols field by field, with errors that name the field."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypeVar

from scenarios.kafka.formats.lines import FormatError

_Read = TypeVar("_Read")


class ByteReader:
    """Reads big-endian fields one after another; every method takes the name of the field.

    Attributes:
        size: how many bytes there are in all.
        version: of the encoding, for messages; None while it is not known.
    """

    def __init__(self, data: bytes, what: str) -> None:
        self._data = data
        self._what = what
        self._at = 0
        self.size = len(data)
        self.version: int | None = None

    def fail(self, problem: str) -> NoReturn:
        """Refuse the bytes.

        Raises:
            FormatError: always.
        """
        version = "" if self.version is None else f" version {self.version}"
        raise FormatError(None, f"{self._what}{version}: {problem}")

    def take(self, field: str, count: int) -> bytes:
        """The next `count` bytes."""
        end = self._at + count
        if count < 0 or end > self.size:
            self.fail(f"{field} at byte {self._at} takes {count} bytes, but {self.size - self._at} are left")
        taken, self._at = self._data[self._at : end], end
        return taken

    def int8(self, field: str) -> int:
        """A signed number of one byte."""
        return int.from_bytes(self.take(field, 1), signed=True)

    def int16(self, field: str) -> int:
        """A signed number of two bytes."""
        return int.from_bytes(self.take(field, 2), signed=True)

    def int32(self, field: str) -> int:
        """A signed number of four bytes."""
        return int.from_bytes(self.take(field, 4), signed=True)

    def int64(self, field: str) -> int:
        """A signed number of eight bytes."""
        return int.from_bytes(self.take(field, 8), signed=True)

    def string(self, field: str) -> str:
        """A text in UTF-8 behind its length in two bytes."""
        return self._decode(field, self.take(field, self.int16(field)))

    def nullable_string(self, field: str) -> str | None:
        """The same, or None where the length is -1."""
        length = self.int16(field)
        return None if length == -1 else self._decode(field, self.take(field, length))

    def nullable_bytes(self, field: str) -> bytes | None:
        """Bytes behind their number in four bytes, or None where that is -1."""
        length = self.int32(field)
        return None if length == -1 else self.take(field, length)

    def text(self, field: str) -> str:
        """A text in UTF-8 behind its length in four bytes."""
        return self._decode(field, self.take(field, self.int32(field)))

    def utf16(self, field: str) -> str:
        """A text as Java's `writeChars` writes it, behind its number of characters in four bytes."""
        return self._decode(field, self.take(field, 2 * self.int32(field)), "utf-16-be")

    def array(self, field: str, read: Callable[[str], _Read]) -> list[_Read]:
        """A list behind its length in four bytes; `read` reads one element."""
        length = self.int32(field)
        if not 0 <= length <= self.size - self._at:
            self.fail(
                f"{field} before byte {self._at} cannot have {length} elements; {self.size - self._at} bytes are left"
            )
        return [read(field) for _ in range(length)]

    def expect_end(self) -> None:
        """Refuse bytes behind the last field.

        Raises:
            FormatError: there are some.
        """
        if self._at != self.size:
            self.fail(f"{self.size - self._at} bytes are left over behind the last field")

    def _decode(self, field: str, data: bytes, encoding: str = "utf-8") -> str:
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            self.fail(f"{field} before byte {self._at} is not text")
