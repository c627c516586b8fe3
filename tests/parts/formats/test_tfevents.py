"""Event files as tensorboardX and tensorboard wrote them: whole, cut off, and with flipped bits."""

from __future__ import annotations

import io
import math
import random
import struct
from pathlib import Path

import pytest

from torchstone.parts.formats.tfevents import Reading, crc32c, is_event_file, masked_crc, scalars

LOGS = Path(__file__).parents[2] / "flows" / "logs"
PLAIN = next((LOGS / "plain").glob("*tfevents*"))
TENSORS = next((LOGS / "keras" / "train").glob("*tfevents*"))


def read(data: bytes):
    reading = Reading()
    return list(scalars(io.BytesIO(data), reading)), reading


def record(message: bytes) -> bytes:
    head = struct.pack("<Q", len(message))
    return head + struct.pack("<I", masked_crc(head)) + message + struct.pack("<I", masked_crc(message))


def test_the_checksum_is_that_of_rfc_3720():
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(b"\0" * 32) == 0x8A9136AA
    assert crc32c(bytes(range(32))) == 0x46DD794E


def test_simple_values_are_read_and_histograms_and_texts_are_not():
    found, reading = read(PLAIN.read_bytes())
    assert {one.tag for one in found} == {"Loss/train", "Loss/val", "Accuracy/val"}
    losses = [(one.step, one.value) for one in found if one.tag == "Loss/train"]
    assert losses == [(e, pytest.approx(0.25 + 2 * math.exp(-e / 4), rel=1e-6)) for e in range(12)]
    assert reading.ending == ""
    assert reading.num_damaged == 0


def test_scalars_written_as_tensors_are_read():
    found, _ = read(TENSORS.read_bytes())
    losses = [one.value for one in found if one.tag == "epoch_loss"]
    assert losses == pytest.approx([0.25 + 2 * math.exp(-e / 4) for e in range(12)])
    assert all(one.wall_time > 1.7e9 for one in found)


@pytest.mark.parametrize("file", [PLAIN, TENSORS])
def test_a_file_cut_off_anywhere_gives_its_whole_records(file):
    data = file.read_bytes()
    whole, _ = read(data)
    for end in range(0, len(data), 23):
        found, reading = read(data[:end])
        assert found == whole[: len(found)]
        assert bool(reading.ending) or end == 0 or len(read(data[:end])[0]) == len(found)


def test_a_flipped_bit_costs_at_most_the_rest_and_never_gives_a_wrong_number():
    data = PLAIN.read_bytes()
    whole = set(read(data)[0])
    generator = random.Random(0)
    for _ in range(100):
        broken = bytearray(data)
        broken[generator.randrange(len(data))] ^= 1 << generator.randrange(8)
        found, reading = read(bytes(broken))
        assert set(found) <= whole
        assert reading.ending or reading.num_damaged


def test_messages_of_any_bytes_under_a_right_checksum_are_passed_over():
    generator = random.Random(1)
    data = b"".join(record(generator.randbytes(generator.randrange(60))) for _ in range(500))
    found, reading = read(data)
    assert reading.num_records == 500
    assert all(isinstance(one.value, float) for one in found)


def test_a_negative_step_and_a_length_beyond_the_file():
    step = b"\x10" + b"\xff" * 9 + b"\x01"
    entry = b"\x0a\x01x\x15" + struct.pack("<f", 1.5)
    message = step + b"\x2a" + bytes([len(entry) + 2]) + b"\x0a" + bytes([len(entry)]) + entry
    found, _ = read(record(message))
    assert (found[0].step, found[0].value) == (-1, 1.5)
    head = struct.pack("<Q", 1 << 40)
    assert "damaged" in read(head + struct.pack("<I", masked_crc(head)) + b"x")[1].ending


def test_other_files_are_not_taken_for_event_files():
    assert is_event_file(PLAIN.read_bytes()[:12])
    assert not is_event_file(b"epoch,loss\n1,")
    assert not is_event_file(b"")
