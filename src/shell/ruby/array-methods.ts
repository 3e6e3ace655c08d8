/** The methods of arrays, and of what is gone through as one. */

import { equals, type RubyProc, type RubyValue, toS, truthy } from './values.js';

/** Undefined for arguments that the method does not take. */
export type Method = (
  args: readonly RubyValue[],
  block: RubyProc | undefined,
) => RubyValue | undefined | Promise<RubyValue | undefined>;

export function arrayMethod(items: RubyValue[], name: string): Method | undefined {
  return plainArrayMethod(items, name) ?? blockArrayMethod(items, name);
}

function plainArrayMethod(items: RubyValue[], name: string): Method | undefined {
  switch (name) {
    case 'length':
    case 'size':
      return () => BigInt(items.length);
    case 'count':
      return (args, block) => (args.length === 0 && block === undefined ? BigInt(items.length) : undefined);
    case 'empty?':
      return () => items.length === 0;
    case 'first':
    case 'last':
      return ([count]) => {
        if (typeof count === 'bigint')
          return name === 'first'
            ? items.slice(0, Number(count))
            : items.slice(-Number(count) || items.length);
        return (name === 'first' ? items[0] : items.at(-1)) ?? null;
      };
    case '[]':
      return ([index]) => (typeof index === 'bigint' ? (items.at(Number(index)) ?? null) : undefined);
    case '[]=':
      return ([index, value]) => {
        if (typeof index !== 'bigint' || value === undefined || index < 0n || index > BigInt(items.length))
          return undefined;
        items[Number(index)] = value;
        return value;
      };
    case 'push':
    case 'append':
      return (args) => {
        items.push(...args);
        return items;
      };
    case 'join':
      return ([by]) => items.map(toS).join(by === undefined ? '' : toS(by));
    case 'include?':
      return ([wanted]) => (wanted === undefined ? undefined : items.some((item) => equals(item, wanted)));
    case 'reverse':
      return () => [...items].reverse();
    case 'flatten':
      return () => flatten(items);
    case 'compact':
      return () => items.filter((item) => item !== null);
    case 'uniq':
      return () => items.filter((item, index) => items.findIndex((other) => equals(item, other)) === index);
    case 'sort':
      return (_, block) => (block === undefined ? [...items].sort(order) : undefined);
    case 'min':
    case 'max':
      return () => [...items].sort(order).at(name === 'min' ? 0 : -1) ?? null;
    case 'to_a':
      return () => items;
    default:
      return undefined;
  }
}

function order(a: RubyValue, b: RubyValue): number {
  if (typeof a === 'string' && typeof b === 'string') return a < b ? -1 : a > b ? 1 : 0;
  return Number(a) - Number(b);
}

function blockArrayMethod(items: readonly RubyValue[], name: string): Method | undefined {
  const withBlock = (use: (block: RubyProc) => Promise<RubyValue>): Method => {
    return (_, block) => (block === undefined ? undefined : use(block));
  };
  const kept = (wanted: boolean): Method =>
    withBlock(async (block) => {
      const found: RubyValue[] = [];
      for (const item of items) if (truthy(await block.run([item])) === wanted) found.push(item);
      return found;
    });
  switch (name) {
    case 'each':
      return withBlock(async (block) => {
        for (const item of items) await block.run([item]);
        return [...items];
      });
    case 'each_with_index':
      return withBlock(async (block) => {
        for (const [index, item] of items.entries()) await block.run([item, BigInt(index)]);
        return [...items];
      });
    case 'map':
    case 'collect':
      return withBlock(async (block) => {
        const found: RubyValue[] = [];
        for (const item of items) found.push(await block.run([item]));
        return found;
      });
    case 'select':
    case 'filter':
      return kept(true);
    case 'reject':
      return kept(false);
    case 'any?':
      return (_, block) => (block === undefined ? items.some(truthy) : someOf(items, block));
    default:
      return undefined;
  }
}

async function someOf(items: readonly RubyValue[], block: RubyProc): Promise<boolean> {
  for (const item of items) if (truthy(await block.run([item]))) return true;
  return false;
}

function flatten(items: readonly RubyValue[]): RubyValue[] {
  return items.flatMap((item) => (Array.isArray(item) ? flatten(item) : [item]));
}
