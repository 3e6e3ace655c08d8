import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { compileSchema } from '../../src/mapper/index.js';
import { Account, Visit } from '../fixtures/stores/entities.js';
import { run } from './run.js';

const MODULE = fileURLToPath(new URL('../../build/test/fixtures/stores/entities.js', import.meta.url));
const schema = compileSchema([Account, Visit]);

describe('rowan key', () => {
  const at = '2026-11-21T10:00:00.000Z';
  const parts = { id: "o'Çe\\lik", at };
  const row = schema.entity(Visit).key.encode({ id: parts.id, at: new Date(at) });

  test('encodes and decodes what the layout does, in each form of bytes', async () => {
    const buffer = Buffer.from(row);
    for (const [form, text] of [
      ['hex', buffer.toString('hex')],
      ['base64', buffer.toString('base64')],
    ] as const) {
      expect(await run('key', 'encode', MODULE, 'Visit', JSON.stringify(parts), '--as', form)).toEqual({
        code: 0,
        out: `${text}\n`,
        err: '',
      });
      expect(JSON.parse((await run('key', 'decode', MODULE, 'Visit', text, '--as', form)).out)).toEqual(
        parts,
      );
    }
    const shell = (await run('key', 'encode', MODULE, 'Visit', JSON.stringify(parts))).out.trimEnd();
    expect(JSON.parse((await run('key', 'decode', MODULE, 'Visit', shell)).out)).toEqual(parts);
  });

  test('says what is wrong with what it was given', async () => {
    for (const [args, message] of [
      [['decode', MODULE, 'Nope', 'x'], /no entity "Nope"/],
      [['decode', MODULE, 'Visit', '\\xzz'], /upper-case hex/],
      [['decode', MODULE, 'Visit', 'abc', '--as', 'hex'], /not valid hex/],
      [['decode', MODULE, 'Visit', 'zz'], /ERR_KEY/],
      [['encode', MODULE, 'Visit', '{'], /not JSON/],
      [['encode', MODULE, 'Visit', '{"id":"a"}'], /ERR_KEY.*at/s],
    ] as const) {
      const { code, err } = await run('key', ...args);
      expect([args, code]).toEqual([args, 1]);
      expect(err).toMatch(message);
    }
  });
});

test('rowan cell encodes and decodes values of columns', async () => {
  const hex = (
    await run('cell', 'encode', MODULE, 'Account', 'balance', '"12345678901234567890"', '--as', 'hex')
  ).out;
  const { codec } = schema.entity(Account).columnsByProperty.get('balance')!;
  expect(hex.trimEnd()).toBe(Buffer.from(codec.encode(12345678901234567890n)).toString('hex'));
  const back = await run('cell', 'decode', MODULE, 'Account', 'balance', hex.trimEnd(), '--as', 'hex');
  expect(back.out).toBe('"12345678901234567890"\n');
  expect((await run('cell', 'decode', MODULE, 'Account', 'state', '\\x02')).out).toBe('"closed"\n');
  expect((await run('cell', 'encode', MODULE, 'Account', 'state', '"nope"')).code).toBe(1);
  expect((await run('cell', 'decode', MODULE, 'Account', 'tags', 'x')).err).toContain(
    'It has balance, state, visits',
  );
});

describe('rowan completion', () => {
  const complete = (script: string, ...words: string[]): string[] =>
    execFileSync('bash', [
      '-c',
      `${script}\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _rowan; printf '%s\\n' "\${COMPREPLY[@]}"`,
      'bash',
      'rowan',
      ...words,
    ])
      .toString()
      .split('\n')
      .filter(Boolean);

  test('bash completes commands, their commands, and options', async () => {
    const script = (await run('completion', 'bash')).out;
    expect(complete(script, 'sch')).toEqual(['schema']);
    expect(complete(script, 'schema', 'a')).toEqual(['apply']);
    expect(complete(script, 'schema', 'apply', 'dist/entities.js', '--dr')).toEqual(['--dry-run']);
    expect(complete(script, 'key', '')).toEqual(expect.arrayContaining(['encode', 'decode']));
  });

  test('zsh and fish have every command too; another shell is refused', async () => {
    expect((await run('completion', 'zsh')).out).toMatch(
      /^#compdef rowan\n(?:.|\n)*complete -o filenames -F _rowan rowan/,
    );
    const fish = (await run('completion', 'fish')).out;
    expect(fish).toContain("complete -c rowan -n 'not __fish_seen_subcommand_from");
    expect(fish).toMatch(
      /__fish_seen_subcommand_from schema; and __fish_seen_subcommand_from apply' -l dry-run/,
    );
    expect((await run('completion', 'tcsh')).code).toBe(2);
  });
});

test('rowan ddl prints calls of the Java Admin and of Rowan', async () => {
  const java = (await run('ddl', MODULE, '--format', 'java')).out;
  expect(java).toContain('TableDescriptorBuilder.newBuilder(TableName.valueOf("ns:crm"))');
  expect(java).toContain('.setMaxVersions(3)');
  expect(java).toContain('Bytes.fromHex("02")');
  const typescript = (await run('ddl', MODULE, '--format', 'typescript')).out;
  expect(typescript).toContain('await admin.createNamespace("ns")');
  expect(typescript).toContain("[Buffer.from('02', 'hex')]");
});
