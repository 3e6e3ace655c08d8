import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sharedHBase } from '../connect.js';
import { run } from './class-path.js';
import { InstanceLayout, PROJECT_ROOT } from './layout.js';
import { probeMaster } from './probe.js';
import { runShell, ShellError } from './shell.js';

const { instance, masters } = sharedHBase();

describe('the HBase of the tests', () => {
  it('lets a namespace be created', async () => {
    const [host = '', port = ''] = masters[0]?.split(':') ?? [];
    await probeMaster(host, Number(port));
  });

  it('answers the real shell, whose failed commands are errors', async () => {
    const layout = new InstanceLayout(instance);
    expect(await runShell(layout, 'list_namespace')).toMatch(/^default$/m);
    await expect(runShell(layout, "describe 'no_such_table'")).rejects.toThrow(ShellError);
  });
});

describe('npm run hbase:start', () => {
  let bin: string;

  beforeEach(async () => {
    bin = await mkdtemp(join(tmpdir(), 'rowan-bin-'));
    await symlink(process.execPath, join(bin, 'node'));
  });
  afterEach(() => rm(bin, { recursive: true, force: true }));

  const start = (...args: string[]) =>
    run(
      process.execPath,
      [
        join(PROJECT_ROOT, 'node_modules', 'tsx', 'dist', 'cli.mjs'),
        join(PROJECT_ROOT, 'test', 'hbase', 'server', 'main.ts'),
        'start',
        '--name',
        'start-test',
        '--port-offset',
        '3210',
        ...args,
      ],
      { PATH: bin },
    );

  const fakeTool = (name: string, output: string) =>
    writeFile(join(bin, name), `#!/bin/sh\necho '${output}'\n`, { mode: 0o755 });

  it('says which JDK to install when there is none, and fails', async () => {
    const { code, output } = await start();
    expect(code).toBe(1);
    expect(output).toMatch(/JDK of version 17 or later.*found none.*apt-get install openjdk-17/);
  });

  it('refuses a JDK that is too old', async () => {
    await fakeTool('java', 'openjdk version "11.0.2" 2019-01-15');
    await symlink('/bin/sh', join(bin, 'sh'));
    const { code, output } = await start();
    expect(code).toBe(1);
    expect(output).toContain('found version 11');
  });

  it('says to install Maven when there is none, and fails', async () => {
    await fakeTool('java', 'openjdk version "17.0.2" 2022-01-15');
    const { code, output } = await start();
    expect(code).toBe(1);
    expect(output).toMatch(/no mvn on the PATH.*apt-get install maven/s);
  });

  it('refuses an option that it does not know', async () => {
    const { code, output } = await start('--regionservers', '3');
    expect(code).toBe(1);
    expect(output).toContain("Unknown option '--regionservers'");
  });
});
