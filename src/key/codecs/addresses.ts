/** Codecs of network addresses: texts in code, the address's own bytes in keys and cells, in the order of the addresses. */

import { RowanError } from '../../errors.js';
import { describe } from '../../table/checks.js';
import { BaseCodec, badBytes, badValue, type KeyWriter, type ScalarCodec, wrongLength } from './base.js';

const V4 = 4;
const V6 = 16;
/** The bytes before an IPv4 address in its IPv4-mapped IPv6 address (RFC 4291, 2.5.5.2). */
const MAPPED = Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff);
/** The bits of `MAPPED`. */
const MAPPED_BITS = 96;

const IPV4_TEXT = 'four decimal numbers from 0 to 255 without leading zeros, "192.0.2.1"';
const IPV6_TEXT =
  'written as RFC 5952 says, "2001:db8::1": lower case, no leading zeros, the longest run of zeros as "::"';

/** The four bytes of a dotted address; undefined for any other text. */
function parseV4(text: string): Uint8Array | undefined {
  const numbers = text.split('.');
  if (numbers.length !== V4) return undefined;
  const out = new Uint8Array(V4);
  for (let i = 0; i < V4; i++) {
    const digits = numbers[i]!;
    if (!/^(?:0|[1-9][0-9]{0,2})$/.test(digits) || Number(digits) > 255) return undefined;
    out[i] = Number(digits);
  }
  return out;
}

function formatV4(bytes: Uint8Array, start: number): string {
  return `${bytes[start]}.${bytes[start + 1]}.${bytes[start + 2]}.${bytes[start + 3]}`;
}

function isMapped(bytes: Uint8Array, start: number): boolean {
  return MAPPED.every((byte, i) => bytes[start + i] === byte);
}

/** The groups of a part of an address on one side of "::"; undefined where one is no hexadecimal number of 16 bits. */
function groupsOf(text: string): number[] | undefined {
  if (text === '') return [];
  const groups = text.split(':');
  if (groups.some((group) => !/^[0-9a-f]{1,4}$/.test(group))) return undefined;
  return groups.map((group) => Number.parseInt(group, 16));
}

/** The 16 bytes of a canonical address; undefined for any other text, other spellings included. */
function parseV6(text: string): Uint8Array | undefined {
  if (text.length > 39) return undefined;
  const mapped = text.startsWith('::ffff:') && text.includes('.') ? parseV4(text.slice(7)) : undefined;
  const out = new Uint8Array(V6);
  if (mapped !== undefined) {
    out.set(MAPPED);
    out.set(mapped, MAPPED.length);
    return out;
  }
  const sides = text.split('::');
  const head = groupsOf(sides[0]!);
  const tail = sides.length === 2 ? groupsOf(sides[1]!) : [];
  if (sides.length > 2 || head === undefined || tail === undefined) return undefined;
  const count = head.length + tail.length;
  if (sides.length === 1 ? count !== 8 : count > 6) return undefined;
  const groups = [...head, ...new Array<number>(8 - count).fill(0), ...tail];
  for (const [i, group] of groups.entries()) {
    out[2 * i] = group >> 8;
    out[2 * i + 1] = group & 0xff;
  }
  return formatV6(out, 0) === text ? out : undefined;
}

/** RFC 5952, section 4 and 5: of several longest runs of zeros the first is shortened; one zero is not. */
function formatV6(bytes: Uint8Array, start: number): string {
  if (isMapped(bytes, start)) return `::ffff:${formatV4(bytes, start + MAPPED.length)}`;
  const groups = Array.from(
    { length: 8 },
    (_, i) => (bytes[start + 2 * i]! << 8) | bytes[start + 2 * i + 1]!,
  );
  let from = 0;
  let length = 1;
  for (let i = 0; i < 8; i++) {
    let end = i;
    while (end < 8 && groups[end] === 0) end++;
    if (end - i > length) [from, length] = [i, end - i];
  }
  const hex = (some: readonly number[]): string => some.map((group) => group.toString(16)).join(':');
  if (length === 1) return hex(groups);
  return `${hex(groups.slice(0, from))}::${hex(groups.slice(from + length))}`;
}

class Ipv4Codec extends BaseCodec<string> {
  readonly name = 'ipv4';
  readonly fixedLength = V4;

  write(value: string, out: KeyWriter): void {
    const bytes = typeof value === 'string' ? parseV4(value) : undefined;
    if (bytes === undefined) throw badValue(this.name, value, IPV4_TEXT);
    out.append(bytes);
  }

  read(bytes: Uint8Array, start: number, end: number): string {
    if (end - start !== V4) throw wrongLength(this, bytes, start, end);
    return formatV4(bytes, start);
  }
}

/** An IPv4 address, "192.0.2.1" in code: 4 bytes in the order of the addresses. */
export const ipv4: ScalarCodec<string> = new Ipv4Codec();

class Ipv6Codec extends BaseCodec<string> {
  readonly name = 'ipv6';
  readonly fixedLength = V6;

  write(value: string, out: KeyWriter): void {
    const bytes = typeof value === 'string' ? parseV6(value) : undefined;
    if (bytes === undefined) throw badValue(this.name, value, IPV6_TEXT);
    out.append(bytes);
  }

  read(bytes: Uint8Array, start: number, end: number): string {
    if (end - start !== V6) throw wrongLength(this, bytes, start, end);
    return formatV6(bytes, start);
  }
}

/**
 * An IPv6 address, "2001:db8::1" in code, as RFC 5952 writes it: 16 bytes in the order of the addresses. IPv4 addresses are
 * stored in their mapped form, "::ffff:192.0.2.1", as Node's sockets give them.
 */
export const ipv6: ScalarCodec<string> = new Ipv6Codec();

/** A network: the bytes of its lowest address, and the number of leading bits that its addresses share. */
interface Network {
  readonly address: Uint8Array;
  readonly bits: number;
}

/** Undefined where the text is no network, or its address has bits after the prefix. */
function parseNetwork(text: string): Network | undefined {
  const [, host = '', digits = ''] = /^([^/]+)\/(0|[1-9][0-9]{0,2})$/.exec(text) ?? [];
  const address = host.includes(':') ? parseV6(host) : parseV4(host);
  const bits = Number(digits);
  if (address === undefined || bits > 8 * address.length) return undefined;
  return lastBytes(address, bits, 0).every((byte, i) => byte === address[i]) ? { address, bits } : undefined;
}

/** The address with all bits after the first `bits` set to `bit`. */
function lastBytes(address: Uint8Array, bits: number, bit: 0 | 1): Uint8Array {
  return address.map((byte, i) => {
    const kept = Math.min(8, Math.max(0, bits - 8 * i));
    const rest = 0xff >> kept;
    return bit === 1 ? byte | rest : byte & ~rest;
  });
}

const CIDR_TEXT =
  'a network such as "10.0.0.0/8" or "2001:db8::/32", whose address is zero behind the prefix';

class CidrCodec extends BaseCodec<string> {
  readonly name = 'cidr';
  readonly fixedLength = V6 + 1;

  write(value: string, out: KeyWriter): void {
    const network = typeof value === 'string' ? parseNetwork(value) : undefined;
    // A mapped network of fewer bits holds addresses that are not IPv4; one of more is written as IPv4.
    const isWrongForm = network?.address.length === V6 && isMapped(network.address, 0);
    if (network === undefined || isWrongForm) throw badValue(this.name, value, CIDR_TEXT);
    const isV4 = network.address.length === V4;
    if (isV4) out.append(MAPPED);
    out.append(network.address);
    out.append(Uint8Array.of(network.bits + (isV4 ? MAPPED_BITS : 0)));
  }

  read(bytes: Uint8Array, start: number, end: number): string {
    if (end - start !== V6 + 1) throw wrongLength(this, bytes, start, end);
    const bits = bytes[end - 1]!;
    const isV4 = isMapped(bytes, start) && bits >= MAPPED_BITS;
    const address = isV4 ? formatV4(bytes, start + MAPPED.length) : formatV6(bytes, start);
    const text = `${address}/${isV4 ? bits - MAPPED_BITS : bits}`;
    if (bits > 8 * V6 || parseNetwork(text) === undefined)
      throw badBytes(this.name, bytes, start, end, 'its address and prefix do not fit together');
    return text;
  }
}

/**
 * A network, "10.0.0.0/8" or "2001:db8::/32" in code: 16 bytes of address (IPv4 in its mapped form) and one of the prefix's
 * length. The order is that of the lowest addresses, wider networks first.
 */
export const cidr: ScalarCodec<string> = new CidrCodec();

/**
 * The addresses of a network as a condition: `where({ address: cidrRange('10.0.0.0/8') })` on an `ipv4` or, with an IPv6
 * network, an `ipv6` column or key part. Both ends belong to it.
 * @throws RowanError `ERR_CODEC` when the text is no network.
 */
export function cidrRange(network: string): { readonly gte: string; readonly lte: string } {
  const found = typeof network === 'string' ? parseNetwork(network) : undefined;
  if (found === undefined) {
    throw new RowanError('ERR_CODEC', `cidrRange() takes ${CIDR_TEXT}, not ${describe(network)}.`, {
      details: { codec: 'cidr', value: network },
    });
  }
  const last = lastBytes(found.address, found.bits, 1);
  const format = found.address.length === V4 ? formatV4 : formatV6;
  return { gte: format(found.address, 0), lte: format(last, 0) };
}
