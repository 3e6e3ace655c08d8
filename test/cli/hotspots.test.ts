import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { parseSamples, sampleKeys } from '../../src/cli/commands/hotspots.js';
import { runCli } from '../../src/cli/program.js';
import { compileSchema } from '../../src/mapper/index.js';
import { Log } from './fixtures/logs.js';
import { run } from './run.js';

const folder = mkdtempSync(join(tmpdir(), 'rowan-hotspots-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const module = fileURLToPath(new URL('../../build/test/cli/fixtures/logs.js', import.meta.url));

async function hotspots(entity: string, samples: string, ...more: string[]) {
  const file = join(folder, 'samples');
  writeFileSync(file, samples);
  return run('hotspots', module, entity, file, ...more);
}

const rising = Array.from({ length: 100 }, (_, n) => ({ n }));

test('prints the keys of each region of the declared splits, the figures and what to do', async () => {
  const { code, out, err } = await hotspots('Rising', JSON.stringify(rising));
  expect([code, err]).toEqual([0, '']);
  const lines = out.split('\n');
  expect(lines[0]).toBe('Rising in rising: 100 keys over 3 regions');
  expect(lines[1]).toMatch(/^ {2}\[, \\x00\\x00\\x00d\) +100 +100\.0 % {2}#{40}$/);
  expect(lines[2]).toMatch(/^ {2}\[\\x00\\x00\\x00d, \\x00\\x00\\x01\\x00\) +0 +0\.0 %$/);
  expect(lines[4]).toBe('fullest over mean 3.00, Gini 0.667, hottest 100.0 %, burst 100.0 %');
  expect(out).toMatch(/^! Region 0 .* takes 100\.0 % of the keys/m);
});

test('takes lines of JSON and prints JSON', async () => {
  const lines = Array.from({ length: 400 }, (_, i) =>
    JSON.stringify({ host: `h${i % 7}`, at: new Date(i).toISOString(), n: `${i}`, id: '\\x00a' }),
  );
  const { code, out } = await hotspots('Log', `${lines.join('\n')}\n`, '--json');
  expect(code).toBe(0);
  const report = JSON.parse(out) as { regions: { start: string; stop: string | null; keys: number }[] };
  expect(report).toMatchObject({ entity: 'Log', table: 'spread', keys: 400, findings: [] });
  expect(report.regions.map(({ start, stop }) => [start, stop])).toEqual([
    ['', '01'],
    ['01', '02'],
    ['02', '03'],
    ['03', null],
  ]);
  for (const { keys } of report.regions) expect(keys).toBeGreaterThan(60);
  expect((await hotspots('Log', lines.join('\n'), '--regions', '2')).out).toContain('over 2 regions');
});

test('makes of JSON what codecs take, and ids of the texts of dictionaries', () => {
  const layout = compileSchema([Log]).entities[0]!.key;
  const at = '2026-01-01T00:00:00.000Z';
  const samples = parseSamples(
    [
      `{"host":"b","at":"${at}","n":1,"id":"\\\\x01z"}`,
      `{"host":"a","at":"${at}","n":2,"id":"q"}`,
      '"\\\\x00row"',
    ].join('\n'),
  );
  expect(sampleKeys(layout, samples)).toEqual([
    { host: 1, at: new Date(at), n: 1n, id: Uint8Array.of(1, 0x7a) },
    { host: 2, at: new Date(at), n: 2n, id: Uint8Array.of(0x71) },
    Uint8Array.of(0, 0x72, 0x6f, 0x77),
  ]);
});

test('says what is wrong with the samples', async () => {
  expect(await hotspots('Nope', '[]')).toMatchObject({
    code: 1,
    err: expect.stringContaining('It has Log, Rising'),
  });
  expect((await hotspots('Rising', '[]')).err).toContain('at least one sample');
  expect((await hotspots('Rising', '{"n":1}\n{')).err).toContain('Line 2');
  expect((await hotspots('Rising', '[7]')).err).toContain('Sample 1 is 7');
  expect((await hotspots('Rising', '[{"n":"x"}]')).err).toMatch(/ERR_KEY.*"n"/s);
  expect(await hotspots('Rising', '[]', '--regions', '0')).toMatchObject({ code: 2 });
});

test('rowan ddl prints the tables that Avro and dictionaries need', async () => {
  let out = '';
  const write = (text: string): void => {
    out += text;
  };
  expect(await runCli(['ddl', module], { write, writeError: write })).toBe(0);
  expect([...out.matchAll(/^create '([^']+)'/gm)].map(([, name]) => name)).toEqual([
    'rising',
    'spread',
    'rowan_dictionaries',
    'rowan_schemas',
  ]);
});
