/** Pairs by their keys, combined while they come. */

import { encodeJobKey, type JobKey, keyOfName, nameOfKey } from './ordered-key.js';

/** Makes one value of those of a key so far. */
export type Combine = (key: JobKey, values: readonly unknown[]) => unknown;

/** Values of one key that are kept before they are combined. */
const KEPT_VALUES = 256;

/** The values of one key. */
class Group {
  values: unknown[];

  constructor(
    readonly key: JobKey,
    value: unknown,
  ) {
    this.values = [value];
  }
}

export class PairGroups {
  /** Values that are kept. */
  pairs = 0;
  /** Most keys are texts or whole numbers: they are encoded once, at the end, and not for each pair. */
  private plain = new Map<string | number, Group>();
  /** Others by the names of what they are encoded to. */
  private named = new Map<string, Group>();

  constructor(private readonly combine: Combine | undefined) {}

  /** @throws InvalidArgumentError for what is no key; what `combine` throws. */
  emit(key: JobKey, value: unknown): void {
    // Of texts that are not well formed, and zeros of both signs, several keys have the same bytes.
    if (typeof key === 'string' ? isWellFormed(key) : Number.isSafeInteger(key) && key !== 0) {
      const known = this.plain.get(key as string | number);
      if (known === undefined) this.plain.set(key as string | number, new Group(key, value));
      else this.add(known, value);
      this.pairs++;
    } else this.emitNamed(nameOfKey(key), value);
  }

  /** Emits a pair whose key has this name. */
  emitNamed(name: string, value: unknown): void {
    const known = this.named.get(name);
    if (known === undefined) this.named.set(name, new Group(keyOfName(name), value));
    else this.add(known, value);
    this.pairs++;
  }

  private add(group: Group, value: unknown): void {
    group.values.push(value);
    if (this.combine !== undefined && group.values.length >= KEPT_VALUES) this.combineGroup(group);
  }

  private combineGroup(group: Group): void {
    const { values } = group;
    if (this.combine === undefined || values.length < 2) return;
    group.values = [this.combine(group.key, values)];
    this.pairs -= values.length - 1;
  }

  /** Makes one value of those of each key. */
  combineAll(): void {
    if (this.combine === undefined) return;
    for (const groups of [this.plain, this.named])
      for (const group of groups.values()) this.combineGroup(group);
  }

  /** All groups, by encoded keys, each once; none is left. */
  *take(): Generator<readonly [key: Uint8Array, values: readonly unknown[]]> {
    const { plain, named } = this;
    this.plain = new Map();
    this.named = new Map();
    this.pairs = 0;
    for (const { key, values } of plain.values()) {
      const bytes = encodeJobKey(key);
      // A key that came named too is one group with it.
      const name = named.size === 0 ? '' : latin1(bytes);
      const other = named.size === 0 ? undefined : named.get(name);
      if (other !== undefined) named.delete(name);
      yield [bytes, other === undefined ? values : [...values, ...other.values]];
    }
    for (const [name, { values }] of named) yield [Buffer.from(name, 'latin1'), values];
  }
}

const latin1 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');

function isWellFormed(text: string): boolean {
  return (text as string & { isWellFormed(): boolean }).isWellFormed();
}
