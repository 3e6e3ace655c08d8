/**
 * The classes of `rowan codegen`: compiled by javac, and run by java and python3 against bytes that Rowan made of random
 * entities. Each must read the same values, make the same keys, cells and ranges, and refuse what is none of its rows.
 */

import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { defineEntity, defineTable, part, recordType, salt, timeBucket } from '../../decorators/index.js';
import { toHex } from '../../src/bytes/index.js';
import { javaSource } from '../../src/cli/codegen/java.js';
import { type CodecModel, type EntityModel, entityModels } from '../../src/cli/codegen/model.js';
import { propertiesOf } from '../../src/cli/codegen/pieces.js';
import { pythonSource } from '../../src/cli/codegen/python.js';
import type { ValueCodec } from '../../src/codec/index.js';
import { avro } from '../../src/codec/index.js';
import {
  date,
  desc,
  float64,
  type KeyElement,
  type KeyLayout,
  text,
  uint8,
  uint32,
} from '../../src/key/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import type { EntityClass, EntitySchema } from '../../src/schema/index.js';
import { Cell, CellType, Put, Result } from '../../src/table/index.js';
import { entities as arbitraryOf } from '../../src/testing/fast-check.js';
import { CACHE, HERE, ROOT } from './builds.js';
import { ARBITRARIES, KEYS, RESTS, SCALARS, VALUES } from './codegen/entities.js';
import type { Consumer } from './consumers.js';

const FOLDER = join(CACHE, 'codegen');
const SOURCES = join(HERE, 'codegen');
/** Random entities of each class with a codec in its key, and of the classes with many columns. */
const ROWS = { keys: 25, columns: 400 };

const table = (name: string) =>
  defineTable({ name: `codegen:${name}`, families: { d: { versions: 9 }, m: {} } });

interface Subject {
  readonly schema: EntitySchema;
  readonly arbitrary: fc.Arbitrary<object>;
  readonly rows: number;
}

type Columns = Readonly<Record<string, ValueCodec<never>>>;

/** A class with these elements in its key and these codecs in its columns. */
function keyed(
  name: string,
  key: readonly KeyElement[],
  columns: Columns = {},
  recordType?: number,
): EntityClass {
  return defineEntity({
    name,
    table: table(name.toLowerCase()),
    ...(recordType === undefined ? {} : { recordType }),
    key: key as never,
    columns: (c) =>
      Object.fromEntries(
        Object.entries({ ...columns, note: text }).map(([property, codec], at) => [
          property,
          c.column(`d:${at}`, codec as never),
        ]),
      ),
  }) as unknown as EntityClass;
}

function subject(
  target: EntityClass,
  rows: number,
  more: Readonly<Record<string, fc.Arbitrary<unknown>>> = {},
): Subject {
  const schema = compileSchema([target]).entities[0]!;
  const overrides: Record<string, fc.Arbitrary<unknown>> = {};
  for (const { name, codec } of schema.key.parts) {
    const known = ARBITRARIES[codec.name.replace(/^desc\((.*)\)$/, '$1')];
    if (known !== undefined) overrides[name] = known;
  }
  for (const { property, path, kind, codec } of schema.columns) {
    const known = ARBITRARIES[codec.name];
    if (kind === 'column' && path.length === 1 && known !== undefined) overrides[property] = known;
  }
  return { schema, rows, arbitrary: arbitraryOf(target as never, { ...overrides, ...more } as never) };
}

function subjects(): Subject[] {
  const first = part('n', uint8);
  const whole = SCALARS.flatMap((codec, at) => [
    keyed(`Front${at}`, [part('a', codec), first]),
    keyed(`FrontDescending${at}`, [part('a', desc(codec)), first]),
    keyed(`Last${at}`, [first, part('a', codec)]),
    keyed(`LastDescending${at}`, [first, part('a', desc(codec))]),
  ]);
  const rests = RESTS.map((codec, at) => keyed(`Rest${at}`, [first, part('a', codec)]));
  const elements = KEYS.map(({ name, elements: listed, type, stored, of }) =>
    subject(keyed(name, listed, stored as Columns, type), 2 * ROWS.keys, of),
  );
  const codecs = [...SCALARS, ...RESTS, ...VALUES] as readonly ValueCodec<never>[];
  const named = Object.fromEntries(
    codecs.map((codec, at) => [codec.name === 'json' ? 'json' : `c${at}`, codec]),
  );
  return [
    ...[...whole, ...rests].map((target) => subject(target, ROWS.keys)),
    ...elements,
    subject(keyed('Values', [part('id')], named), ROWS.columns),
    kinds(),
    histories(),
  ];
}

/** Counters, Maps, histories, packed columns, embedded objects, and names that mean something in the languages. */
function kinds(): Subject {
  const target = defineEntity({
    name: 'List',
    table: table('kinds'),
    key: [part('id'), timeBucket('at', '1h', { unit: 's' })],
    columns: (c) => ({
      class: c.column('d:c', text).optional(),
      from: c.counter('d:f'),
      TABLE: c.columns('d:t.', { key: uint32, value: text }),
      decode: c.columns('m:', { key: text, value: float64 }),
      points: c.packed('d:p', { part: 'at', value: float64 }),
      address: c.embedded('d', (a) => ({ city: a.column('city', text), since: a.column('since', date) }), {
        prefix: 'a.',
      }),
      body: c.avro('d:b', avro.record('Body', { title: avro.string })).optional(),
    }),
  }) as unknown as EntityClass;
  const hour = fc.integer({ min: 0, max: 400_000 });
  const base = subject(target, ROWS.columns, {
    at: hour.map((at) => new Date(at * 3_600_000 + 1234)),
    from: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    body: fc.record({ title: fc.string() }, { noNullPrototype: true }),
    address: fc.record({ city: fc.string(), since: ARBITRARIES['date']! }, { noNullPrototype: true }),
    points: fc.constant(new Map()),
  });
  const points = fc.uniqueArray(
    fc.tuple(
      fc.nat(3599),
      fc.double({ noNaN: true }).map((value) => value + 0),
    ),
    {
      selector: ([second]) => second,
      maxLength: 6,
    },
  );
  const arbitrary = fc.tuple(base.arbitrary, points).map(([entity, listed]) => {
    const start = Math.floor((entity as { at: Date }).at.getTime() / 3_600_000) * 3_600_000;
    return { ...entity, points: new Map(listed.map(([second, value]) => [start + second * 1000, value])) };
  });
  return { ...base, arbitrary };
}

function histories(): Subject {
  const target = defineEntity({
    name: 'History',
    table: table('histories'),
    key: [part('id')],
    columns: (c) => ({ history: c.versions('d:h', text) }),
  }) as unknown as EntityClass;
  const version = fc.record({ timestamp: fc.nat(1e9), value: fc.string() }, { noNullPrototype: true });
  const history = fc.uniqueArray(version, { selector: ({ timestamp }) => timestamp, maxLength: 5 });
  return subject(target, ROWS.keys, { history });
}

/** A row as Rowan writes it, and what the answer to it must be. */
interface Case {
  readonly model: EntityModel;
  readonly schema: EntitySchema;
  readonly row: Uint8Array;
  readonly cells: readonly Cell[];
  readonly values: readonly Shown[];
  readonly ranges: readonly (string | undefined)[];
}

/** A property as the answers show it; JSON is shown by each language in its own way. */
type Shown = string | { readonly json: unknown; readonly bytes: Uint8Array };

const TIME = 1000;

function casesOf({ schema, arbitrary, rows }: Subject, model: EntityModel, seed: number): Case[] {
  return fc.sample(arbitrary, { numRuns: rows, seed }).flatMap((entity) => {
    const values = entity as Readonly<Record<string, unknown>>;
    let row: Uint8Array;
    try {
      row = schema.mapper.rowOf(values);
    } catch (error) {
      if (/empty, which no table accepts/.test((error as Error).message)) return [];
      throw error;
    }
    const puts = schema.mapper.toMutations(values, row, TIME).filter((mutation) => mutation instanceof Put);
    const cells = puts
      .flatMap(({ cells: written }) => written)
      .map(
        ({ family, qualifier, timestamp, value }) =>
          new Cell(row, family, qualifier, timestamp, CellType.Put, value),
      )
      .sort(
        (x, y) =>
          Buffer.compare(Buffer.from(x.family), Buffer.from(y.family)) ||
          Buffer.compare(x.qualifier, y.qualifier) ||
          y.timestamp - x.timestamp,
      );
    const read = schema.mapper.fromResult(new Result(row, cells)) as Readonly<Record<string, unknown>>;
    const shown = propertiesOf(model).map(({ name, column }) => {
      const path = schema.columns.find(({ path: steps }) => steps.join('_') === name)?.path ?? [name];
      const value = path.reduce<unknown>(
        (inner, step) => (inner as Record<string, unknown> | undefined)?.[step],
        read,
      );
      if (column?.codec.kind === 'json') {
        return { json: value, bytes: schema.columnsByProperty.get(name)!.codec.encode(value) };
      }
      if (column?.codec.kind === 'avro' && value !== undefined) {
        return `b${toHex(schema.columnsByProperty.get(name)!.codec.encode(value))}`;
      }
      return shownProperty(value, model, name);
    });
    return [{ model, schema, row, cells, values: shown, ranges: rangesOf(schema.key, read) }];
  });
}

function shownProperty(value: unknown, model: EntityModel, name: string): string {
  const column = model.columns.find((each) => each.name === name);
  if (column?.kind === 'versions') {
    const versions = value as readonly { value: unknown; timestamp: number }[];
    return `{${versions.map((version) => `n${version.timestamp}>${shownValue(version.value, column.codec)}`).join(' ')}}`;
  }
  if (column?.kind === 'columns') {
    const key = (one: unknown) =>
      column.window === undefined ? shownValue(one, column.keyCodec!) : `i${one as number}`;
    const entries = [...(value as ReadonlyMap<unknown, unknown>)];
    return `{${entries.map(([one, inner]) => `${key(one)}>${shownValue(inner, column.codec)}`).join(' ')}}`;
  }
  const codec = column?.codec ?? model.parts.find((each) => each.name === name)!.codec;
  return shownValue(value, codec);
}

function shownValue(value: unknown, codec: CodecModel): string {
  if (value === undefined || value === null) return '-';
  if (value instanceof Date) return `i${value.getTime()}`;
  if (value instanceof Uint8Array) return `b${toHex(value)}`;
  if (typeof value === 'boolean') return String(value);
  const { kind } = codec.kind === 'desc' ? codec.inner : codec;
  if (kind === 'double' || kind === 'single') {
    const bytes = Buffer.alloc(8);
    bytes.writeDoubleBE(value as number);
    return `d${bytes.toString('hex')}`;
  }
  if (typeof value === 'string' && kind !== 'decimal' && kind !== 'rawDecimal') {
    return `s${Buffer.from(value).toString('hex')}`;
  }
  return `n${String(value)}`;
}

/** The ranges of equality on the first part, the first two, ...; undefined where Rowan reads the whole table. */
function rangesOf(layout: KeyLayout, read: Readonly<Record<string, unknown>>): (string | undefined)[] {
  return layout.parts.map((_, last) => {
    const known = layout.parts.slice(0, last + 1);
    const { kind, ranges } = layout.plan(
      Object.fromEntries(known.map(({ name }) => [name, { kind: 'eq', value: read[name] }])),
    );
    if (kind === 'full') return undefined;
    return ranges
      .map(({ start, stop }) => `${toHex(start)}-${stop === undefined ? '' : toHex(stop)}`)
      .join(',');
  });
}

const cellText = ({ family, qualifier, value }: Cell, time = ''): string =>
  `${family}:${toHex(qualifier)}:${time}${toHex(value)}`;

/** A row with a byte changed, and without its last byte: rows of another layout, or another value of this one. */
function othersOf(row: Uint8Array, at: number): readonly Uint8Array[] {
  const changed = Uint8Array.from(row);
  changed[at % row.length]! ^= 1 << (at % 8);
  return [changed, row.subarray(0, -1)];
}

/** What is wrong with an answer, or undefined. */
function wrongIn(one: Case, answer: string): string | undefined {
  const [row, cells, properties, ranges, matches] = answer.split('\t');
  const { model, schema } = one;
  if (properties === undefined) return answer;
  const given = properties.split(';').map((text) => text.slice(text.indexOf('=') + 1));
  for (const [at, wanted] of one.values.entries()) {
    if (!isShown(given[at], wanted)) {
      return `${propertiesOf(model)[at]!.name} is ${given[at]}, not ${JSON.stringify(wanted)}`;
    }
  }
  const isRandom = !schema.key.deterministic;
  const wantedRow = toHex(one.row);
  if (isRandom ? row!.slice(2) !== wantedRow.slice(2) : row !== wantedRow)
    return `the key is ${row}, not ${wantedRow}`;
  const wantedCells = model.writtenBy === undefined ? one.cells : [];
  const json = new Set(
    model.columns.filter(({ codec }) => codec.kind === 'json').map(({ qualifier }) => toHex(qualifier)),
  );
  const listed = cells === '' ? [] : cells!.split(',');
  const wrong = wantedCells.findIndex(
    (cell, at) => !json.has(toHex(cell.qualifier)) && listed[at] !== cellText(cell),
  );
  if (wrong >= 0 || listed.length !== wantedCells.length) {
    return `the cells are ${cells}, not ${wantedCells.map((cell) => cellText(cell)).join(',')}`;
  }
  const found = ranges!.split(';');
  const wrongRange = one.ranges.findIndex((range, at) => range !== undefined && range !== found[at]);
  if (wrongRange >= 0)
    return `the ranges of ${wrongRange + 1} parts are ${found[wrongRange]}, not ${one.ranges[wrongRange]}`;
  return matches === 'true' ? undefined : 'matchesKey is false';
}

function isShown(given: string | undefined, wanted: Shown): boolean {
  if (typeof wanted === 'string') return given === wanted;
  const shown = Buffer.from(given!.slice(1), 'hex');
  return given!.startsWith('j')
    ? isDeepStrictEqual(JSON.parse(shown.toString()), wanted.json)
    : Buffer.compare(shown, wanted.bytes) === 0;
}

interface Language {
  readonly name: string;
  readonly command: string;
  /** Writes the generated file and makes the command that reads rows. */
  readonly prepare: (models: readonly EntityModel[]) => readonly string[];
}

const JAVA: Language = {
  name: 'java',
  command: 'javac',
  prepare(models) {
    writeFileSync(
      join(FOLDER, 'Entities.java'),
      javaSource(models, { className: 'Entities', packageName: undefined }),
    );
    const files = [join(FOLDER, 'Entities.java'), join(SOURCES, 'Check.java')];
    execFileSync('javac', [
      '--release',
      '8',
      '-Xlint:all,-options',
      '-Werror',
      '-encoding',
      'US-ASCII',
      '-d',
      FOLDER,
      ...files,
    ]);
    return ['java', '-cp', FOLDER, 'Check'];
  },
};

const PYTHON: Language = {
  name: 'python',
  command: 'python3',
  prepare(models) {
    writeFileSync(join(FOLDER, 'entities.py'), pythonSource(models));
    cpSync(join(SOURCES, 'check.py'), join(FOLDER, 'check.py'));
    return ['python3', join(FOLDER, 'check.py')];
  },
};

interface Rows {
  readonly seed: number;
  readonly models: readonly EntityModel[];
  readonly cases: readonly Case[];
  /** Rows of which only is asked whether they are rows of the entity. */
  readonly others: readonly {
    readonly model: EntityModel;
    readonly row: Uint8Array;
    readonly matches: boolean;
  }[];
  /** What the programs read: a line for each case, and for each other row. */
  readonly input: string;
}

let made: Rows | undefined;

/** The same rows for each language. */
function rows(): Rows {
  made ??= makeRows(Number(process.env['ROWAN_SEED'] ?? Date.now() % 2 ** 31));
  return made;
}

function makeRows(seed: number): Rows {
  const all = subjects();
  const models = all.map(({ schema }) => {
    const compiled = compileSchema([schema.target]);
    return entityModels(compiled, compiled.entities)[0]!;
  });
  const cases = all.flatMap((each, at) => casesOf(each, models[at]!, seed));
  const lines = cases.map(({ model, row, cells }) => {
    const listed = cells.map((cell) => cellText(cell, `${cell.timestamp}:`));
    return `${CLASS_NAMES[model.name] ?? model.name}\t${toHex(row)}\t${listed.join(',')}\n`;
  });
  const others = cases.flatMap(({ model, schema, row }, at) =>
    othersOf(row, at).map((other) => ({ model, row: other, matches: schema.key.matches(other) })),
  );
  const asked = others.map(({ model, row }) => `${CLASS_NAMES[model.name] ?? model.name}\t${toHex(row)}\n`);
  return { seed, models, cases, others, input: [...lines, ...asked].join('') };
}

function check({ name, command, prepare }: Language): string | undefined {
  if (spawnSync(command, ['--version']).error !== undefined) {
    return `${command} is not on the PATH. Install a JDK of version 17 or later, and Python 3.8 or later.`;
  }
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  const { seed, models, cases, others, input } = rows();
  const [program, ...args] = prepare(models);
  const { stdout, stderr } = spawnSync(program!, args, { input, encoding: 'utf8', maxBuffer: 2 ** 30 });
  const answers = stdout.trimEnd().split('\n');
  console.log(`     ${cases.length} rows, ${others.length} others, ${models.length} classes in ${name}`);
  if (answers.length !== cases.length + others.length)
    return `it ended after ${answers.length} answers: ${stderr}`;
  const wrong = cases.flatMap((one, at) => {
    const problem = wrongIn(one, answers[at]!);
    return problem === undefined
      ? []
      : [`${one.model.name} (${one.model.signature}) ${toHex(one.row)}: ${problem}`];
  });
  for (const [at, { model, row, matches }] of others.entries()) {
    const given = answers[cases.length + at]!;
    if (given !== String(matches))
      wrong.push(`${model.name} (${model.signature}) ${toHex(row)}: matches is ${given}`);
  }
  if (wrong.length === 0) return undefined;
  return `${wrong.length} rows differ with ROWAN_SEED=${seed}:\n${wrong.slice(0, 20).join('\n')}`;
}

/** The classes of entities whose name the file itself needs. */
const CLASS_NAMES: Readonly<Record<string, string>> = { List: 'List_' };

/** The Python program of docs/codegen.md, on rows of its entity and of another record type in place of a server. */
function checkPage(): string | undefined {
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  const target = keyed(
    'Order',
    [salt(8, ['customerId']), part('customerId'), recordType(), part('no', uint8)],
    {},
    2,
  );
  const schema = compileSchema([target]);
  writeFileSync(join(FOLDER, 'shop.py'), pythonSource(entityModels(schema, schema.entities)));
  const page = readFileSync(join(ROOT, 'docs/codegen.md'), 'utf8');
  const program = /<!-- python: orders -->\n```python\n([^`]*)```/.exec(page)![1]!;
  const { key } = schema.entities[0]!;
  const rows = [1, 2].map((no) => toHex(key.encode({ customerId: 'c1', no })));
  const stub = `
class Table:
    rows = [bytes.fromhex(row) for row in ${JSON.stringify([...rows, toHex(key.encode({ customerId: 'c2', no: 3 }))])}]

    def scan(self, row_start, row_stop):
        return [(row, {b"d:_": b"\\x01", b"d:0": b"n"}) for row in self.rows if row_start <= row < (row_stop or b"\\xff")]

print([(order.customerId, order.no, order.note) for order in orders_of(Table(), "c1")])
`;
  writeFileSync(join(FOLDER, 'page.py'), program + stub);
  const { stdout, stderr } = spawnSync('python3', [join(FOLDER, 'page.py')], { encoding: 'utf8' });
  const wanted = "[('c1', 1, 'n'), ('c1', 2, 'n')]\n";
  return stdout === wanted ? undefined : `other than ${wanted}${stdout}${stderr}`;
}

export const CODEGEN: readonly Consumer[] = [
  ...[JAVA, PYTHON].map((language) => ({
    name: `the classes of rowan codegen ${language.name} read and write what Rowan does`,
    check: () => Promise.resolve(check(language)),
  })),
  { name: 'the Python program of docs/codegen.md', check: () => Promise.resolve(checkPage()) },
];
