/** `rowan codegen`: what is written, what is left out, and what is refused. `npm run test:toolchain` compiles and runs it. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import {
  Column,
  Columns,
  Entity,
  index,
  part,
  recordType,
  rowKey,
  salt,
  Versions,
} from '../../decorators/index.js';
import { javaSource } from '../../src/cli/codegen/java.js';
import { codecModel, entityModels } from '../../src/cli/codegen/model.js';
import { pythonSource } from '../../src/cli/codegen/python.js';
import * as codecs from '../../src/codec/index.js';
import { BaseCodec, kiji, phoenix, raw, uint32 } from '../../src/key/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import type { EntityClass } from '../../src/schema/index.js';
import { run } from './run.js';

const { enumeration, text } = codecs;
const table = (name: string) => ({ name, families: { d: {} } });

@Entity({ table: table('shop'), recordType: 2 })
class Order {
  static readonly key = rowKey(salt(8, ['customer']), part('customer'), recordType(), part('no', uint32));
  customer!: string;
  no!: number;
  @Column('d:s', enumeration({ open: 1, shipped: 2 })) status!: 'open' | 'shipped';
  @Columns('d:l.', { key: uint32, value: text }) lines!: Map<number, string>;
}

function models(...targets: EntityClass[]) {
  const schema = compileSchema(targets);
  return entityModels(schema, schema.entities);
}

const java = (...targets: EntityClass[]) =>
  javaSource(models(...targets), { className: 'Shop', packageName: 'com.shop' });

test('Java: a class with key, columns, and methods for each number of leading parts', () => {
  const source = java(Order);
  expect(source).toContain('package com.shop;');
  expect(source).toContain(`    private static final Rowan.Key KEY = new Rowan.Key(
        new Rowan.Salt(8, null, new int[][] {{1, 1}}, false),
        new Rowan.Field<>("customer", new Rowan.Text(), Rowan.Ending.ESCAPED, -1, false),
        new Rowan.Constant(Rowan.hex("02")),
        new Rowan.Field<>("no", new Rowan.LongNumber(4, 0L, 4294967295L, 0), Rowan.Ending.LENGTH, 4, false));

    public String customer;
    public Long no;
    public String status;
    public Map<Long, String> lines;
`);
  expect(source).toContain('public static byte[] encodeKey(String customer, Long no) {');
  expect(source.match(/List<Rowan\.KeyRange> keyRanges\([^)]*\)/g)).toEqual([
    'List<Rowan.KeyRange> keyRanges()',
    'List<Rowan.KeyRange> keyRanges(String customer)',
    'List<Rowan.KeyRange> keyRanges(String customer, Long no)',
  ]);
});

test('Python: a dataclass with key, columns and cells', () => {
  const source = pythonSource(models(Order));
  expect(source).toContain(`    _KEY: ClassVar[_Key] = _Key(
        _Salt([bytes([salt]) for salt in range(8)], [(1, 1)], False),
        _Field("customer", _Text(), "escaped", -1, False),
        _Constant(bytes.fromhex("02")),
        _Field("no", _Number(4, 0, 4294967295, 0), "length", 4, False),
    )
`);
  expect(source).toContain('    def encode_key(cls, customer: str, no: int) -> bytes:');
  expect(source).toContain('    lines: Dict[int, str] = field(default_factory=dict)');
});

test('a file has the codecs and steps that its entities use, and no others', () => {
  @Entity({ table: table('notes') })
  class Note {
    static readonly key = rowKey('id');
    id!: string;
    @Column('d:t', text) title!: string;
  }
  const classes = /^ {4}static final class (\w+) extends (?:Codec|Step)\b/gm;
  const found = [...java(Note).matchAll(classes)].map(([, name]) => name);
  expect(found).toEqual(['Constant', 'Text']);
  expect(java(Note)).not.toMatch(/murmur3|MessageDigest|BigInteger;$/m);
  expect(
    [...pythonSource(models(Note)).matchAll(/^class (_\w+)\(Codec\)/gm)].map(([, name]) => name),
  ).toEqual(['_Text']);
  expect(java(Order)).toContain('static final class Salt extends Step');
});

test('every codec of the package has a model', () => {
  const all: readonly unknown[] = [codecs, raw, phoenix, kiji].flatMap((group) => Object.values(group));
  const known = all.filter((codec) => codec instanceof BaseCodec) as BaseCodec<unknown>[];
  expect(known.length).toBeGreaterThan(40);
  expect(known.filter(({ name }) => codecModel(name) === undefined)).toEqual([]);
  expect(codecModel('geohash(7)')).toEqual({ kind: 'geohash', digits: 7 });
  expect(codecModel('enumeration("a"=300,"b;2"=1;2)')).toEqual({
    kind: 'names',
    size: 2,
    ids: [
      ['a', 300],
      ['b;2', 1],
    ],
  });
});

test('rows that Rowan writes with more than cells have no encodeCells, and the class says why', () => {
  @Entity({ table: table('people') })
  class Person {
    static readonly key = rowKey('id');
    static readonly indexes = { byName: index('name') };
    id!: string;
    @Column('d:n', text) name!: string;
    @Versions('d:h', text) history!: { value: string; timestamp: number }[];
  }
  expect(java(Person)).toContain(
    'Without encodeCells: Rowan writes its indexes, writes its histories when it writes such a row.',
  );
  expect(java(Person)).not.toContain(' encodeCells()');
  expect(pythonSource(models(Person))).not.toContain('def encode_cells');
  expect(java(Order)).toContain(' encodeCells()');
  expect(pythonSource(models(Order))).toContain('def encode_cells');
});

test('names that mean something in the languages get "_"', () => {
  @Entity({ table: table('lists'), name: 'List' })
  class Named {
    static readonly key = rowKey('from');
    from!: string;
    @Column('d:n', text) package!: string;
    @Column('d:k', text) decode!: string;
  }
  expect(java(Named)).toContain('public static final class List_ {');
  expect(java(Named)).toContain('public String package_;');
  expect(java(Named)).toContain('public String decode;');
  expect(pythonSource(models(Named))).toMatch(
    /class List_:.*from_: Optional\[str\].*decode_: Optional\[str\]/s,
  );
});

test('what no other program can read is refused, each property by name', () => {
  const rot13 = { ...text, name: 'text', ordered: true, encode: text.encode, decode: text.decode };
  @Entity({ table: table('own') })
  class Own {
    static readonly key = rowKey('id');
    id!: string;
    @Column('d:a', rot13) secret!: string;
    @Column('d:b', text) $cost!: string;
    @Column('d:c', text, { was: ['d:old'] }) moved!: string;
  }
  expect(() => models(Own)).toThrowError(
    /Entity "Own", property "secret": its codec "text" is the program's own.*property "\$cost": its name has characters.*property "moved": its values may stand in former places/,
  );
});

const MODULE = fileURLToPath(new URL('../../build/test/fixtures/stores/entities.js', import.meta.url));

test('the command prints, or writes a file whose name is that of the class', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rowan-codegen-'));
  try {
    const out = join(folder, 'Crm.java');
    expect(await run('codegen', 'java', MODULE, '--entity', 'Visit', '--out', out)).toEqual({
      code: 0,
      out: '',
      err: '',
    });
    const source = readFileSync(out, 'utf8');
    expect(source).toContain('public final class Crm {');
    expect(source).toContain('class Visit {');
    expect(source).not.toContain('class Account {');
  } finally {
    rmSync(folder, { recursive: true });
  }
  const python = await run('codegen', 'python', MODULE);
  expect(python.out).toMatch(/class Account:.*class Doc:.*class Visit:/s);
  expect(await run('codegen', 'java', MODULE, '--class', 'a-b')).toMatchObject({
    code: 1,
    err: expect.stringContaining('--class: "a-b" is no name of a class in Java'),
  });
  expect(await run('codegen', 'java', MODULE, '--package', 'com.new')).toMatchObject({
    code: 1,
    err: expect.stringContaining('--package: "com.new" is no name of a package in Java'),
  });
  expect((await run('codegen', 'java', MODULE, '--entity', 'None')).err).toContain('no entity "None"');
});
