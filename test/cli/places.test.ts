import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openEmbedded } from '../../src/store/engine.js';
import { run } from './run.js';

const fixture = (name: string): string =>
  fileURLToPath(new URL(`../../build/test/cli/fixtures/${name}.js`, import.meta.url));
const ENTITIES = fixture('entities');

/** Command lines that read or change the store at PLACE, beside an existing STORE and a FILE. */
const COMMAND_LINES = [
  ['store', 'stats', 'PLACE'],
  ['store', 'verify', 'PLACE'],
  ['store', 'compact', 'PLACE'],
  ['store', 'keys', 'PLACE'],
  ['store', 'repair', 'PLACE'],
  ['store', 'repair', '--clock', 'PLACE'],
  ['store', 'backup', 'PLACE', 'OUT'],
  ['store', 'dump-wal', 'PLACE'],
  ['count', 'PLACE', 't'],
  ['cells', 'PLACE', 't'],
  ['export', 'PLACE', 't', 'OUT'],
  ['import', 'PLACE', 'OUT'],
  ['copy', 'PLACE', 't', 'STORE', 't'],
  ['copy', 'STORE', 't', 'PLACE', 't'],
  ['hash', 'PLACE', 't', 'OUT'],
  ['verify', 'PLACE', 't', 'STORE', 't'],
  ['sync', 'STORE', 't', 'PLACE', 't'],
  ['backup', 'PLACE', 'OUT'],
  ['importtsv', 'PLACE', 't', 'FILE', '--columns', 'HBASE_ROW_KEY,d:x'],
  ['bulkload', 'PLACE', 't', 'FILE', '--format', 'tsv', '--folder', 'OUT', '--columns', 'HBASE_ROW_KEY,d:x'],
  ['shell', 'PLACE', 'FILE'],
  ['introspect', 'PLACE', 't'],
  ['top', 'PLACE'],
  ['serve', 'PLACE'],
  ['studio', 'PLACE'],
  ['studio', 'PLACE', ENTITIES],
  ['mcp', 'PLACE'],
  ['mcp', 'PLACE', ENTITIES],
  ['schema', 'diff', ENTITIES, 'PLACE'],
  ['schema', 'plan', ENTITIES, 'PLACE'],
  ['schema', 'apply', ENTITIES, 'PLACE'],
  ['schema', 'history', 'PLACE'],
  ['migrate', 'status', ENTITIES, 'PLACE'],
  ['migrate', 'deploy', ENTITIES, 'PLACE'],
  ['migrate', 'undo', ENTITIES, 'PLACE'],
  ['entities', 'export', 'PLACE', ENTITIES, 'Customer', 'OUT'],
  ['job', 'run', 'PLACE', fixture('job')],
  ['index', 'list', fixture('indexed'), 'PLACE'],
  ['rekey', 'status', fixture('rekeyed'), 'PLACE', 'Old', 'New'],
];

/** Also with the module before the place, or after it: either order is taken. */
const BOTH_ORDERS = COMMAND_LINES.flatMap((line) => {
  const place = line.indexOf('PLACE');
  const module = line.findIndex((arg) => arg.includes('/fixtures/'));
  if (module < 0) return [line];
  const other = [...line];
  [other[place], other[module]] = [line[module]!, 'PLACE'];
  return [line, other];
});

let folder: string;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rowan-'));
  await (await openEmbedded(join(folder, 'STORE'))).close();
  mkdirSync(join(folder, 'empty'));
  writeFileSync(join(folder, 'FILE'), 'a\tb\n');
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

test.each(BOTH_ORDERS.map((args) => [args.map((arg) => arg.split('/').at(-1)).join(' '), args] as const))(
  'a folder without a store: rowan %s',
  async (_, line) => {
    for (const name of ['missing', 'empty']) {
      const place = join(folder, name);
      const args = line.map((arg) =>
        arg === 'PLACE' ? place : ['STORE', 'FILE', 'OUT'].includes(arg) ? join(folder, arg) : arg,
      );
      const { code, err } = await run(...args);
      expect(err).toMatch(/^rowan: ERR_NOT_A_STORE: There is no store in "[^"]*"\. [A-Z]/);
      expect([code, err.includes(`"${place}"`)]).toEqual([1, true]);
      expect([existsSync(join(folder, 'missing')), readdirSync(join(folder, 'empty'))]).toEqual([false, []]);
    }
  },
);
