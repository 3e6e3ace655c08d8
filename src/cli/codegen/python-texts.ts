/** Generated Python: codecs of texts and bytes. A file has those that its tables use. */

import type { Pieces } from './pieces.js';

export const PYTHON_TEXTS: Pieces = {
  Text: {
    source: `

class _Text(Codec):
    """UTF-8."""

    def encode(self, value):
        _require_type(value, str, "a text")
        try:
            return value.encode()
        except UnicodeEncodeError:
            raise _bad_value(value, "well-formed text") from None

    def decode(self, data):
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise _bad_bytes(data, "they are not well-formed UTF-8") from None
`,
  },
  Binary: {
    source: `

class _Binary(Codec):
    def encode(self, value):
        _require_type(value, (bytes, bytearray), "bytes")
        return bytes(value)

    def decode(self, data):
        return data
`,
  },
  FixedBinary: {
    source: `

class _FixedBinary(Codec):
    """Bytes of one length; with a padding up to that length."""

    def __init__(self, width, pad):
        self.width = width
        self.pad = pad

    def encode(self, value):
        _require_type(value, (bytes, bytearray), "bytes")
        if len(value) > self.width or (self.pad < 0 and len(value) < self.width):
            raise _bad_value(value, f"{self.width} bytes")
        if self.pad < 0:
            return bytes(value)
        if value[-1:] == bytes([self.pad]) or any(byte < self.pad for byte in value):
            raise _bad_value(value, "bytes of at least the padding that do not end with it")
        return bytes(value).ljust(self.width, bytes([self.pad]))

    def decode(self, data):
        _require_length(data, self.width)
        plain = data.rstrip(bytes([self.pad])) if self.pad >= 0 else data
        if any(byte < self.pad for byte in plain):
            raise _bad_bytes(data, "one is below the padding")
        return plain
`,
  },
  FixedText: {
    needs: ['Text', 'FixedBinary'],
    source: `

class _FixedText(_Text):
    """Text up to a number of bytes, padded."""

    def __init__(self, width, pad):
        self.bytes = _FixedBinary(width, pad)

    def encode(self, value):
        return self.bytes.encode(super().encode(value))

    def decode(self, data):
        return super().decode(self.bytes.decode(data))
`,
  },
  Json: {
    source: `

class _Json(Codec):
    """JSON. Equal values may have other bytes than Rowan's: numbers have several spellings."""

    def encode(self, value):
        try:
            return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
        except (TypeError, ValueError) as error:
            raise CodecError(f"JSON cannot hold the value: {error}") from None

    def decode(self, data):
        try:
            return json.loads(data)
        except ValueError as error:
            raise _bad_bytes(data, f"they are not JSON: {error}") from None
`,
  },
  Uuid: {
    source: `

class _Uuid(Codec):
    def encode(self, value):
        _require_type(value, uuid.UUID, "a UUID")
        return value.bytes

    def decode(self, data):
        _require_length(data, 16)
        return uuid.UUID(bytes=data)
`,
  },
  BaseText: {
    source: `

class _BaseText(Codec):
    """A number of some bytes, with zero bits behind it, as digits of a base: ULID, KSUID, geohash."""

    def __init__(self, alphabet, digits, size, behind):
        self.alphabet = alphabet
        self.digits = digits
        self.size = size
        self.behind = behind

    def encode(self, value):
        _require_type(value, str, "a text")
        number = 0
        for character in value:
            digit = self.alphabet.find(character)
            if digit < 0:
                raise _bad_value(value, f"of the characters {self.alphabet}")
            number = number * len(self.alphabet) + digit
        if len(value) != self.digits or number >> (8 * self.size - self.behind):
            raise _bad_value(value, f"{self.digits} characters for {self.size} bytes")
        return (number << self.behind).to_bytes(self.size, "big")

    def decode(self, data):
        _require_length(data, self.size)
        whole = int.from_bytes(data, "big")
        number = whole >> self.behind
        if number << self.behind != whole:
            raise _bad_bytes(data, "they have bits behind the last digit")
        text = ""
        for _ in range(self.digits):
            number, digit = divmod(number, len(self.alphabet))
            text = self.alphabet[digit] + text
        return text
`,
  },
  Address: {
    source: String.raw`

_MAPPED = b"\x00" * 10 + b"\xff\xff"


class _Address(Codec):
    """An IPv4 address (4), an IPv6 address as RFC 5952 writes it (6), or a network of either (0)."""

    def __init__(self, kind):
        self.kind = kind

    def encode(self, value):
        _require_type(value, str, "a text")
        data = self._parse(value)
        if data is None or self.decode(data) != value:
            raise _bad_value(value, "a network that is zero behind its prefix" if self.kind == 0 else "an address in its short form")
        return data

    def _parse(self, value):
        try:
            if self.kind == 4:
                return ipaddress.IPv4Address(value).packed
            if self.kind == 6:
                return ipaddress.IPv6Address(value).packed
            network = ipaddress.ip_network(value)
            mapped = _MAPPED if network.version == 4 else b""
            return mapped + network.network_address.packed + bytes([8 * len(mapped) + network.prefixlen])
        except ValueError:
            return None

    def decode(self, data):
        _require_length(data, {4: 4, 6: 16, 0: 17}[self.kind])
        if self.kind:
            return _address(data)
        bits = data[16]
        is_v4 = bits >= 96 and data.startswith(_MAPPED)
        text = f"{_address(data[12:16])}/{bits - 96}" if is_v4 else f"{_address(data[:16])}/{bits}"
        # A mapped network of fewer bits is none of either kind.
        if (data.startswith(_MAPPED) and not is_v4) or self._parse(text) != data:
            raise _bad_bytes(data, "address and prefix do not fit together")
        return text


def _address(data):
    if len(data) == 4 or data.startswith(_MAPPED):
        dotted = ".".join(map(str, data[-4:]))
        return dotted if len(data) == 4 else "::ffff:" + dotted
    return ipaddress.IPv6Address(data).compressed
`,
  },
  Names: {
    needs: ['Number'],
    source: `

class _Names(Codec):
    """One of some names or numbers, stored as its id."""

    def __init__(self, size, ids):
        self.number = _Number(size, 0, 0xFFFF, 0)
        self.ids = ids
        self.names = {id: name for name, id in ids.items()}

    def encode(self, value):
        if isinstance(value, bool) or value not in self.ids:
            raise _bad_value(value, f"one of {list(self.ids)}")
        return self.number.encode(self.ids[value])

    def decode(self, data):
        id = self.number.decode(data)
        if id not in self.names:
            raise _bad_bytes(data, f"nothing has the id {id}")
        return self.names[id]
`,
  },
  Digits: {
    source: `

class _Digits(Codec):
    """Decimal digits of a width, forwards or backwards, of a number up to most or, with none, of a text."""

    def __init__(self, width, reversed, most):
        self.width = width
        self.step = -1 if reversed else 1
        self.most = most

    def encode(self, value):
        if self.most is None:
            _require_type(value, str, "a text")
            digits = value
        else:
            _require_type(value, int, "a whole number")
            if not 0 <= value <= self.most:
                raise _bad_value(value, f"from 0 to {self.most}")
            digits = str(value).zfill(self.width)
        if len(digits) != self.width or not (digits.isascii() and digits.isdigit()):
            raise _bad_value(value, f"{self.width} digits")
        return digits[::self.step].encode()

    def decode(self, data):
        _require_length(data, self.width)
        if not data.isdigit():
            raise _bad_bytes(data, "they are not digits")
        digits = data.decode()[::self.step]
        if self.most is None:
            return digits
        if int(digits) > self.most:
            raise _bad_bytes(data, f"the number is above {self.most}")
        return int(digits)
`,
  },
  Reverse: {
    needs: ['Text'],
    source: `

class _Reverse(_Text):
    """A text backwards, character by character or with a separator part by part."""

    def __init__(self, separator):
        self.separator = separator

    def _turn(self, value):
        return self.separator.join(reversed(value.split(self.separator))) if self.separator else value[::-1]

    def encode(self, value):
        _require_type(value, str, "a text")
        return super().encode(self._turn(value))

    def decode(self, data):
        return self._turn(super().decode(data))
`,
  },
};
