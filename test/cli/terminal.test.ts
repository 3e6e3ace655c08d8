/** The shell as a person has it: on a terminal, which `script` of util-linux gives. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';

const MAIN = fileURLToPath(new URL('../../dist/rowan.js', import.meta.url));
const TAB = '\t';
const UP = '\x1b[A';
const CTRL_C = '\x03';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rowan-terminal-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Types each line when what it waits for has been printed since the one before; answers all that was printed, and the code. */
async function session(steps: readonly (readonly [waitFor: string, keys: string])[]) {
  const command = `"${process.execPath}" "${MAIN}" shell "${join(folder, 'store')}" --create`;
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    env: { ...process.env, HOME: folder, TERM: 'xterm', COLUMNS: '100', LINES: '40' },
  });
  let printed = '';
  let seen = 0;
  let step = 0;
  const type = (): void => {
    const next = steps[step];
    if (next === undefined) return;
    const at = printed.indexOf(next[0], seen);
    if (at < 0) return;
    seen = at + next[0].length;
    step++;
    child.stdin.write(next[1]);
    type();
  };
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (data: Buffer) => {
      printed += data.toString();
      type();
    });
  }
  const [code] = (await once(child, 'close')) as [number];
  return { code, printed, typed: step };
}

test('a command whose reader has ended, such as `head`, ends without a word', async () => {
  const child = spawn(process.execPath, [MAIN, 'completion', 'bash'], { stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.destroy();
  let errors = '';
  child.stderr.on('data', (data: Buffer) => {
    errors += data.toString();
  });
  const [code] = (await once(child, 'close')) as [number];
  expect({ code, errors }).toEqual({ code: 141, errors: '' });
});

/** `script` of other systems takes other options. */
const onLinux = process.platform === 'linux' ? test : undefined;

onLinux?.(
  'lines are completed, go on over several lines, are given up, and are remembered for the next session',
  async () => {
    const first = await session([
      ['hbase:001:0> ', `create 't',\r`],
      ['hbase:002:1* ', `'f'\r`],
      ['Hbase::Table - t', ''],
      ['hbase:003:0> ', `put 't', 'r', 'f:q', 'typed'\r`],
      ['hbase:004:0> ', `truncate_p${TAB}`],
      ['reserve', CTRL_C],
      ['hbase:005:0> ', `${UP}${UP}`],
      [`'f'`, CTRL_C],
      ['hbase:006:0> ', `get 't', 'r'\r`],
      ['value=typed', ''],
      ['hbase:007:0> ', `exit 4\r`],
    ]);
    expect(first).toMatchObject({ code: 4, typed: 11 });
    expect(await readFile(join(folder, '.rowan', 'shell-history'), 'utf8')).toBe(
      `exit 4\nget 't', 'r'\nput 't', 'r', 'f:q', 'typed'\n'f'\ncreate 't',\n`,
    );
    const second = await session([
      ['hbase:001:0> ', `${UP}${UP}\r`],
      ['value=typed', ''],
      ['hbase:002:0> ', '\x04'],
    ]);
    expect(second).toMatchObject({ code: 0, typed: 3 });
  },
);
