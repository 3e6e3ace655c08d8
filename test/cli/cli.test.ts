import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { COMMANDS } from '../../src/cli/commands.js';
import { processContext } from '../../src/cli/context.js';
import { runCli } from '../../src/cli/program.js';
import { readRuby } from '../ddl/ruby-reader.js';
import { run } from './run.js';

const fixture = (name: string): string =>
  fileURLToPath(new URL(`../../build/test/cli/fixtures/${name}.js`, import.meta.url));

describe('rowan', () => {
  test('--help names the commands, --version is the package’s', async () => {
    const help = await run('--help');
    expect(help).toMatchObject({ code: 0, err: '' });
    expect(help.out).toMatch(/Usage: rowan.*ddl <module>|ddl \[options\] <module>/s);
    expect((await run('--version')).out).toMatch(/^\d+\.\d+\.\d+/);
    expect((await run('ddl', '--help')).out).toContain('--format');
  });

  test('--help lists each command below a heading, and once', async () => {
    const { out } = await run('--help');
    expect(out).not.toContain('\nCommands:');
    expect(out.match(/^\S[^:\n]*:$/gm)).toEqual([
      'Options:',
      'Projects and test data:',
      'Looking at a store or cluster:',
      'Declarations:',
      'Changes of schemas:',
      'What follows from rows:',
      'Whole tables:',
      'Two tables:',
      'Backup and repair:',
      'Other:',
    ]);
    const listed = out
      .slice(out.indexOf('Projects and test data:'))
      .match(/^ {2}[a-z]+/gm)!
      .map((name) => name.trim());
    const names = COMMANDS.flatMap(({ commands }) => Object.keys(commands)).map((term) => term.split(' ')[0]);
    expect(listed.toSorted()).toEqual([...names, 'help'].toSorted());
    expect(listed.slice(-2)).toEqual(['completion', 'help']);
  });

  test('--help says of each command what its module says', async () => {
    for (const { commands, load } of COMMANDS) {
      const program = new Command('rowan');
      (await load())(program, processContext);
      const help = program.createHelp();
      const said = program.commands.map((each) => [
        help.subcommandTerm(each),
        help.subcommandDescription(each),
      ]);
      expect(Object.entries(commands)).toEqual(said);
    }
  });

  test('a wrong command line ends with 2 and says what is wrong', async () => {
    for (const args of [['nope'], ['ddl'], ['ddl', 'x', '--nope'], ['ddl', 'x', '--format', 'xml'], []]) {
      const { code, err, out } = await run(...args);
      expect([args, code]).toEqual([args, 2]);
      expect(err + out).toMatch(/error|Usage/);
    }
  });

  test('a wrong option is answered with the options of the command, a wrong subcommand with its subcommands', async () => {
    const { err } = await run('serve', 'folder', '--port', '3');
    expect(err).toContain("unknown option '--port'");
    expect(err).toContain(
      'Usage: rowan serve [options] <folder>\nOptions: --listen <address>, --zookeeper [address], ',
    );
    expect((await run('store', 'nope')).err).toContain('\nCommands: stats, verify, compact, ');
  });

  test('an unknown command is answered with the subcommands of its name', async () => {
    const { code, err } = await run('repair', 'folder');
    expect(code).toBe(2);
    expect(err).toContain("unknown command 'repair'");
    expect(err).toContain('There are:\n');
    expect(err).toContain('\n  rowan store repair: Repairs a damaged store');
    expect(err).toContain('\n  rowan index repair: ');
    expect((await run('nope')).err).not.toContain('There are');
  });

  test('descriptions of commands say in sentences what a command does', async () => {
    const program = new Command('rowan');
    for (const { load } of COMMANDS) (await load())(program, processContext);
    const all = (command: Command): Command[] => [command, ...command.commands.flatMap(all)];
    for (const command of program.commands.flatMap(all)) {
      const said = program.createHelp().subcommandDescription(command);
      expect([command.name(), said]).toEqual([
        command.name(),
        expect.stringMatching(/^(Like [a-z]+, and [a-z]+s|[A-Z][a-z]*s)\b.*[.)]$/s),
      ]);
      expect(said.endsWith('.') || command.name() === 'completion').toBe(true);
    }
  });

  test('a file that does not exist is told with its path and what to do', async () => {
    const nowhere = `${fixture('entities')}.none`;
    const store = mkdtempSync(join(tmpdir(), 'rowan-'));
    for (const args of [
      ['hotspots', fixture('entities'), 'Customer', nowhere],
      ['size', fixture('entities'), 'Customer', nowhere, '--rows', '9'],
      ['lint', fixture('entities'), '--sample', `Customer=${nowhere}`],
      ['lint', fixture('entities'), '--suppressions', nowhere],
      ['shell', store, nowhere, '--create'],
      ['serve', store, '--create', '--users', nowhere],
    ]) {
      const { code, err } = await run(...args);
      expect([code, err]).toEqual([
        1,
        `rowan: ERR_IO: ${nowhere} cannot be read: ENOENT: no such file or directory, open '${nowhere}'. Give the path of a file that you may read.\n`,
      ]);
    }
    expect((await run('shell', store, '--create', '--entities', nowhere)).err).toContain(nowhere);
    expect(readdirSync(store)).toEqual([]);
    rmSync(store, { recursive: true, force: true });
  });

  test('a path that cannot be read or written is told in one line', async () => {
    const module = fixture('entities');
    const folder = `${module}/no-folder`;
    for (const args of [
      ['diagram', module, '--out', folder],
      ['schema', 'check', module, folder, '--snapshot'],
    ]) {
      const { code, err } = await run(...args);
      expect(code).toBe(1);
      expect(err).toMatch(/^rowan: ERR_IO: ENOTDIR: .*no-folder.*'\. Check the path, .*\.\n$/);
    }
    expect((await run('init', folder)).err).toBe(
      `rowan: ERR_IO: Could not make the folder "${folder}" (ENOTDIR). A part of the path is a file, no folder: check the path.\n`,
    );
  });
});

test('rowan hbase takes masters, and the place that other commands take', async () => {
  for (const place of ['127.0.0.1:1', 'hbase:127.0.0.1:1', 'hbase:127.0.0.1:1,127.0.0.1:2']) {
    const { code, err } = await run('hbase', 'status', place);
    expect([code, err]).toEqual([1, expect.stringContaining('Cannot connect to 127.0.0.1:')]);
  }
});

test('a full disk is told in one line, where Node names no path', async () => {
  let err = '';
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), {
    code: 'ENOSPC',
    syscall: 'write',
  });
  const code = await runCli(['ddl', fixture('entities')], {
    write: () => {
      throw full;
    },
    writeError: (text) => {
      err += text;
    },
  });
  expect([code, err]).toEqual([
    1,
    expect.stringMatching(/^rowan: ERR_IO: ENOSPC: [^\n]*free some space.*\.\n$/),
  ]);
});

describe('rowan ddl', () => {
  test('prints what the HBase shell takes, tables in the order of their names', async () => {
    const { code, out, err } = await run('ddl', fixture('entities'));
    expect([code, err]).toEqual([0, '']);
    const calls = readRuby(out);
    expect(calls.map((call) => [call.name, call.args[0]])).toEqual([
      ['create_namespace', 'shop'],
      ['create', 'notes'],
      ['create', 'shop:crm'],
    ]);
    const [, d, p, options] = calls[2]!.args as ReadonlyMap<string, unknown>[];
    expect(d!.get('COMPRESSION')).toBe('SNAPPY');
    expect(p!.get('NAME')).toBe('p');
    expect([...(options!.get('METADATA') as Map<string, string>)]).toEqual([
      [
        'rowan.record.1',
        expect.stringMatching(/^\{"format":2,"entity":"Customer","key":"salt\(16.*"qualifier":"6e".*\}$/),
      ],
    ]);
    expect((calls[2]!.args.at(-1) as ReadonlyMap<string, unknown>).get('SPLITS')).toEqual([
      '\\x04',
      '\\x08',
      '\\x0C',
    ]);
  });

  test('prints cbt commands and resources of Terraform for Bigtable', async () => {
    const { code, out, err } = await run('ddl', fixture('entities'), '--engine', 'bigtable');
    expect([code, err]).toEqual([0, '']);
    expect(out).toMatch(/^cbt createtable notes families=/m);
    expect(out).toMatch(
      /^# 3 of 3 split keys cannot be written.*\n# The namespace shop.*\n# Omitted, not supported by Bigtable.*SNAPPY/m,
    );
    const terraform = await run('ddl', fixture('entities'), '--engine', 'bigtable', '--terraform');
    expect(terraform.out).toContain('resource "google_bigtable_table" "shop__crm" {');
    for (const wrong of [['--terraform'], ['--engine', 'bigtable', '--format', 'java']])
      expect(await run('ddl', fixture('entities'), ...wrong)).toMatchObject({
        code: 1,
        err: expect.stringContaining('--engine bigtable'),
      });
  });

  test('chooses tables, leaves out namespaces, prints JSON', async () => {
    const one = await run('ddl', fixture('entities'), '--table', 'shop:crm', '--no-namespaces');
    expect(readRuby(one.out).map((call) => call.args[0])).toEqual(['shop:crm']);
    const json = await run('ddl', fixture('entities'), '--format', 'json');
    expect(JSON.parse(json.out)).toMatchObject([
      { name: 'notes' },
      { name: 'shop:crm', splits: ['04', '08', '0c'] },
    ]);
    expect(await run('ddl', fixture('entities'), '--table', 'other')).toMatchObject({
      code: 1,
      err: expect.stringContaining('no table "other"'),
    });
  });

  test('says what is wrong with a module', async () => {
    expect(await run('ddl', 'no/such/file.js')).toMatchObject({
      code: 1,
      err: expect.stringContaining('does not exist'),
    });
    expect(await run('ddl', fixture('empty'))).toMatchObject({
      code: 1,
      err: expect.stringContaining('exports no entity'),
    });
    expect(await run('ddl', fixture('wrong'))).toMatchObject({
      code: 1,
      err: expect.stringMatching(/ERR_SCHEMA.*Broken.*"x"/s),
    });
  });
});
