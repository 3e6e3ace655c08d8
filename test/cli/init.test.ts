/** `rowan init`: what it writes. That its projects compile and pass their tests is held by `npm run test:toolchain`. */

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCli } from '../../src/cli/program.js';
import { openAdmin } from '../../src/index.js';
import { run } from './run.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rowan-init-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

test.each(['embedded', 'hbase'])('a project on %s is made', async (engine) => {
  const project = join(folder, `My App (${engine})`);
  const made = await run('init', project, '--engine', engine);
  expect(made).toMatchObject({ code: 0, err: '' });
  expect(made.out).toContain('src/task.ts\n');
  expect(JSON.parse(readFileSync(join(project, 'package.json'), 'utf8'))).toMatchObject({
    name: `my-app-${engine}`,
    scripts: { test: 'npm run build && node --test dist/task.test.js' },
  });
});

test('on a terminal it asks for what is not given', async () => {
  const questions: string[] = [];
  const asked = async (replies: string[], ...args: string[]): Promise<number> =>
    runCli(['init', ...args], {
      write: () => {},
      writeError: (text) => questions.push(text),
      ask: async (question) => {
        questions.push(question);
        return replies.shift()!;
      },
    });
  const project = join(folder, 'asked');
  expect(await asked([project, ' hbase ', ''])).toBe(0);
  expect(questions).toEqual([
    'Folder of the project (.): ',
    'Engine: embedded or hbase (embedded): ',
    'Name of the package (asked): ',
  ]);
  expect(readFileSync(join(project, 'src/database.ts'), 'utf8')).toContain('connect({ masters');
  expect(await asked(['sql'], join(folder, 'other'))).toBe(1);
  expect(questions.at(-1)).toContain('There is no engine "sql". Nothing was written');
  questions.length = 0;
  expect(await asked([], join(folder, 'all'), '--engine', 'embedded', '--name', 'all')).toBe(0);
  expect(await asked([], join(folder, 'yes'), '--yes')).toBe(0);
  expect(questions).toEqual([]);
});

test('nothing is written where a file of it is already', async () => {
  const project = join(folder, 'taken');
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), '{}');
  const refused = await run('init', project);
  expect(refused.code).toBe(1);
  expect(refused.err).toMatch(/has package\.json already\. Nothing was written/);
  expect(readdirSync(project)).toEqual(['package.json']);
});

test('nothing is written into the folder of a store', async () => {
  const store = join(folder, 'store');
  await (await openAdmin({ path: store })).close();
  const names = readdirSync(store);
  const refused = await run('init', store);
  expect(refused).toMatchObject({ code: 1, out: '' });
  expect(refused.err).toContain(`${store} is the folder of a store, which holds nothing else.`);
  expect(readdirSync(store)).toEqual(names);
});
