"""TensorBoard event files: framed records of protobuf messages, of which the scalars are taken.

Reading them with the package tensorboard would bring gRPC, a web server and nine other packages for one message of five
fields. Frame: length (uint64), its masked CRC-32C, data, its masked CRC-32C. The numbers of the fields are those of
event.proto, summary.proto and tensor.proto of TensorFlow; numbers stay what they are for good in protobuf.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple

_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5
# DataType of types.proto → struct code of one element.
_TYPES = {1: "f", 2: "d", 3: "i", 6: "b", 9: "q", 19: "e"}
# TensorProto's typed lists: field → struct code, None for varints.
_LISTS: dict[int, str | None] = {5: "f", 6: "d", 7: None, 10: None}
# Records beyond are pictures and audio: their sums are not checked, and they hold no scalar.
_LARGE = 1 << 16
_LARGEST = 1 << 30


class Scalar(NamedTuple):
    """One logged number."""

    tag: str
    step: int
    wall_time: float
    value: float


class _Field(NamedTuple):
    """A field of a message: `value` of a varint, `data` of any other kind."""

    number: int
    kind: int
    value: int
    data: bytes


@dataclass
class Reading:
    """How far a file could be read. ending: why before its end, empty where it was whole."""

    num_records: int = 0
    num_damaged: int = 0
    ending: str = ""


def is_event_file(head: bytes) -> bool:
    """Whether the first 12 bytes are a length and its checksum."""
    return len(head) >= 12 and masked_crc(head[:8]) == struct.unpack("<I", head[8:12])[0]


def scalars(file: BinaryIO, reading: Reading) -> Iterator[Scalar]:
    """All scalars of an event file; damaged records are passed over, and `reading` counts them."""
    for record in _records(file, reading):
        try:
            yield from _of_event(record)
        except (ValueError, struct.error):
            reading.num_damaged += 1


def _records(file: BinaryIO, reading: Reading) -> Iterator[bytes]:
    while head := file.read(12):
        if len(head) < 12:
            reading.ending = f"the last record is cut off after {reading.num_records:,} whole ones"
            return
        length, crc = struct.unpack("<QI", head)
        if masked_crc(head[:8]) != crc or length > _LARGEST:
            reading.ending = f"what follows record {reading.num_records:,} is damaged"
            return
        data = file.read(length + 4)
        if len(data) < length + 4:
            reading.ending = f"the last record is cut off after {reading.num_records:,} whole ones"
            return
        reading.num_records += 1
        if length > _LARGE:
            continue
        if masked_crc(data[:-4]) == struct.unpack("<I", data[-4:])[0]:
            yield data[:-4]
        else:
            reading.num_damaged += 1


def _of_event(record: bytes) -> Iterator[Scalar]:
    wall_time, step, summaries = 0.0, 0, []
    for number, kind, value, data in _fields(record):
        if (number, kind) == (1, _EIGHT):
            wall_time = struct.unpack("<d", data)[0]
        elif (number, kind) == (2, _VARINT):
            step = _signed(value)
        elif (number, kind) == (5, _BYTES):
            summaries.append(data)
    for summary in summaries:
        for number, kind, _, data in _fields(summary):
            if (number, kind) == (1, _BYTES):
                tag, found = _of_value(data)
                if found is not None:
                    yield Scalar(tag, step, wall_time, found)


def _of_value(data: bytes) -> tuple[str, float | None]:
    """The tag of a summary's entry, and its number; None for pictures, texts, histograms and the like."""
    tag, found = "", None
    for number, kind, _, inner in _fields(data):
        if (number, kind) == (1, _BYTES):
            tag = inner.decode("utf-8", "replace")
        elif (number, kind) == (2, _FOUR):
            found = struct.unpack("<f", inner)[0]
        elif (number, kind) == (8, _BYTES):
            found = _of_tensor(inner)
    return tag, found


def _of_tensor(data: bytes) -> float | None:
    """The only element of a tensor of rank 0; None for any other."""
    kind_of, content, rank = 0, b"", 0
    listed: list[float] = []
    for number, kind, value, inner in _fields(data):
        if (number, kind) == (1, _VARINT):
            kind_of = value
        elif (number, kind) == (2, _BYTES):
            rank = sum(field.number == 2 for field in _fields(inner))
        elif (number, kind) == (4, _BYTES):
            content = inner
        elif number in _LISTS:
            listed += [_signed(value)] if kind == _VARINT else _elements(_LISTS[number], inner)
    code = _TYPES.get(kind_of)
    if rank or code is None:
        return None
    if len(content) == struct.calcsize(code):
        return float(struct.unpack(f"<{code}", content)[0])
    return float(listed[0]) if len(listed) == 1 else None


def _elements(code: str | None, data: bytes) -> list[float]:
    """The entries of a typed list, packed or single."""
    if code is None:
        return [_signed(number) for number in _varints(data)]
    size = struct.calcsize(code)
    return [entry[0] for entry in struct.iter_unpack(f"<{code}", data)] if len(data) % size == 0 else []


def _varints(data: bytes) -> Iterator[int]:
    place = 0
    while place < len(data):
        value, place = _varint(data, place)
        yield value


def _fields(data: bytes) -> Iterator[_Field]:
    """The fields of a message; raises ValueError where it is none."""
    place = 0
    while place < len(data):
        key, place = _varint(data, place)
        kind = key & 7
        if kind == _VARINT:
            number, place = _varint(data, place)
            yield _Field(key >> 3, kind, number, b"")
            continue
        if kind == _BYTES:
            size, place = _varint(data, place)
        elif kind in (_EIGHT, _FOUR):
            size = 8 if kind == _EIGHT else 4
        else:
            raise ValueError(f"wire type {kind}")
        if place + size > len(data):
            raise ValueError("a field goes beyond its message")
        yield _Field(key >> 3, kind, 0, data[place : place + size])
        place += size


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if place >= len(data):
            break
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
    raise ValueError("a number without end")


def _signed(value: int) -> int:
    """Two's complement of 64 bits, as protobuf writes negative numbers."""
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >= 1 << 63 else value


def _table() -> tuple[int, ...]:
    made = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        made.append(value)
    return tuple(made)


_CRC = _table()


def crc32c(data: bytes) -> int:
    """CRC-32C (Castagnoli) of RFC 3720."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _CRC[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def masked_crc(data: bytes) -> int:
    """The checksum as TFRecord files hold it: rotated by 15 bits and moved by a constant."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
