import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { SchemaView } from '../../src/cli/commands/shell.js';
import { loadSchema } from '../../src/cli/load-entities.js';
import { runCli } from '../../src/cli/program.js';
import { open } from '../../src/database.js';
import { runTyped, ShellSession, Terminal } from '../../src/shell/index.js';
import { openEmbedded } from '../../src/store/engine.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { Note } from './fixtures/entities.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rowan-shell-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function script(text: string, ...options: string[]): Promise<{ code: number; out: string }> {
  const file = join(folder, 'script.rb');
  await writeFile(file, text);
  let out = '';
  const write = (part: string): void => {
    out += part;
  };
  const code = await runCli(['shell', join(folder, 'store'), file, '--create', ...options], {
    write,
    writeError: write,
  });
  return { code, out: out.replace(/Took [\d.]+/g, 'Took N') };
}

const linesOf = (out: string, kind: RegExp): string[] => out.split('\n').filter((line) => kind.test(line));

test('a script runs statement by statement, each behind its prompt, and goes on behind errors', async () => {
  const { code, out } = await script(
    "create 't',\n  'f'\nscan 'nope'\nput 't', 'r', 'f:q', 'v', 1\ncount 't'\n",
  );
  expect(code).toBe(0);
  expect(out).toBe(
    "hbase:001:0> create 't',\nhbase:002:1*   'f'\nCreated table t\nTook N seconds\n=> Hbase::Table - t\n" +
      "hbase:003:0> scan 'nope'\nROW  COLUMN+CELL\n\nERROR: Unknown table nope!\n\nFor usage try 'help \"scan\"'\n\n" +
      "Took N seconds\nhbase:004:0> put 't', 'r', 'f:q', 'v', 1\nTook N seconds\n" +
      "hbase:005:0> count 't'\n1 row(s)\nTook N seconds\n=> 1\n",
  );
});

test('it ends with the code of exit, and with -n at the first error', async () => {
  expect((await script("exit 3\nputs 'no'\n")).code).toBe(3);
  const failed = await script("scan 'nope'\nputs 'no'\n", '-n');
  expect(failed.code).toBe(1);
  expect(failed.out).not.toContain('no\n');
  expect(await script("puts 'a'\nfoo(\n", '-n')).toMatchObject({
    code: 1,
    out: expect.stringContaining('SyntaxError (The statement is incomplete.'),
  });
});

test('statements of many lines are read once, whole or without an end', async () => {
  const items = Array.from({ length: 3000 }, (_, i) => `  [${i}, 'v'],`);
  const blocks = Array.from({ length: 500 }, (_, i) => [
    `  if n == ${i}`,
    `    puts "n is ${i}"`,
    '  end',
  ]).flat();
  const whole = [
    'x = [',
    ...items,
    ']',
    'puts x.length',
    'n = 7',
    'begin',
    ...blocks,
    'end',
    "puts 'behind'",
  ];
  const { code, out } = await script(
    `${whole.join('\n')}\nif true\n${"put 't', 'r', 'f:q', 'v'\n".repeat(3000)}`,
  );
  expect(code).toBe(0);
  expect(out).toMatch(/\n3000\n.*\nn is 7\n.*\nbehind\n/s);
  expect(out).toContain('SyntaxError (The statement is incomplete. "end" is missing.)');
});

test('blocks, loops and words behind statements are taken for what they are', async () => {
  const { out } = await script(
    [
      'i = 0',
      'while i < 2 do',
      '  i += 1',
      'end',
      "puts 'a'",
      "puts 'b' if i == 2",
      'x = if i == 2',
      "  'c'",
      'end',
      'puts x',
      '[1].each do |n|',
      '  for m in [n] do',
      '    puts({ 1 => "d" }[m])',
      '  end',
      'end',
      "puts 'e", // A string of two lines.
      "if'",
      'begin',
      "  puts 'f'",
      'end if i == 2',
      "puts 'g'",
    ].join('\n'),
  );
  expect(linesOf(out, /^(?:[a-g]|if)$/)).toEqual(['a', 'b', 'c', 'd', 'e', 'if', 'f', 'g']);
});

test('a line that ends with a backslash goes on on the next', async () => {
  const { out } = await script(
    [
      "puts 'a' \\",
      "  + 'b'",
      "puts 'c' \\\r",
      '  if true',
      "puts 'd' # no more \\",
      "puts 'e'",
      'if true',
      "  puts 'f' \\",
      '    unless false',
      'end',
      "puts 'g' \\",
    ].join('\n'),
  );
  expect(linesOf(out, /^[a-g]+$/)).toEqual(['ab', 'c', 'd', 'e', 'f']);
  expect(out).toContain('SyntaxError (The line ends with "\\", but no line follows.)');
});

test('begin … end while runs once at least', async () => {
  const { out } = await script(
    'i = 5\nbegin\n  puts "i is #{i}"\n  i += 1\nend while i < 5\nputs "behind"\n',
  );
  expect(linesOf(out, /^(?:i is|behind)/)).toEqual(['i is 5', 'behind']);
});

test('a block ends with the command that fails in it, where errors end everything', async () => {
  const { out } = await script("3.times { |i| puts i; scan 'nope' }\n", '-n');
  expect(out).toContain('0\n');
  expect(out).not.toContain('\n1\n');
});

test('lines that are typed are completed, and an open statement waits for more', async () => {
  const engine = await openEmbedded('/s', { fileSystem: new MemoryFileSystem() });
  const input = new PassThrough();
  let out = '';
  const write = (text: string): void => {
    out += text;
  };
  const terminal = new Terminal({ input, output: new PassThrough(), isTerminal: false });
  const session = new ShellSession({
    engine,
    version: '1',
    io: { write, ask: () => terminal.ask(), width: () => 40 },
  });
  input.end(
    "create 't',\n'f'\nput 't', 'a-rather-long-row', 'f:q', 'x', 1\nscan 't'\nx = 1\ndrop_all 't'\nn\nexit 4\n",
  );
  expect(await runTyped(session, terminal, write, false)).toEqual({ code: 4 });
  terminal.close();
  expect(out.replace(/ +$/gm, '')).toContain(
    'ROW         COLUMN+CELL\n a-rather-l column=f:q, timestamp=1970-0\n ong-row    1-01T',
  );
  expect(out).toContain('Drop the above 1 tables (y/n)?\nTook');
  expect(session.completions('STOP')).toEqual(['STOPROW']);
  expect(session.completions('trunc')).toEqual(['truncate', 'truncate_preserve']);
  expect(session.completions('x')).toEqual(['x']);
  expect(await engine.admin.tableExists('t')).toBe(true);
  await engine.close();
});

test('lines through a pipe are read once, however long the statement is', async () => {
  const lines = 300;
  const input = new PassThrough();
  let out = '';
  const write = (text: string): void => {
    out += text;
  };
  const terminal = new Terminal({ input, output: new PassThrough(), isTerminal: false });
  const session = new ShellSession({
    engine: await openEmbedded('/s', { fileSystem: new MemoryFileSystem() }),
    version: '1',
    io: { write, ask: () => terminal.ask(), width: () => 0 },
  });
  const read = vi.spyOn(session as unknown as { run(text: string): Promise<boolean> }, 'run');
  input.end(
    ['x = [', ...Array.from({ length: lines }, (_, i) => `  [${i}, 'v'],`), ']', 'puts x.length', ''].join(
      '\n',
    ),
  );
  expect(await runTyped(session, terminal, write, false)).toEqual({ code: 0 });
  terminal.close();
  expect(out).toContain(`${lines}\n`);
  expect(read).toHaveBeenCalledTimes(2);
});

test('with entities rows are told, and keys taken, by their parts', async () => {
  const schema = await loadSchema(
    fileURLToPath(new URL('../../build/test/cli/fixtures/entities.js', import.meta.url)),
  );
  const db = await open({ path: '/s', entities: [Note], fileSystem: new MemoryFileSystem() });
  await db.repository(Note).put(Object.assign(new Note(), { id: 'n1', text: 'Ada' }));
  let out = '';
  const session = new ShellSession({
    engine: db.engine,
    version: '1',
    entities: new SchemaView(schema),
    io: {
      write: (text) => {
        out += text;
      },
      ask: async () => undefined,
      width: () => 0,
    },
  });
  await session.script(
    "get 'notes', {id: 'n1'}\nscan 'notes', {KEY => {id: 'n1'}}\ncount 'notes', KEY => {'id' => 'n2'}\n" +
      "get 'notes', {idd: 'n1'}\n",
  );
  expect(out.match(/# Note \{ id: 'n1', text: 'Ada' \}/g)).toHaveLength(2);
  expect(out).toContain('0 row(s)');
  expect(out).toContain('ERROR: No key of table notes has the parts idd. Its keys are: Note { id }.');
  await db.close();
});
