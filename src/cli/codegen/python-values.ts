/** Generated Python: codecs of numbers and times. A file has those that its tables use. */

import type { Pieces } from './pieces.js';

export const PYTHON_VALUES: Pieces = {
  Number: {
    source: `

class _Number(Codec):
    """A whole number of some bytes, big-endian, the first byte XOR flip."""

    def __init__(self, size, least, most, flip):
        self.size = size
        self.least = least
        self.most = most
        self.flip = flip << 8 * (size - 1)

    def encode(self, value):
        _require_type(value, int, "a whole number")
        if not self.least <= value <= self.most:
            raise _bad_value(value, f"from {self.least} to {self.most}")
        return (value % (1 << 8 * self.size) ^ self.flip).to_bytes(self.size, "big")

    def decode(self, data):
        _require_length(data, self.size)
        number = int.from_bytes(data, "big") ^ self.flip
        value = number - (1 << 8 * self.size) if self.least < 0 and number >> (8 * self.size - 1) else number
        if not self.least <= value <= self.most:
            raise _bad_bytes(data, f"the number is not from {self.least} to {self.most}")
        return value
`,
  },
  BigNumber: {
    source: String.raw`

class _BigNumber(Codec):
    """A whole number of up to 127 bytes: a byte with sign and length, the magnitude, inverted if it is negative."""

    def encode(self, value):
        _require_type(value, int, "a whole number")
        size = (abs(value).bit_length() + 7) // 8
        if size > 127:
            raise _bad_value(value, "a number of at most 127 bytes")
        magnitude = abs(value).to_bytes(size, "big")
        return bytes([0x7F - size]) + _invert(magnitude) if value < 0 else bytes([0x80 + size]) + magnitude

    def end_of(self, row, at, mask):
        if at >= len(row):
            return -1
        head = row[at] ^ mask
        end = at + 1 + (head - 0x80 if head >= 0x80 else 0x7F - head)
        return end if end <= len(row) else -1

    def decode(self, data):
        if not data or data[0] == 0x7F or self.end_of(data, 0, 0) != len(data):
            raise _bad_bytes(data, "the length is wrong")
        magnitude = data[1:] if data[0] >= 0x80 else _invert(data[1:])
        if magnitude[:1] == b"\x00":
            raise _bad_bytes(data, "the number has leading zeros")
        value = int.from_bytes(magnitude, "big")
        return value if data[0] >= 0x80 else -value
`,
  },
  Decimal: {
    needs: ['BigNumber'],
    source: `

class _Decimal(_BigNumber):
    """An exact decimal number of a scale. A number with more decimals is refused."""

    def __init__(self, scale):
        self.scale = scale

    def encode(self, value):
        sign, digits, exponent = _decimal_parts(value)
        shift = exponent + self.scale
        text = "".join(map(str, digits)) + "0" * max(shift, 0)
        if shift < 0:
            if text[shift:].strip("0"):
                raise _bad_value(value, f"a number of at most {self.scale} decimals")
            text = text[:shift]
        number = int(text or "0")
        return super().encode(-number if sign else number)

    def decode(self, data):
        return _scaled(super().decode(data), self.scale)
`,
  },
  RawDecimal: {
    source: `

class _RawDecimal(Codec):
    """As HBase's Bytes.toBytes(BigDecimal)."""

    def encode(self, value):
        sign, digits, exponent = _decimal_parts(value)
        number = int("".join(map(str, digits)))
        number = -number if sign else number
        size = ((number if number >= 0 else ~number).bit_length() + 8) // 8
        return (-exponent).to_bytes(4, "big", signed=True) + number.to_bytes(size, "big", signed=True)

    def decode(self, data):
        if len(data) < 5:
            raise _bad_bytes(data, "they must be at least 5")
        return _scaled(int.from_bytes(data[4:], "big", signed=True), int.from_bytes(data[:4], "big", signed=True))
`,
  },
  DecimalParts: {
    source: `

def _decimal_parts(value):
    if not isinstance(value, decimal.Decimal) or not value.is_finite():
        raise _bad_value(value, "a finite Decimal")
    return value.as_tuple()


def _scaled(number, scale):
    """A Decimal without rounding, whatever the context's precision."""
    return decimal.Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -scale))
`,
  },
  Float: {
    source: `

class _Float(Codec):
    """IEEE 754, in the order of the numbers or as HBase's Bytes. form is d or f. Phoenix adds 1."""

    def __init__(self, form, raw, added, rounds):
        self.form = ">" + form
        self.size = struct.calcsize(self.form)
        self.sign = 1 << (8 * self.size - 1)
        self.all = (1 << 8 * self.size) - 1
        self.raw = raw
        self.added = added
        self.rounds = rounds

    def encode(self, value):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise _bad_value(value, "a number")
        value = float(value)
        if not self.raw and value != value:
            raise _bad_value(value, "a number other than NaN")
        try:
            data = struct.pack(self.form, value if self.raw else value + 0.0)
        except OverflowError:
            if not self.rounds:
                raise _bad_value(value, "within the range of the column") from None
            data = struct.pack(self.form, float("inf") if value > 0 else float("-inf"))
        if value == value and not self.rounds and struct.unpack(self.form, data)[0] != value:
            raise _bad_value(value, "a number that 32 bits hold exactly")
        if self.raw:
            return data if value == value else struct.pack(self.form, float("nan"))
        bits = int.from_bytes(data, "big")
        if bits == self.sign:
            bits = 0
        bits = bits ^ (self.all if bits & self.sign else self.sign)
        return (bits + self.added).to_bytes(self.size, "big")

    def decode(self, data):
        _require_length(data, self.size)
        if self.raw:
            return struct.unpack(self.form, data)[0]
        bits = int.from_bytes(data, "big") - self.added & self.all
        bits = bits ^ (self.sign if bits & self.sign else self.all)
        value = struct.unpack(self.form, bits.to_bytes(self.size, "big"))[0]
        if value != value or bits == self.sign:
            raise _bad_bytes(data, "it is NaN or -0")
        return value
`,
  },
  Flag: {
    source: `

class _Flag(Codec):
    """00 or another byte."""

    def __init__(self, yes):
        self.yes = yes

    def encode(self, value):
        _require_type(value, bool, "True or False")
        return bytes([self.yes if value else 0])

    def decode(self, data):
        _require_length(data, 1)
        if data[0] not in (0, self.yes):
            raise _bad_bytes(data, f"it is neither 0 nor {self.yes}")
        return data[0] != 0
`,
  },
  Date: {
    needs: ['Number'],
    source: `

class _Date(Codec):
    """Milliseconds since 1970, 8 bytes. tail is what follows in Phoenix's TIMESTAMP."""

    def __init__(self, flip, unsigned, tail=b""):
        self.number = _Number(8, 0 if unsigned else -8640000000000000, 8640000000000000, flip)
        self.tail = tail

    def encode(self, value):
        return self.number.encode(_millis(value)) + self.tail

    def decode(self, data):
        _require_length(data, 8 + len(self.tail))
        if data[8:] != self.tail:
            raise _bad_bytes(data, "they have nanoseconds")
        return _time(self.number.decode(data[:8]))
`,
  },
  ReverseTime: {
    source: `

class _ReverseTime(Codec):
    """2^63 - 1 less the milliseconds, in 8 bytes or 19 digits, of a datetime or a number."""

    def __init__(self, of_datetime, text):
        self.of_datetime = of_datetime
        self.text = text

    def encode(self, value):
        if self.of_datetime:
            value = _millis(value)
        _require_type(value, int, "a whole number")
        if abs(value) >= 1 << 53 or (self.text and value < 0):
            raise _bad_value(value, "a time not before 1970" if self.text else "within 2^53 - 1")
        number = (1 << 63) - 1 - value
        return str(number).encode() if self.text else number.to_bytes(8, "big")

    def decode(self, data):
        _require_length(data, 19 if self.text else 8)
        if self.text and not data.isdigit():
            raise _bad_bytes(data, "they are not digits")
        value = (1 << 63) - 1 - (int(data) if self.text else int.from_bytes(data, "big"))
        return _time(value) if self.of_datetime else value
`,
  },
  Offset: {
    needs: ['Number'],
    source: `

class _Offset(Codec):
    """Times of packed columns, as distances from the start of the row's time bucket."""

    def __init__(self, start, unit, width, size):
        self.start = start
        self.unit = unit
        self.width = width
        self.number = _Number(size, 0, (1 << 8 * size) - 1, 0)

    def encode(self, value):
        distance = _millis(value) - self.start
        if not 0 <= distance < self.width or distance % self.unit:
            raise _bad_value(value, f"in the time bucket of the row, in steps of {self.unit} ms")
        return self.number.encode(distance // self.unit)

    def decode(self, data):
        return _time(self.start + self.unit * self.number.decode(data))
`,
  },
  Desc: {
    source: `

class _Desc(Codec):
    """The bytes of a codec with every bit inverted."""

    def __init__(self, inner):
        self.inner = inner

    def encode(self, value):
        return _invert(self.inner.encode(value))

    def decode(self, data):
        return self.inner.decode(_invert(data))
`,
  },
};
