"""A decoder of Kafka's messages, which is driven by their schemas, and its reader of binary fields.

Source: the message generator of Kafka (KIP-482): versions of fields, compact types and tagged fields of flexible
versions.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn, TypeVar

from assignors.model.ids import TopicId
from scenarios.kafka.formats.lines import FormatError
from simulator.plurals import counted

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
            self.fail(f"{counted(self.size - self._position, 'byte follows', 'bytes follow')} the last field")

    def _decode(self, field: str, data: bytes, encoding: str = "utf-8") -> str:
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            self.fail(f"{field} before byte {self._position} is not text")


Message = dict[str, Any]
"""A decoded message or structure: values by the names of the fields."""

_NEVER: Final = 10_000
_MAX_VARINT_BYTES: Final = 5
_INTEGER_BYTES: Final = {"int8": 1, "int16": 2, "uint16": 2, "int32": 4, "int64": 8}
_UUID_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class FieldSchema:
    """A field of a message.

    Attributes:
        name: Name, as in Kafka's JSON.
        type: `int8`, `int16`, `uint16`, `int32`, `int64`, `string`, `bytes`, or `uuid`, whose value is the text that
            Kafka prints; a structure as a tuple of its fields.
        is_array: Whether it is an array of the type.
        since: First version that has the field.
        nullable_since: First version in which it may be null.
        tag: Number of a tagged field; None for a regular one.
        default: Value in versions without the field.
    """

    name: str
    type: str | tuple[FieldSchema, ...]
    is_array: bool = False
    since: int = 0
    nullable_since: int = _NEVER
    tag: int | None = None
    default: Any = None

    @property
    def can_be_null(self) -> bool:
        """Whether it may be null in any version."""
        return self.nullable_since < _NEVER


@dataclass(frozen=True, slots=True)
class MessageSchema:
    """A message.

    Attributes:
        name: Name, for errors.
        flexible_since: First version with compact types and tagged fields.
    """

    name: str
    fields: tuple[FieldSchema, ...]
    versions: int = 1
    flexible_since: int = _NEVER


def decode_message(schema: MessageSchema, data: bytes, version: int) -> Message:
    """Decode a message without its version.

    Returns the values by field name; fields that the version lacks have their defaults. Raises FormatError if the
    version is not supported, or the bytes are truncated or malformed.
    """
    reader = ByteReader(data, schema.name)
    reader.version = version
    if not 0 <= version < schema.versions:
        reader.fail(f"unsupported version (supported: 0 to {schema.versions - 1})")
    decoded = _Decoder(reader, version, version >= schema.flexible_since).structure(schema.fields)
    reader.expect_end()
    return decoded


class _Decoder:
    """Reads the fields of one message."""

    def __init__(self, reader: ByteReader, version: int, is_flexible: bool) -> None:
        self._reader = reader
        self._version = version
        self._is_flexible = is_flexible

    def structure(self, fields: Sequence[FieldSchema]) -> Message:
        """Return the values of the fields of a structure."""
        present = [field for field in fields if field.since <= self._version]
        values: Message = {field.name: field.default for field in fields}
        for field in present:
            if field.tag is None:
                values[field.name] = self._value(field)
        if self._is_flexible:
            self._tagged(values, {field.tag: field for field in present if field.tag is not None})
        return values

    def _tagged(self, values: Message, fields: Mapping[int | None, FieldSchema]) -> None:
        """Read the tagged fields; skip unknown ones, which a later release may add."""
        for _ in range(self._count("tagged fields", self._varint("tagged fields"))):
            tag, size = self._varint("tag"), self._varint("size")
            data = self._reader.take(f"tagged field {tag}", size)
            field = fields.get(tag)
            if field is not None:
                reader = ByteReader(data, f"tagged field {field.name}")
                values[field.name] = _Decoder(reader, self._version, is_flexible=True)._tagged_value(field)

    def _tagged_value(self, field: FieldSchema) -> Any:
        if isinstance(field.type, tuple) and not field.is_array and field.nullable_since <= self._version:
            # Unlike a regular one, a tagged structure that may be null begins with a varint.
            return self.structure(field.type) if self._varint(field.name) > 0 else None
        return self._value(field)

    def _value(self, field: FieldSchema) -> Any:
        is_nullable = field.nullable_since <= self._version
        if field.is_array:
            return self._array(field, is_nullable=is_nullable)
        if isinstance(field.type, tuple):
            # A structure that may be null begins with a byte that says whether it is.
            if is_nullable and self._reader.int8(field.name) < 0:
                return None
            return self.structure(field.type)
        if field.type in ("string", "bytes"):
            return self._text_or_bytes(field, is_nullable=is_nullable)
        if field.type == "uuid":
            return str(TopicId.of(uuid.UUID(bytes=self._reader.take(field.name, _UUID_BYTES))))
        return self._integer(field.name, field.type)

    def _integer(self, name: str, type_: str) -> int:
        return int.from_bytes(self._reader.take(name, _INTEGER_BYTES[type_]), signed=not type_.startswith("u"))

    def _array(self, field: FieldSchema, *, is_nullable: bool) -> list[Any] | None:
        length = self._varint(field.name) - 1 if self._is_flexible else self._reader.int32(field.name)
        if length < 0:
            self._check_null(field.name, is_nullable=is_nullable)
            return None
        element = FieldSchema(field.name, field.type)
        return [self._value(element) for _ in range(self._count(field.name, length))]

    def _text_or_bytes(self, field: FieldSchema, *, is_nullable: bool) -> str | bytes | None:
        is_text = field.type == "string"
        if self._is_flexible:
            length = self._varint(field.name) - 1
        else:
            length = self._reader.int16(field.name) if is_text else self._reader.int32(field.name)
        if length < 0:
            self._check_null(field.name, is_nullable=is_nullable)
            return None
        data = self._reader.take(field.name, length)
        if not is_text:
            return data
        try:
            return data.decode()
        except UnicodeDecodeError:
            self._reader.fail(f"{field.name} is not text")

    def _check_null(self, name: str, *, is_nullable: bool) -> None:
        if not is_nullable:
            self._reader.fail(f"{name} is null, which this version does not allow")

    def _count(self, name: str, length: int) -> int:
        """Return a number of elements, each of which needs at least one byte; fail if the bytes cannot hold them."""
        if length > self._reader.left:
            self._reader.fail(f"{name} cannot have {length} elements; {self._reader.left} bytes are left")
        return length

    def _varint(self, name: str) -> int:
        value = 0
        for position in range(_MAX_VARINT_BYTES):
            byte = self._reader.take(name, 1)[0]
            value |= (byte & 0x7F) << (7 * position)
            if not byte & 0x80:
                return value
        self._reader.fail(f"{name}: a number has more than {_MAX_VARINT_BYTES} bytes")
