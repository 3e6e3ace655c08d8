import { describe, expect, test } from 'vitest';
import {
  IncompleteError,
  Interpreter,
  inspect,
  parseRuby,
  RubyError,
  type RubyValue,
} from '../../src/shell/ruby/index.js';

/** What a program's last value is, and what it printed. `echo` answers its arguments. */
async function run(source: string): Promise<{ value: string; out: string }> {
  let out = '';
  const interpreter = new Interpreter({
    isCommand: (name) => name === 'echo',
    command: async (_, args): Promise<RubyValue> => [...args],
    constant: (name) => ({ NAME: 'NAME', VERSIONS: 'VERSIONS', FILTER: 'FILTER' })[name],
    write: (text) => {
      out += text;
    },
  });
  return { value: inspect(await interpreter.run(parseRuby(source))), out };
}

async function failure(source: string): Promise<RubyError> {
  try {
    await run(source);
  } catch (error) {
    if (error instanceof RubyError) return error;
    throw error;
  }
  throw new Error(`No failure: ${source}`);
}

describe('values', () => {
  test.each([
    [`'it\\'s \\\\ \\n #{x}'`, '"it\'s \\\\ \\\\n \\#{x}"'],
    ['"\\x41\\102\\u0043\\u{44}\\t\\e"', '"ABCD\\t\\e"'],
    ['"a#{1 + 1}b#{"c#{3}"}"', '"a2bc3"'],
    ["'a' \"b\" 'c'", '"abc"'],
    ['"\\xff".length', '1'],
    ["'ä'.bytesize", '2'],
    ['"\\xff\\x00"', '"\\xFF\\u0000"'],
    ['0x1f + 017 + 1_000', '1046'],
    ['1.5e3', '1500.0'],
    ['9223372036854775807 + 1', '9223372036854775808'],
    [':a', ':a'],
    [":'a b'", ':a b'],
    ['%w[a b\n c]', '["a", "b", "c"]'],
    ["{NAME => 'f', 'a' => 1, b: 2, 'c': 3}", '{"NAME"=>"f", "a"=>1, :b=>2, :c=>3}'],
    ['[1,\n 2, # two\n\n 3,\n]', '[1, 2, 3]'],
    ['(1..4).map { |n| n * n }', '[1, 4, 9, 16]'],
    ["('a'..'c').to_a", '["a", "b", "c"]'],
    ['(1...3).to_a', '[1, 2]'],
    ['nil', 'nil'],
    ['!true || 1 == 1.0', 'true'],
    ['-2 ** 2', '4'],
    ['7 % -3', '-2'],
    ["'%-4s|%04d|%x|%.2f%%' % ['a', 7, 255, 1.5]", '"a   |0007|ff|1.50%"'],
    ['x = y = 2; x + y', '4'],
    ["h = {}; h['a'] = 1; h['a'] += 1 rescue 0", 'error'],
    ["a = [3, 1, 2]; a << 5; a.sort.reverse.join('-')", '"5-3-2-1"'],
    ["'row-1'.split('-').last.to_i.to_s.rjust(3, '0')", '"001"'],
    ['{"a" => 1}.map { |k, v| "#{k}#{v}" }', '["a1"]'],
    ['[[1, 2], [3, 4]].each { |a, b| puts a + b }.length', '2'],
    ['i = 0; i += 1 while i < 5; i', '5'],
    ['i = 5; until i == 0 do i -= 2; break_ = 1; i = 0 if i < 0; end; i', '0'],
    ['i = 9; begin; i += 1; end while i < 5; i', '10'],
    ['i = 0; begin i += 1 end until i >= 3; i', '3'],
    ['i = 0; begin; i += 1; raise if i == 2; rescue; i += 5; end while i < 4; i', '7'],
    ['i = 9; i += 1 while i < 5; i', '9'],
    ["x = 'a' \\\n  + 'b'; x", '"ab"'],
    ['[1, \\\n 2] # no \\\n', '[1, 2]'],
    ["begin; raise 'x'; rescue => e; e; ensure; puts 'z'; end", '"x"'],
    ["if 1 > 2 then 'a' elsif 2 > 1\n 'b' else 'c' end", '"b"'],
    ["1 > 2 ? 'a' : 'b'", '"b"'],
    ["[1, nil, 'a'].compact.include?('a')", 'true'],
  ])('%s', async (source, expected) => {
    if (expected === 'error') await failure(source);
    else expect((await run(source)).value).toBe(expected);
  });
});

describe('commands', () => {
  test.each([
    ["echo 'a', NAME => 'f', VERSIONS => 5", '["a", {"NAME"=>"f", "VERSIONS"=>5}]'],
    ["echo 'a',\n  {NAME => 'f'},\n  # why\n  {NAME => 'g'}", '["a", {"NAME"=>"f"}, {"NAME"=>"g"}]'],
    ["echo('a', [1]).first", '"a"'],
    ["echo'a'", '["a"]'],
    ['echo {NAME => 1}', '[{"NAME"=>1}]'],
    ['echo -1, !nil, :a', '[-1, true, :a]'],
    ["echo 'a' + 'b', (1 + 2) * 3", '["ab", 9]'],
    ['echo', '[]'],
    ["x = echo 'a'; x", '["a"]'],
    ["echo 'a' if 1 == 1", '["a"]'],
    ['[1, 2].each do |n|\n  puts n\nend; echo 3', '[3]'],
    ["echo \"FilterList('it''s') AND #{1}\"", "[\"FilterList('it''s') AND 1\"]"],
  ])('%s', async (source, expected) => {
    expect((await run(source)).value).toBe(expected);
  });

  test('blocks see variables outside them and hide those of their own names', async () => {
    const { out } = await run('n = 9; s = 0; [1, 2].each { |n| s += n }; puts n, s');
    expect(out).toBe('9\n3\n');
  });
});

test.each([
  "echo 'a' \\\n",
  'x = 1\nputs 2 \\\n',
  "echo 'a',",
  "echo 'a",
  '[1,',
  '{',
  'if true',
  'list.each do |x|',
  '1 +',
  'x =',
  '"a#{1',
])('a text that goes on is told from a wrong one: %s', (source) => {
  expect(() => parseRuby(source)).toThrow(IncompleteError);
});

test.each([
  ['echo 1\nclass X; end', 2, 1],
  ['echo 1, )', 1, 9],
  ["x = 'a'\ny = [1 2]", 2, 8],
  ['echo "\\xzz"', 1, 8],
  ['echo NAME => 1, 2', 1, 17],
  ['"abc#{1 +* 2}"', 1, 10],
  ['end', 1, 1],
  ["'x'.bogus 1", 1, 5],
  ['FOO', 1, 1],
  ['a\n  bogus 1', 1, 1],
  ['1 / 0', 1, 3],
  ['[1].map', 1, 5],
])('what cannot be read or run is named with its place: %s', async (source, line, column) => {
  expect((await failure(source)).place).toMatchObject({ line, column });
});

test.each([
  ['create ‘t1’, ‘f’', 'Unexpected character "‘": write \' in its place.'],
  ["alter't1'，NAME => 'f'", 'Unexpected character "，": write , in its place.'],
  ['echo “a”', 'Unexpected character "“": write " in its place.'],
  ["echo 'a' 1", 'Unexpected integer.'],
  ["echo {NAME => 'a' VERSIONS => 1}", 'Unexpected "VERSIONS". "," or "}" is missing.'],
  ["hbase> get 't', 'r'", 'Unexpected string.'],
])('what is wrong with %s is told', async (source, message) => {
  expect((await failure(source)).message.replace(/^line 1, column \d+: /, '')).toBe(message);
});

test('sizes that would fill the memory are refused', async () => {
  await failure('(1..100_000_000_000).to_a');
  await failure('2 ** 1_000_000');
  await failure("'a'.rjust(1_000_000_000)");
  await failure("format('%999999999d', 1)");
  await failure("'a' * 10_000_000_000");
});

const DEEP = 20_000;
test.each([
  ['brackets', `${'['.repeat(DEEP)}${']'.repeat(DEEP)}`],
  ['brackets without an end', '['.repeat(DEEP)],
  ['negations', `${'!'.repeat(DEEP)}true`],
  ['negations by words', `${'not '.repeat(DEEP)}true`],
  ['assignments', `${'x = '.repeat(DEEP)}1`],
  ['operators', `x = ${'1 + '.repeat(DEEP)}1`],
  ['calls', `'a'${'.to_s'.repeat(DEEP)}`],
  ['branches', `if nil\n${'elsif nil\n'.repeat(DEEP)}end`],
  ['blocks', `${'begin\n'.repeat(DEEP)}${'end\n'.repeat(DEEP)}`],
  ['interpolations', `${'"#{'.repeat(DEEP)}1${'}"'.repeat(DEEP)}`],
])('too many %s are named, and are no end of the stack', async (_, source) => {
  expect((await failure(source)).message).toMatch(
    /Nesting is deeper than 200|More than 1000 operators or calls/,
  );
});

test.each(['"\\u{ffffff}"', '"\\u{110000}"', '"\\ud800"', '\'a\' + "\\u{DFFF}"'])(
  '%s is no character',
  async (source) => {
    expect((await failure(source)).message).toContain('invalid Unicode codepoint');
  },
);

test('long lines are read', async () => {
  const long = 'v'.repeat(1_000_000);
  expect((await run(`'${long}'`)).value).toBe(`"${long}"`);
  expect((await run(`[${'1, '.repeat(20_000)}1].length`)).value).toBe('20001');
});
