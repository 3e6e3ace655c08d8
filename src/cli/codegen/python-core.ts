/** Generated Python: columns, cells and keys, which are the same for all tables. Python 3.8 and later. */

export const PYTHON_CORE = String.raw`
class CodecError(ValueError):
    """A value that a codec cannot hold, or bytes that are none of its values."""


class Codec:
    """Turns values into bytes and back."""

    def encode(self, value):
        raise NotImplementedError

    def decode(self, data):
        raise NotImplementedError

    def end_of(self, row, at, mask):
        """For a value that ends itself: its end, or -1. The bytes are inverted if mask is 0xff."""
        return -1


class Column(NamedTuple):
    """A column of one cell, or with a codec of keys the cells of a dict, whose qualifiers begin with the qualifier."""

    family: str
    qualifier: bytes
    codec: Codec
    keys: Optional[Codec] = None


class KeyRange(NamedTuple):
    """The rows from start, inclusive, to stop, exclusive. An empty stop is the end of the table."""

    start: bytes
    stop: bytes


def _bad_value(value, expected):
    return CodecError(f"{value!r} cannot be stored: it must be {expected}.")


def _bad_bytes(data, why):
    return CodecError(f"The bytes {data.hex()} cannot be read: {why}.")


def _require_length(data, length):
    if len(data) != length:
        raise _bad_bytes(data, f"they must be {length}")


def _require_type(value, kind, name):
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise _bad_value(value, name)


def _invert(data):
    return bytes(byte ^ 0xFF for byte in data)


def _escape(data):
    return data.replace(b"\x00", b"\x00\xff") + b"\x00\x01"


def _behind(prefix):
    """The least row above all that begin with the prefix; empty if there is none."""
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes([kept[-1] + 1]) if kept else b""


def _named(codec, data, name):
    try:
        return codec.decode(data)
    except CodecError as error:
        raise CodecError(f'Property "{name}": {error}') from None


class _Cells:
    """The cells of one row: by family and qualifier the versions by timestamp, the newest first."""

    def __init__(self, cells):
        self.families = {}
        for name, value in cells.items():
            if isinstance(value, dict):
                family = name.decode() if isinstance(name, bytes) else name
                for qualifier, one in value.items():
                    self._add(family, qualifier, one)
            else:
                family, _, qualifier = (name.encode() if isinstance(name, str) else name).partition(b":")
                self._add(family.decode(), qualifier, value)

    def _add(self, family, qualifier, value):
        versions = {0: value} if isinstance(value, (bytes, bytearray)) else dict((time, one) for time, one in (value.items() if isinstance(value, dict) else value))
        newest = sorted(versions.items(), key=lambda version: -version[0])
        self.families.setdefault(family, {})[qualifier] = [(time, bytes(one)) for time, one in newest]

    def get(self, family, qualifier):
        found = self.families.get(family, {}).get(qualifier)
        return found[0][1] if found else None

    def hold(self, marker, version, lifelong):
        """Whether the row holds an entity, by its marker."""
        if not self.families:
            return False
        if marker is None:
            return True
        value = self.get(*marker)
        if value is None:
            shadow = {family: set(columns) for family, columns in self.families.items()} == {marker[0]: {b"_x"}}
            return not lifelong and not shadow
        if len(value) in (1, 9) and value[0] != version:
            raise CodecError(f"The row has version {value[0]} of the entity, and this code reads version {version}.")
        return True

    def value(self, column, name):
        data = self.get(column.family, column.qualifier)
        return None if data is None else _named(column.codec, data, name)

    def history(self, column, name):
        versions = self.families.get(column.family, {}).get(column.qualifier, [])
        return {time: _named(column.codec, data, name) for time, data in versions}

    def entries(self, column, keys, marker, name):
        found = {}
        prefix = column.qualifier
        for qualifier, versions in sorted(self.families.get(column.family, {}).items()):
            if qualifier.startswith(prefix) and (column.family, qualifier) != marker:
                found[_named(keys, qualifier[len(prefix):], name)] = _named(column.codec, versions[0][1], name)
        return found


def _put(values, column, value, name):
    if value is not None:
        values.setdefault(column.family, {})[column.qualifier] = _stored(column.codec, value, name)


def _put_all(values, column, keys, entries, name):
    for key, value in (entries or {}).items():
        qualifier = column.qualifier + _stored(keys, key, name)
        values.setdefault(column.family, {})[qualifier] = _stored(column.codec, value, name)


def _stored(codec, value, name):
    try:
        return codec.encode(value)
    except CodecError as error:
        raise CodecError(f'Property "{name}": {error}') from None


def _modulo(value, n):
    """The remainder of a number or of the milliseconds of a time."""
    return (_millis(value) if isinstance(value, datetime) else int(value)) % n


_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def _millis(value):
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise _bad_value(value, "a datetime with a time zone")
    if value.microsecond % 1000:
        raise _bad_value(value, "in whole milliseconds")
    return (value - _EPOCH) // timedelta(milliseconds=1)


def _time(ms):
    try:
        return _EPOCH + timedelta(milliseconds=ms)
    except OverflowError:
        raise CodecError(f"{ms} ms since 1970 are outside of the years 1 to 9999, which datetime has.") from None


class _Step:
    """A step of a key, left to right. names are the parts that it is computed from."""

    names = ()
    random = False

    def write(self, parts):
        """Its bytes."""
        raise NotImplementedError

    def end(self, row, at):
        """The end of its bytes, or -1 if they are not there."""
        raise NotImplementedError

    def read(self, data, parts):
        pass

    def is_known(self, parts):
        return all(name in parts for name in self.names)

    def choices(self, steps, parts):
        """What may stand here in keys with these parts; nothing where the parts do not tell."""
        return [self.write(parts)] if self.is_known(parts) else []

    def fill(self, pieces, index):
        """Completes a key that is written but for the bytes of this step."""


class _Key:
    """A layout of row keys."""

    def __init__(self, *steps):
        self.steps = steps

    def encode(self, parts):
        pieces = [step.write(parts) for step in self.steps]
        # A salt may be computed over another behind it.
        for index in reversed(range(len(pieces))):
            self.steps[index].fill(pieces, index)
        row = b"".join(pieces)
        if not 0 < len(row) <= 32767:
            raise CodecError(f"The row key has {len(row)} bytes. A table takes 1 to 32767.")
        return row

    def decode(self, row):
        """The parts that the row holds whole."""
        parts = {}
        at = 0
        for step in self.steps:
            end = step.end(row, at)
            if end < 0:
                raise CodecError(f"The row {row.hex()} does not have this layout at byte {at}.")
            step.read(row[at:end], parts)
            at = end
        if at != len(row):
            raise CodecError(f"The row {row.hex()} has bytes behind its last part.")
        return parts

    def matches(self, row):
        at = 0
        for step in self.steps:
            at = step.end(row, at)
            if at < 0:
                return False
        return at == len(row)

    def ranges(self, parts):
        """The ranges of the rows with these values of leading parts."""
        whole = all(step.is_known(parts) for step in self.steps)
        if whole and not any(step.random for step in self.steps):
            leads = [self.encode(parts)]
        else:
            leads = [b""]
            for step in self.steps:
                following = step.choices(self.steps, parts)
                if not following:
                    break
                leads = [lead + one for lead in leads for one in following]
        return [KeyRange(lead, lead + b"\x00" if whole else _behind(lead)) for lead in sorted(leads)]


def _parts(names, values):
    parts = dict(zip(names, values))
    for name, value in parts.items():
        if value is None:
            raise CodecError(f'Key part "{name}" has no value.')
    return parts


def _part(name, codec, parts):
    try:
        return codec.encode(parts[name])
    except CodecError as error:
        raise CodecError(f'Key part "{name}": {error}') from None


class _Constant(_Step):
    """Bytes that are the same in every key."""

    def __init__(self, data):
        self.data = data

    def write(self, parts):
        return self.data

    def end(self, row, at):
        return at + len(self.data) if row.startswith(self.data, at) else -1


class _Field(_Step):
    """A part as its codec writes it. detail is the length, or the byte that the value may not have because it separates."""

    def __init__(self, name, codec, ending, detail, inverted):
        self.names = (name,)
        self.name = name
        self.codec = codec
        self.ending = ending
        self.detail = detail
        self.mask = 0xFF if inverted else 0

    def write(self, parts):
        data = _part(self.name, self.codec, parts)
        if self.ending == "escaped":
            data = _escape(data)
        if self.ending != "length" and self.detail >= 0 and self.detail in data:
            raise CodecError(f'Key part "{self.name}": the text has the byte {self.detail}, which ends it.')
        if self.ending == "separated":
            data += bytes([self.detail])
        return _invert(data) if self.mask else data

    def end(self, row, at):
        if self.ending == "length":
            return at + self.detail if at + self.detail <= len(row) else -1
        if self.ending == "self":
            return self.codec.end_of(row, at, self.mask)
        if self.ending == "row":
            return len(row)
        if self.ending == "separated":
            return row.find(bytes([self.detail ^ self.mask]), at) + 1 or -1
        at = row.find(self.mask, at)
        while 0 <= at < len(row) - 1:
            following = row[at + 1] ^ self.mask
            if following == 1:
                return at + 2
            if following != 0xFF:
                return -1
            at = row.find(self.mask, at + 2)
        return -1

    def read(self, data, parts):
        plain = _invert(data) if self.mask else data
        if self.ending == "escaped":
            plain = plain[:-2].replace(b"\x00\xff", b"\x00")
        elif self.ending == "separated":
            plain = plain[:-1]
        parts[self.name] = _named(self.codec, plain, self.name)
`;

/** Steps of keys that not every table has, by the kind of the step. */
export const PYTHON_STEPS: Readonly<Record<'salt' | 'bucket' | 'hash' | 'timeBucket', string>> = {
  salt: `

class _Salt(_Step):
    """Bytes computed from the key that spread rows. choice has the bytes of each salt. runs are the first and last step of
    each range that is hashed; None for Phoenix's hash of all bytes behind the salt."""

    def __init__(self, salts, runs, random):
        self.salts = salts
        self.runs = runs
        self.random = random

    def write(self, parts):
        return self.salts[0]

    def fill(self, pieces, index):
        if self.random:
            salt = secrets.randbelow(len(self.salts))
        elif self.runs is None:
            total = 1
            for byte in b"".join(pieces[index + 1:]):
                total = (31 * total + (byte - 256 if byte > 127 else byte)) & 0xFFFFFFFF
            signed = total - (1 << 32) if total >> 31 else total
            salt = abs(signed) % len(self.salts)
        else:
            salt = self._salt_of([piece for first, last in self.runs for piece in pieces[first:last + 1]])
        pieces[index] = self.salts[salt]

    def _salt_of(self, pieces):
        return _murmur3(b"".join(pieces)) % len(self.salts)

    def choices(self, steps, parts):
        if not self.random and self.runs is not None:
            hashed = [step for first, last in self.runs for step in steps[first:last + 1]]
            if all(step.is_known(parts) for step in hashed):
                return [self.salts[self._salt_of([step.write(parts) for step in hashed])]]
        return list(self.salts)

    def end(self, row, at):
        end = at + len(self.salts[0])
        return end if row[at:end] in self.salts else -1
`,
  bucket: `

class _Bucket(_Step):
    """A part modulo a number."""

    def __init__(self, part, buckets):
        self.names = (part,)
        self.part = part
        self.buckets = buckets

    def write(self, parts):
        return bytes([_modulo(parts[self.part], self.buckets)])

    def choices(self, steps, parts):
        return super().choices(steps, parts) or [bytes([bucket]) for bucket in range(self.buckets)]

    def end(self, row, at):
        return at + 1 if at < len(row) and row[at] < self.buckets else -1
`,
  hash: `

class _Hash(_Step):
    """A digest of parts. A source is the part's name, its codec, and whether its bytes are ended."""

    def __init__(self, algorithm, size, in_hex, divisor, *sources):
        self.names = tuple(name for name, _, _ in sources)
        self.algorithm = algorithm
        self.size = size
        self.in_hex = in_hex
        self.divisor = divisor
        self.sources = sources

    def write(self, parts):
        hashed = b""
        for name, codec, ended in self.sources:
            data = _part(name, codec, parts)
            if self.divisor:
                data = str(_modulo(parts[name], self.divisor)).encode()
            hashed += _escape(data) if ended else data
        if self.algorithm == "murmur3":
            digest = _murmur3(hashed).to_bytes(4, "big")
        else:
            digest = hashlib.new(self.algorithm, hashed).digest()
        kept = digest[:self.size]
        return kept.hex().encode() if self.in_hex else kept

    def end(self, row, at):
        end = at + self.size * (2 if self.in_hex else 1)
        return end if end <= len(row) else -1
`,
  timeBucket: `

def _bucket_start(value, span):
    return _millis(value) // span * span


class _TimeBucket(_Step):
    """The start of the time span that holds a part's time."""

    def __init__(self, name, span, width, inverted):
        self.names = (name,)
        self.name = name
        self.span = span
        self.width = width
        self.inverted = inverted

    def write(self, parts):
        start = _bucket_start(parts[self.name], self.span)
        if self.width == 4 and not 0 <= start <= 0xFFFFFFFF * 1000:
            raise _bad_value(parts[self.name], "from 1970 to 2106")
        number = start + (1 << 63) if self.width == 8 else start // 1000
        data = number.to_bytes(self.width, "big")
        return _invert(data) if self.inverted else data

    def end(self, row, at):
        return at + self.width if at + self.width <= len(row) else -1

    def read(self, data, parts):
        """The start is there under the name of the part with its span, for packed columns."""
        number = int.from_bytes(_invert(data) if self.inverted else data, "big")
        parts[(self.name, self.span)] = number - (1 << 63) if self.width == 8 else number * 1000
`,
};

/** MurmurHash3 (x86, 32 bits, seed 0), for salts and digests. */
export const PYTHON_MURMUR = `

def _murmur3(data):
    def scrambled(word):
        word = word * 0xCC9E2D51 & 0xFFFFFFFF
        return (word << 15 | word >> 17) * 0x1B873593 & 0xFFFFFFFF

    state = 0
    body = len(data) & ~3
    for at in range(0, body, 4):
        state ^= scrambled(int.from_bytes(data[at:at + 4], "little"))
        state = ((state << 13 | state >> 19) & 0xFFFFFFFF) * 5 + 0xE6546B64 & 0xFFFFFFFF
    state ^= scrambled(int.from_bytes(data[body:], "little"))
    state ^= len(data)
    state = (state ^ state >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    state = (state ^ state >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return state ^ state >> 16
`;
