export { cidr, cidrRange, ipv4, ipv6 } from './addresses.js';
export { BaseCodec, type Framing, type KeyCodec, type ScalarCodec } from './base.js';
export { date, desc } from './desc.js';
export { boolean, bytes, fixedBytes, fixedString } from './fixed.js';
export { enumeration, ksuid, numericEnum, ulid, uuid } from './ids.js';
export { bigint, int8, int16, int32, int53, int64, uint8, uint16, uint32, uint64 } from './integers.js';
export { decimal, float, float32, float64, textNumber } from './numbers.js';
export { StoredText, text } from './text.js';
export { KeyWriter } from './writer.js';
