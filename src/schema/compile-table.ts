/** The declarations of one table and its entities -> its descriptor and split points. */

import type { Presplit, TableDeclaration } from '../../decorators/index.js';
import { toBytes } from '../bytes/index.js';
import type { KeyLayout, SplitOptions } from '../key/index.js';
import { type TableDescriptor, tableDescriptor } from '../table/index.js';
import { checkMarks } from './changes.js';
import type { CompiledEntity } from './compile-entity.js';
import type { Problems } from './problems.js';

export interface CompiledTable {
  readonly descriptor: TableDescriptor;
  readonly declaration: TableDeclaration;
  readonly entities: readonly CompiledEntity[];
  readonly splitKeys: readonly Uint8Array[];
  /** What breaks no rule, but is hardly meant. */
  readonly warnings: readonly string[];
}

export function compileTable(
  entities: readonly CompiledEntity[],
  problems: Problems,
): CompiledTable | undefined {
  const declaration = entities[0]!.source.table;
  const name = `Table "${declaration.name}"`;
  for (const { source } of entities) {
    if (source.table !== declaration) {
      problems.add(
        source.name,
        undefined,
        `${name} is declared twice, by different classes.`,
        'Let all of its entities name the same one.',
      );
    }
  }
  checkRecordTypes(name, entities, problems);
  checkApart(name, entities, problems);
  const { name: tableName, families, presplit, ...options } = declaration;
  const descriptor = problems.catching(name, '', () => tableDescriptor(tableName, families ?? {}, options));
  if (descriptor !== undefined) checkMarks(descriptor, entities, problems);
  const splitKeys = problems.catching(name, '', () => splitKeysOf(presplit, entities, name, problems));
  return (
    descriptor && {
      descriptor,
      declaration,
      entities,
      splitKeys: splitKeys ?? [],
      warnings: fewRegions(name, presplit, splitKeys?.length ?? 0),
    }
  );
}

function checkRecordTypes(table: string, entities: readonly CompiledEntity[], problems: Problems): void {
  const taken = new Map<number, string>();
  for (const { source } of entities) {
    const { recordType } = source.declaration;
    if (recordType === undefined) {
      if (entities.length === 1) continue;
      problems.add(
        source.name,
        undefined,
        `${table} holds ${entities.length} entities, and this one has no record type to tell its rows by.`,
        'Write @Entity({ recordType: <0..255> }) and put recordType() into @RowKey.',
      );
      continue;
    }
    const other = taken.get(recordType);
    if (other !== undefined) {
      problems.add(
        source.name,
        undefined,
        `Its record type ${recordType} is also that of ${other} in ${table}.`,
        'Give each entity of a table a number of its own, and never change it.',
      );
    }
    taken.set(recordType, source.name);
  }
}

/** A scan of one entity must not take rows of another for its own. */
function checkApart(table: string, entities: readonly CompiledEntity[], problems: Problems): void {
  entities.forEach(({ source, key }, i) => {
    // Without a record type, or with one that is taken, the problem has been said.
    if (key?.recordType === undefined) return;
    const other = entities
      .slice(0, i)
      .find((before) => before.key?.recordType !== undefined && isConfusable(before.key, key));
    if (other === undefined) return;
    problems.add(
      source.name,
      undefined,
      `Rows of it and of ${other.source.name} in ${table} can be taken for one another: what stands before their record types differs ` +
        `(${other.key!.signature}; ${key.signature}), so one's record type stands where the other has a value.`,
      'Put recordType() first, or behind parts with the same codecs in both (or last, in both).',
    );
  });
}

function isConfusable(one: KeyLayout, other: KeyLayout): boolean {
  return one.recordType !== other.recordType && !one.isApartFrom(other);
}

function splitKeysOf(
  presplit: TableDeclaration['presplit'],
  entities: readonly CompiledEntity[],
  table: string,
  problems: Problems,
): readonly Uint8Array[] {
  if (presplit === undefined) return [];
  if ('splits' in presplit) {
    const keys = presplit.splits.map(toBytes);
    const wrong = keys.findIndex(
      (key, i) => key.length === 0 || (i > 0 && Buffer.compare(keys[i - 1]!, key) >= 0),
    );
    if (wrong >= 0) {
      problems.add(
        table,
        undefined,
        `The split key at ${wrong} is empty or does not rise above the one before it.`,
        'Give them in strictly increasing byte order.',
      );
    }
    return keys;
  }
  const { regions } = presplit;
  if (!Number.isInteger(regions) || regions < 1 || regions > 10_000) {
    problems.add(table, undefined, `presplit.regions is ${regions}.`, 'Give a whole number from 1 to 10000.');
    return [];
  }
  for (const { key } of entities) {
    const points = key?.splitPoints(regions, splitOptionsOf(presplit, key)) ?? [];
    if (points.length > 0) return points;
  }
  return [];
}

/** Samples given as objects are keys of the first entity whose layout is asked. */
function splitOptionsOf(presplit: Exclude<Presplit, { splits: unknown }>, key: KeyLayout): SplitOptions {
  if ('algorithm' in presplit) return { algorithm: presplit.algorithm };
  if ('between' in presplit) return { between: presplit.between };
  if (!('samples' in presplit)) return {};
  return {
    samples: presplit.samples.map((sample) => (sample instanceof Uint8Array ? sample : key.encode(sample))),
  };
}

/** What to do where the keys tell fewer regions than were asked for. */
function fewRegions(name: string, presplit: TableDeclaration['presplit'], splits: number): string[] {
  if (presplit === undefined || 'splits' in presplit || splits + 1 >= presplit.regions) return [];
  return [
    `${name} is to begin with ${presplit.regions} regions, but its keys tell ${splits + 1}. ` +
      'Begin the key with salt() or hash(), or tell presplit more: { regions, samples }, { regions, between } or { regions, algorithm }.',
  ];
}
