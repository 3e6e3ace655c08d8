/** Comparators and operators of filters (HBase `filter/*Comparator`, `CompareFilter`). */

import { compareBytes, compareSlices, toHex } from '../../bytes/index.js';
import { InvalidArgumentError } from '../../errors.js';
import type { Comparator, CompareOperator } from '../../table/index.js';

/** Compares bytes with a value; the result is that of the value against the bytes. */
abstract class BytesComparator {
  abstract compare(bytes: Uint8Array, offset: number, length: number): number;
}

class BinaryComparator extends BytesComparator {
  constructor(private readonly value: Uint8Array) {
    super();
  }
  override compare(bytes: Uint8Array, offset: number, length: number): number {
    return compareSlices(this.value, 0, this.value.length, bytes, offset, length);
  }
}

class BinaryPrefixComparator extends BytesComparator {
  constructor(private readonly value: Uint8Array) {
    super();
  }
  override compare(bytes: Uint8Array, offset: number, length: number): number {
    const { value } = this;
    return compareSlices(value, 0, value.length, bytes, offset, Math.min(value.length, length));
  }
}

class BinaryComponentComparator extends BytesComparator {
  constructor(
    private readonly value: Uint8Array,
    private readonly offset: number,
  ) {
    super();
  }
  override compare(bytes: Uint8Array, offset: number, length: number): number {
    const { value } = this;
    const available = Math.max(0, Math.min(value.length, length - this.offset));
    return compareSlices(value, 0, value.length, bytes, offset + this.offset, available);
  }
}

class LongComparator extends BytesComparator {
  constructor(private readonly value: bigint) {
    super();
  }
  override compare(bytes: Uint8Array, offset: number, length: number): number {
    if (length !== 8) {
      throw new InvalidArgumentError(
        `A long comparator cannot compare ${length} bytes (${toHex(bytes.subarray(offset, offset + length))}); it compares ` +
          '8-byte integers. Narrow the filter to a column that holds only such values.',
      );
    }
    const found = new DataView(bytes.buffer, bytes.byteOffset + offset, 8).getBigInt64(0);
    return this.value < found ? -1 : this.value > found ? 1 : 0;
  }
}

/** Equal when any bit of the combined values is set; bytes of another length are never equal. */
class BitComparator extends BytesComparator {
  constructor(
    private readonly value: Uint8Array,
    private readonly operator: 'AND' | 'OR' | 'XOR',
  ) {
    super();
  }
  override compare(bytes: Uint8Array, offset: number, length: number): number {
    const { value, operator } = this;
    if (length !== value.length) return 1;
    for (let i = 0; i < length; i++) {
      const a = value[i]!;
      const b = bytes[offset + i]!;
      const bits = operator === 'AND' ? a & b : operator === 'OR' ? a | b : a ^ b;
      if (bits !== 0) return 0;
    }
    return 1;
  }
}

/** Every cell has bytes, so no cell equals null. */
class NullComparator extends BytesComparator {
  override compare(): number {
    return 1;
  }
}

class RegexComparator extends BytesComparator {
  private readonly pattern: RegExp;
  constructor(pattern: string, flags: string) {
    super();
    this.pattern = new RegExp(pattern, flags);
  }
  override compare(bytes: Uint8Array, offset: number, length: number): number {
    return this.pattern.test(textOf(bytes, offset, length)) ? 0 : 1;
  }
}

class SubstringComparator extends BytesComparator {
  constructor(private readonly value: string) {
    super();
  }
  override compare(bytes: Uint8Array, offset: number, length: number): number {
    return textOf(bytes, offset, length).toLowerCase().includes(this.value) ? 0 : 1;
  }
}

function textOf(bytes: Uint8Array, offset: number, length: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + offset, length).toString('utf8');
}

function bytesComparator(comparator: Comparator): BytesComparator {
  switch (comparator.kind) {
    case 'binary':
      return new BinaryComparator(comparator.value);
    case 'binaryPrefix':
      return new BinaryPrefixComparator(comparator.value);
    case 'binaryComponent':
      return new BinaryComponentComparator(comparator.value, comparator.offset);
    case 'long':
      return new LongComparator(comparator.value);
    case 'bit':
      return new BitComparator(comparator.value, comparator.operator);
    case 'null':
      return new NullComparator();
    case 'regex':
      return new RegexComparator(comparator.pattern, comparator.flags);
    case 'substring':
      return new SubstringComparator(comparator.value);
  }
}

/** An operator and a comparator. */
export class Comparison {
  private readonly comparator: BytesComparator;

  constructor(
    private readonly operator: CompareOperator,
    comparator: Comparator,
  ) {
    this.comparator = bytesComparator(comparator);
  }

  /** `bytes operator value`; false for NO_OP. */
  holds(bytes: Uint8Array, offset: number, length: number): boolean {
    if (this.operator === 'NO_OP') return false;
    const order = this.comparator.compare(bytes, offset, length);
    switch (this.operator) {
      case 'LESS':
        return order > 0;
      case 'LESS_OR_EQUAL':
        return order >= 0;
      case 'EQUAL':
        return order === 0;
      case 'NOT_EQUAL':
        return order !== 0;
      case 'GREATER_OR_EQUAL':
        return order <= 0;
      case 'GREATER':
        return order < 0;
    }
  }
}

/** The column that a filter tests. */
export class FilterColumn {
  constructor(
    readonly family: string,
    readonly qualifier: Uint8Array,
  ) {}

  /** Whether a cell of `family` with this qualifier is in the column. */
  matches(family: string, key: Uint8Array, offset: number, length: number): boolean {
    const { qualifier } = this;
    if (length !== qualifier.length || family !== this.family) return false;
    for (let i = 0; i < length; i++) if (key[offset + i] !== qualifier[i]) return false;
    return true;
  }

  matchesQualifier(family: string, qualifier: Uint8Array): boolean {
    return family === this.family && compareBytes(qualifier, this.qualifier) === 0;
  }
}
