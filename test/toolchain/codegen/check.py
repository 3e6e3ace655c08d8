"""Does as Check.java with the generated module. JSON properties are shown as JSON."""

import dataclasses
import json
import struct
import sys
import uuid
from datetime import datetime, timedelta, timezone
from decimal import Decimal

import entities

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def shown(value, name=""):
    if value is None:
        return "-"
    if name.startswith("json"):
        return "j" + json.dumps(value).encode().hex()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return "b" + value.hex()
    if isinstance(value, float):
        return "d" + struct.pack(">d", value if value == value else float("nan")).hex()
    if isinstance(value, Decimal):
        return "n" + format(value, "f")
    if isinstance(value, int):
        return f"n{value}"
    if isinstance(value, datetime):
        return f"i{(value - EPOCH) // timedelta(milliseconds=1)}"
    if isinstance(value, dict):
        return "{" + " ".join(f"{shown(key)}>{shown(inner)}" for key, inner in value.items()) + "}"
    return "s" + str(value).encode().hex()


def properties(found):
    return ";".join(f"{field.name}={shown(getattr(found, field.name), field.name)}" for field in dataclasses.fields(found))


def answer(name, row, listed=None):
    entity = getattr(entities, name)
    row = bytes.fromhex(row)
    if listed is None:
        return str(entity.matches_key(row)).lower()
    cells = {}
    for family, qualifier, time, value in (cell.split(":") for cell in listed.split(",") if cell):
        cells.setdefault(family, {}).setdefault(bytes.fromhex(qualifier), []).append((int(time), bytes.fromhex(value)))
    found = entity.decode(row, cells)
    if found is None:
        return "null"
    encoded = []
    if hasattr(found, "encode_cells"):
        values = found.encode_cells()
        for family in sorted(values):
            encoded += [f"{family}:{qualifier.hex()}:{values[family][qualifier].hex()}" for qualifier in sorted(values[family])]
        flat = {family.encode() + b":" + qualifier: value for family, columns in values.items() for qualifier, value in columns.items()}
        again = properties(entity.decode(found.key(), flat))
        if again != properties(found):
            raise AssertionError(f"read again: {again}")
    parts = [getattr(found, part) for part in entity.PARTS]
    ranges = [
        ",".join(f"{start.hex()}-{stop.hex()}" for start, stop in entity.key_ranges(*parts[:count]))
        for count in range(1, len(parts) + 1)
    ]
    return "\t".join([found.key().hex(), ",".join(encoded), properties(found), ";".join(ranges), str(entity.matches_key(row)).lower()])


for line in sys.stdin:
    try:
        print(answer(*line.rstrip("\n").split("\t")))
    except entities.CodecError as error:
        print(f"CodecError: {error}")
