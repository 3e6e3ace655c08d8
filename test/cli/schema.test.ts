import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openAdmin } from '../../src/index.js';
import { tableDescriptor } from '../../src/table/index.js';
import { run } from './run.js';

const MODULE = fileURLToPath(new URL('../../build/test/cli/fixtures/entities.js', import.meta.url));
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rowan-schema-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function makeStore(): Promise<string> {
  const path = join(folder, 'store');
  await using store = await openAdmin({ path });
  await store.admin.createTable(tableDescriptor('notes', { n: { versions: 3 }, old: {} }));
  return path;
}

test('diff, plan, apply, history on an embedded store', async () => {
  const store = await makeStore();
  const diff = await run('schema', 'diff', MODULE, store);
  expect(diff.code).toBe(1);
  expect(diff.out).toContain('- drop-family:notes/old  [data-loss]');
  const plan = JSON.parse((await run('schema', 'plan', MODULE, store, '--format', 'json')).out);
  expect(plan.steps.map(({ id }: { id: string }) => id)).toEqual([
    'create-namespace:shop',
    'drop-family:notes/old',
    'versions:notes/n',
    'stamp:notes/rowan.record',
    'create-table:shop:crm',
  ]);
  const script = await run('schema', 'plan', MODULE, store, '--format', 'shell');
  expect(script.out).toMatch(
    /^# Plan [0-9a-f]{16}.*create_namespace 'shop'.*create 'shop:crm'.*# Held back/s,
  );
  const dry = await run('schema', 'apply', MODULE, store, '--dry-run');
  expect(dry.out).toContain('+ create-table:shop:crm');
  const wrong = await run('schema', 'apply', MODULE, store, '--allow', 'data-loss');
  expect([wrong.code, wrong.err]).toEqual([1, expect.stringContaining('data-loss:drop-family:notes/old')]);
  const stale = await run('schema', 'apply', MODULE, store, '--expect', '0123456789abcdef');
  expect([stale.code, stale.err]).toEqual([1, expect.stringContaining('ERR_CONFLICT')]);
  const applied = await run('schema', 'apply', MODULE, store, '--expect', plan.checksum);
  expect(applied).toMatchObject({ code: 0, err: '' });
  expect(applied.out).toContain('done create-table:shop:crm\n');
  expect(applied.out).toContain('held versions:notes/n  waits for --allow data-loss:versions:notes/n\n');
  const rest = ['--allow', 'data-loss:versions:notes/n', '--allow', 'data-loss:drop-family:notes/old'];
  expect((await run('schema', 'apply', MODULE, store, ...rest, '--format', 'json')).code).toBe(0);
  expect(await run('schema', 'diff', MODULE, store)).toMatchObject({
    code: 0,
    out: 'Tables match the declarations.\n',
  });
  const history = await run('schema', 'history', store);
  expect(history.out).toMatch(/^1 {2}\S+ {2}done {2}plan [0-9a-f]{16}.*held versions:notes\/n.*\n2 {2}/s);
  const entries = JSON.parse((await run('schema', 'history', store, '--json')).out);
  expect(entries).toMatchObject([{ intact: true }, { intact: true, held: [] }]);
});

test('check holds declarations against a snapshot in the repository', async () => {
  const file = join(folder, 'schema.json');
  expect((await run('schema', 'check', MODULE, file)).err).toContain('Write it with --snapshot');
  expect((await run('schema', 'check', MODULE, file, '--snapshot')).code).toBe(0);
  // It reads no table, so it says nothing of tables.
  const told = `The declarations are those of the snapshot ${file}. No table was read.\n`;
  expect(await run('schema', 'check', MODULE, file)).toEqual({ code: 0, out: told, err: '' });
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, text.replace('"compression": "SNAPPY"', '"compression": "GZ"'));
  const changed = await run('schema', 'check', MODULE, file);
  expect(changed.code).toBe(1);
  expect(changed.out).toContain('compression:shop:crm/d  [rewrite]\n    GZ -> SNAPPY');
  writeFileSync(file, text.replace('id:text', 'id:int32'));
  expect((await run('schema', 'check', MODULE, file)).out).toMatch(
    /! .*its row keys were written as .*Restore the key, or declare .*change the keys/,
  );
  writeFileSync(file, text.replaceAll('"notes"', '"gone"'));
  expect((await run('schema', 'check', MODULE, file)).err).toContain('"gone" is in the snapshot');
  writeFileSync(file, '{"format":3}');
  expect((await run('schema', 'check', MODULE, file)).err).toContain('its format is 3');
});

test('check fails on what the snapshot has and the declarations have not, with or without a step', async () => {
  const file = join(folder, 'schema.json');
  await run('schema', 'check', MODULE, file, '--snapshot');
  const text = readFileSync(file, 'utf8');
  type Notes = {
    readonly options: { readonly configuration: Record<string, string> };
    readonly records: Record<string, { readonly columns: object[] }>;
    entities?: { readonly Note: Record<string, object> };
  };
  const checkAs = (change: (table: Notes) => void, format = 2) => {
    const snapshot = JSON.parse(text) as { readonly tables: (Notes & { readonly name: string })[] };
    change(snapshot.tables.find(({ name }) => name === 'notes')!);
    if (format === 1) for (const table of snapshot.tables) delete table.entities;
    writeFileSync(file, JSON.stringify({ ...snapshot, format }));
    return run('schema', 'check', MODULE, file);
  };
  const column = { codec: 'text', family: 'n', kind: 'column', property: 'old', qualifier: '6f' };
  const removed = ({ records }: Notes): void => void records['rowan.record']!.columns.push(column);
  for (const format of [1, 2]) {
    const gone = await checkAs(removed, format);
    expect([format, gone.code]).toEqual([format, 1]);
    expect(gone.out).toContain('- drop-column:notes/Note/n:o  [data-loss]');
    const setting = await checkAs((notes) => {
      notes.options.configuration['hbase.x'] = '1';
    }, format);
    expect([format, setting.code]).toEqual([format, 1]);
    expect(setting.out).toContain('notes options.configuration.hbase.x: "1" no longer exists');
    const same = await checkAs(() => undefined, format);
    expect([format, same.code, same.out]).toEqual([
      format,
      0,
      `The declarations are those of the snapshot ${file}. No table was read.\n`,
    ]);
    expect(same.err.includes('without indexes')).toBe(format === 1);
  }
  const required = await checkAs((notes) => {
    notes.entities!.Note['columns'] = { text: { required: true } };
  });
  expect([required.code, required.out]).toEqual([
    1,
    expect.stringMatching(
      /^Differences from the snapshot:\n {4}notes entities\.Note\.columns\.text\.required: true no longer exists/,
    ),
  ]);
  const index = await checkAs((notes) => {
    notes.entities!.Note['indexes'] = { byText: { signature: '["Note","byText"]', unique: true } };
  });
  expect([index.code, index.out]).toEqual([1, expect.stringContaining('+ drop-index:notes/Note.byText/')]);
  expect(index.out).toContain('notes entities.Note.indexes.byText: it no longer exists');
  const asJson = await run('schema', 'check', MODULE, file, '--format', 'json');
  expect(JSON.parse(asJson.out)).toMatchObject({
    same: false,
    differences: [{ table: 'notes', path: ['entities', 'Note', 'indexes', 'byText'] }],
  });
});

test('lint prints findings, takes samples and suppressions, and ends with 1 for warnings', async () => {
  const lint = await run('lint', MODULE);
  expect(lint).toMatchObject({ code: 0, err: '' });
  expect(lint.out).toContain('hint: shop:crm/p: Its files are neither compressed nor encoded');
  expect((await run('lint', MODULE, '--strict')).code).toBe(1);
  const rows = join(folder, 'rows.ndjson');
  writeFileSync(rows, '{"id":"abcdefghijkl","text":"b"}\n{"id":"bbbbbbbbbbbbbb","text":"c"}\n');
  const sampled = await run('lint', MODULE, '--sample', `Note=${rows}`, '--json');
  const codes = JSON.parse(sampled.out).map(({ code }: { code: string }) => code);
  expect(codes).toContain('mostly-names');
  const file = join(folder, 'lint.json');
  writeFileSync(file, JSON.stringify(codes.map((code: string) => ({ code, reason: 'known' }))));
  const quiet = await run('lint', MODULE, '--sample', `Note=${rows}`, '--suppressions', file, '--strict');
  expect(quiet).toMatchObject({ code: 0, out: '' });
  expect((await run('lint', MODULE, '--sample', 'Nope=x')).err).toContain('with one of Note, Customer');
});
