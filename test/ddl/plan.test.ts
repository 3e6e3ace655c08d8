/** What each change of a schema is called, and how the HBase shell is told. */

import { describe, expect, it, test } from 'vitest';
import { defineEntity, defineTable, part } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import {
  type Allowance,
  admit,
  describePlan,
  planSchema,
  planScript,
  type SchemaPlan,
  type SchemaState,
  stampedDescriptor,
} from '../../src/ddl/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import type { TableSchema } from '../../src/schema/types.js';
import { type FamilyOptions, type TableOptions, tableDescriptor } from '../../src/table/index.js';
import { readRuby } from './ruby-reader.js';

function declared(families: Record<string, FamilyOptions>, options: TableOptions = {}): TableSchema {
  const Note = defineEntity({
    name: 'Note',
    table: defineTable({ name: 'notes', families: { d: {}, ...families }, ...options }),
    key: [part('id')],
    columns: (c) => ({ text: c.column('d:t', text) }),
  });
  return compileSchema([Note]).tables[0]!;
}

function stateOf(table: TableSchema, more: { metadata?: Record<string, string> } = {}): SchemaState {
  const { name, families, metadata, ...rest } = stampedDescriptor(table);
  const descriptor = tableDescriptor(name, families, {
    ...(rest as TableOptions),
    metadata: { ...metadata, ...more.metadata },
  });
  return {
    namespaces: new Set(['default']),
    tables: new Map([[name, { descriptor, splitKeys: table.splitKeys, enabled: true }]]),
  };
}

function plan(before: TableSchema, after: TableSchema, prune = false): SchemaPlan {
  return planSchema([after], stateOf(before), [], { prune });
}

describe('classes of steps', () => {
  const cases: [FamilyOptions, FamilyOptions, string[]][] = [
    [{ versions: 1 }, { versions: 3 }, ['versions online']],
    [{ versions: 3 }, { versions: 1 }, ['versions data-loss']],
    [{ versions: 3, minVersions: 2 }, { versions: 3 }, ['minVersions online']],
    [{ versions: 3, minVersions: 2, ttl: 60 }, { versions: 3, ttl: 60 }, ['minVersions data-loss']],
    [{}, { ttl: 60 }, ['ttl data-loss']],
    [{ ttl: 60 }, { ttl: 90 }, ['ttl meaning']],
    [{ ttl: 60 }, {}, ['ttl meaning']],
    [{ ttl: 60 }, { ttl: 'FOREVER' }, ['ttl meaning']],
    [{}, { ttl: 'FOREVER', versions: 1, blockSize: 65536 }, []],
    [{}, { keepDeletedCells: 'TRUE' }, ['keepDeletedCells meaning']],
    [{ keepDeletedCells: 'TRUE' }, { keepDeletedCells: 'TTL' }, ['keepDeletedCells data-loss']],
    [{}, { newVersionBehavior: true }, ['newVersionBehavior meaning']],
    [{}, { replicationScope: 1 }, ['replicationScope meaning']],
    [
      {},
      { compression: 'GZ', bloomFilter: 'NONE' },
      ['compression rewrite', 'bloomFilter rewrite', 'compact rewrite'],
    ],
    [{}, { inMemory: true, blockCache: false }, ['blockCache online', 'inMemory online']],
    [{}, { configuration: { 'hbase.x': '1' } }, ['configuration.hbase.x online']],
  ];
  test.each(cases)('%j -> %j', (before, after, expected) => {
    const { steps } = plan(declared({ d: before }), declared({ d: after }));
    expect(steps.map(({ option, kind, class: what }) => `${option ?? kind} ${what}`)).toEqual(expected);
  });

  const tables: [TableOptions, TableOptions, string[]][] = [
    [{}, { durability: 'SKIP_WAL' }, ['durability meaning']],
    [{ durability: 'SKIP_WAL' }, { durability: 'SYNC_WAL' }, ['durability online']],
    [{}, { regionReplication: 2 }, ['regionReplication offline']],
    [{}, { readOnly: true, maxFileSize: 2 << 20 }, ['maxFileSize online', 'readOnly meaning']],
  ];
  test.each(tables)('table %j -> %j', (before, after, expected) => {
    const { steps } = plan(declared({}, before), declared({}, after));
    expect(steps.map(({ option, class: what }) => `${option} ${what}`)).toEqual(expected);
  });

  test('families come and go; settings that are not declared are unmanaged until they are pruned', () => {
    const before = declared({ old: {} }, { configuration: { 'hbase.x': '1' }, metadata: { owner: 'me' } });
    const found = plan(before, declared({ more: {} }));
    expect(found.steps.map(({ id, class: what }) => [id, what])).toEqual([
      ['add-family:notes/more', 'online'],
      ['drop-family:notes/old', 'data-loss'],
    ]);
    expect(found.unmanaged.map(({ name }) => name)).toEqual(['configuration.hbase.x', 'metadata.owner']);
    const pruned = plan(before, declared({ old: {} }), true);
    expect(pruned.steps.map(({ id }) => id)).toEqual(['configuration.hbase.x:notes', 'metadata.owner:notes']);
    expect(pruned.unmanaged).toEqual([]);
  });

  test('what the server keeps in the metadata is neither told nor pruned', () => {
    const table = declared({});
    const state = stateOf(table, { metadata: { NORMALIZATION_ENABLED: 'true', coprocessor$1: '|x.Y|1|' } });
    expect(planSchema([table], state, [], { prune: true })).toMatchObject({ steps: [], unmanaged: [] });
  });
});

describe('what is allowed', () => {
  const losing = plan(declared({ d: { versions: 3 }, old: {} }), declared({ d: { ttl: 60 } }));

  it('nothing is lost unless the step is named', () => {
    expect(admit(losing, []).admitted).toEqual([]);
    expect(admit(losing, ['meaning', 'offline']).admitted).toEqual([]);
    const { admitted, held } = admit(losing, ['data-loss:drop-family:notes/old']);
    expect(admitted.map(({ id }) => id)).toEqual(['drop-family:notes/old']);
    expect(held.map(({ id }) => id)).toEqual(['versions:notes/d', 'ttl:notes/d']);
  });

  it.each([
    'data-loss',
    'data-loss:',
    'data-loss:all',
    'data-loss:drop-family:notes/olf',
    'online',
    '',
    7,
    null,
  ])('refuses %j, and says what can be', (what) => {
    expect(() => admit(losing, [what as Allowance])).toThrow(/data-loss:drop-family:notes\/old/);
  });

  it('the text says what each step waits for', () => {
    expect(describePlan(losing)).toContain(`- drop-family:notes/old  [data-loss]
    The family is not declared; dropping it deletes all of its cells.
    Waits for --allow data-loss:drop-family:notes/old`);
    expect(describePlan(losing)).toContain('    FOREVER -> 60\n');
    expect(describePlan(plan(declared({ d: { ttl: 60 } }), declared({})))).toContain('    60 -> FOREVER\n');
    expect(describePlan(plan(declared({}), declared({})))).toBe('Tables match the declarations.\n');
  });
});

describe('the script for the HBase shell', () => {
  const scriptOf = (before: TableSchema, after: TableSchema, prune = false): string => {
    const found = plan(before, after, prune);
    const losses = found.steps.filter((step) => step.class === 'data-loss');
    return planScript(found, ['meaning', 'offline', ...losses.map(({ id }): Allowance => `data-loss:${id}`)]);
  };

  it('lowers MIN_VERSIONS in a statement before VERSIONS', () => {
    const script = scriptOf(
      declared({ d: { versions: 5, minVersions: 3 } }),
      declared({ d: { versions: 2 } }),
    );
    expect(script.split('\n').slice(1)).toEqual([
      "alter 'notes', {NAME => 'd', MIN_VERSIONS => 0}",
      "alter 'notes',",
      "  {NAME => 'd', VERSIONS => 2}",
      '',
    ]);
  });

  it('writes defaults out, unsets settings, disables for what is offline, and compacts last', () => {
    const script = scriptOf(
      declared(
        { d: { compression: 'GZ', configuration: { 'hbase.a': '1' } }, old: {} },
        {
          maxFileSize: 2 << 20,
          regionReplication: 2,
          configuration: { 'hbase.x': '1' },
          metadata: { own: '1' },
        },
      ),
      declared({ more: { ttl: 'FOREVER' } }),
      true,
    );
    expect(readRuby(script.replace(/^#.*\n/gm, '').replace('nil', "'nil'")).map(({ name }) => name)).toEqual([
      'disable',
      'alter',
      'enable',
      'major_compact',
    ]);
    for (const part of [
      "{NAME => 'old', METHOD => 'delete'}",
      "{NAME => 'd', COMPRESSION => 'NONE', CONFIGURATION => {'hbase.a' => nil}}",
      "{METHOD => 'table_att_unset', NAME => 'MAX_FILESIZE'}",
      'REGION_REPLICATION => ',
      "{METHOD => 'table_conf_unset', NAME => 'hbase.x'}",
      "{METHOD => 'table_att_unset', NAME => 'own'}",
      "{NAME => 'more', VERSIONS => 1,",
      "TTL => 'FOREVER'",
    ]) {
      expect(script).toContain(part);
    }
  });

  it('keeps what is held back as comments, whatever is in it', () => {
    const before = declared({ d: { metadata: { note: 'a\nmajor_compact "x"' } }, old: {} });
    const script = planScript(plan(before, declared({}), true));
    expect(script).toContain('# Held back: drop-family:notes/old');
    for (const line of script.split('\n'))
      expect(line).toMatch(/^(#|$|alter 'notes',| {2}\{NAME => 'd', METADATA)/);
  });
});
