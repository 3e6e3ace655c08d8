import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseCsvLine } from '../../examples/flights/data.js';
import { scaled } from '../proof/scale.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rowan-examples-'));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs an example as the build left it, in a folder of its own. */
function run(example: string, ...args: string[]): Promise<{ code: number | null; out: string; err: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [join(root, 'build/examples', example), ...args], { cwd: folder });
    let out = '';
    let err = '';
    child.stdout.on('data', (data) => {
      out += data;
    });
    child.stderr.on('data', (data) => {
      err += data;
    });
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, out, err }));
  });
}

/** The fenced blocks of a page, by language. */
function blocks(page: string, language: string): string[] {
  const text = readFileSync(join(root, page), 'utf8');
  return [...text.matchAll(/```(.*)\n([\s\S]*?)\n```/g)]
    .filter((match) => match[1] === language)
    .map((match) => match[2]!);
}

test('the README has at most 150 lines, and the two commands of a checkout', () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  expect(readme.split('\n').length).toBeLessThanOrEqual(150);
  expect(readme).toContain('npm ci && npm run quickstart');
  expect(readme).toContain('npm ci && npm test');
});

describe('the README’s example', () => {
  test('is the program in examples/crm', () => {
    const source = readFileSync(join(root, 'examples/crm/main.ts'), 'utf8').trimEnd();
    expect(blocks('README.md', 'ts')[0]).toBe(source);
  });

  test('prints what the README says', async () => {
    const { code, out, err } = await run('crm/main.js');
    expect([code, err]).toEqual([0, '']);
    expect(out.trimEnd()).toBe(blocks('README.md', 'text')[0]);
  });
});

describe('the quickstart', () => {
  const [quickstart = ''] = blocks('docs/quickstart.md', 'text');
  /** Times, rates and sizes differ from run to run. */
  const steady = (text: string): string =>
    text
      .replace(/in [\d.]+ s, \d+ a second/, 'in … s')
      .replace(/((?:SNAPPY|NONE) +\d+ +\d+ +)\d+/g, '$1…')
      .trimEnd();

  test('prints what its page shows, with a progress bar beside it', async () => {
    const { code, out, err } = await run('flights/main.js');
    expect(code).toBe(0);
    expect(err).toMatch(/100% \| 23376\/23376 entities/);
    expect(steady(out)).toBe(steady(quickstart));
  });

  test('finds the data when it is run again', async () => {
    const { code, out, err } = await run('flights/main.js');
    expect([code, err]).toEqual([0, '']);
    const [first, ...rest] = steady(out).split('\n');
    expect(first).toBe('The store .rowan/flights has the data already.');
    expect(rest).toEqual(steady(quickstart).split('\n').slice(1));
  });
});

test('the studio is shown the flights of the quickstart, as the command of `npm run studio` opens them', async () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    scripts: { studio: string };
  };
  const [build, fill, show = ''] = scripts.studio.split(' && ');
  expect([build, fill]).toEqual(['npm run build', 'node build/examples/flights/fill.js']);
  // The store is that of the test before, and it stays as it is.
  expect(await run('flights/fill.js')).toEqual({ code: 0, out: '', err: '' });
  const [, ...args] = show.replace(/(dist|build)\//g, `${root}$1/`).split(' ');
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'close');
  const url = await new Promise<string>((resolve) => {
    let out = '';
    child.stdout.setEncoding('utf8').on('data', (part: string) => {
      out += part;
      const [, printed] = /open (\S+)\n/.exec(out) ?? [];
      if (printed !== undefined) resolve(printed);
    });
  });
  const { headers } = await fetch(url, { redirect: 'manual' });
  const cookie = headers.get('set-cookie')!.split(';')[0]!;
  const answer = await fetch(new URL('/api/rows?entity=Flight&size=3', url), { headers: { cookie } });
  const { rows } = (await answer.json()) as { rows: { entity: string; problem?: string }[] };
  expect(rows.map(({ entity, problem }) => [entity, problem])).toEqual(
    Array.from({ length: 3 }, () => ['Flight', undefined]),
  );
  child.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
});

test('the four models of orders answer alike', async () => {
  const { code, out, err } = await run('order-models/main.js', scaled('3', '60', '60'));
  expect([code, err]).toEqual([0, '']);
  for (const model of ['normalized', 'record types', 'denormalized', 'Avro blob'])
    expect(out).toContain(model);
});

test('what is asked by index in the tables of music, films, shops, spending and a chat is what scans say', async () => {
  const { code, out, err } = await run('indexes/main.js', '300');
  expect([code, err]).toEqual([0, '']);
  for (const index of ['bySong', 'byTime', 'byItem', 'newest', 'byProduct', 'large', 'byEmail', 'byMember']) {
    const [, rows] = new RegExp(`${index}\\D+?(\\d+)`).exec(stripVTControlCharacters(out))!;
    expect(Number(rows), index).toBeGreaterThan(0);
  }
  expect(out).toContain('refused');
});

test('fields of CSV may be quoted and empty', () => {
  expect(parseCsvLine('35A,"Union County, Troy",SC,,"a ""b""",')).toEqual([
    '35A',
    'Union County, Troy',
    'SC',
    '',
    'a "b"',
    '',
  ]);
  expect(parseCsvLine('a')).toEqual(['a']);
  expect(parseCsvLine(',b')).toEqual(['', 'b']);
});
