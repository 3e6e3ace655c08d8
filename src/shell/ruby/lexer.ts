import { fromText, IncompleteError, type Place, RubyError } from './values.js';

/** A part of a string: bytes, or the source of an interpolated expression. */
type StringPart = string | { readonly source: string; readonly place: Place };

export type Token = Place & {
  /** Whether white space precedes it. */
  readonly spaced: boolean;
} & (
    | { readonly kind: 'integer'; readonly value: bigint }
    | { readonly kind: 'float'; readonly value: number }
    | { readonly kind: 'string'; readonly parts: readonly StringPart[] }
    | { readonly kind: 'words'; readonly words: readonly string[] }
    /** `name:` in a hash. */
    | { readonly kind: 'label'; readonly text: string }
    | { readonly kind: 'symbol' | 'constant' | 'name' | 'keyword' | 'op'; readonly text: string }
    | { readonly kind: 'newline' }
    /** `goesOn`: the last line end is escaped, so the statement continues on another line. */
    | { readonly kind: 'end'; readonly goesOn: boolean }
  );

const KEYWORDS = new Set(
  'do end for in if elsif else unless while until nil true false and or not then begin rescue ensure'.split(
    ' ',
  ),
);
const UNKNOWN_KEYWORDS = new Set(
  'def class module case lambda yield return super alias undef self'.split(' '),
);
const OPERATORS = ['...', '**', '=>', '==', '!=', '<=', '>=', '&&', '||', '<<', '+=', '-=', '..', '::'];
const SIMPLE_ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  a: '\x07',
  b: '\b',
  e: '\x1b',
  f: '\f',
  s: ' ',
  v: '\v',
};

/** Characters that word processors, web pages and input methods write in place of Ruby's. */
const LOOKALIKES: Readonly<Record<string, string>> = {
  '‘': "'",
  '’': "'",
  '“': '"',
  '”': '"',
  '，': ',',
  '；': ';',
  '：': ':',
  '（': '(',
  '）': ')',
};

function unexpected(char: string, place: Place): RubyError {
  const meant = LOOKALIKES[char];
  const remedy = meant === undefined ? '.' : `: write ${meant} in its place.`;
  return new RubyError(`Unexpected character "${char}"${remedy}`, place);
}

/** Tokenizes the part of Ruby that HBase shell scripts use. */
export function tokenize(source: string, from: Place = { line: 1, column: 1 }): Token[] {
  return new Lexer(source, from).tokens();
}

class Lexer {
  private at = 0;
  private lineStart: number;
  private line: number;
  /** Whether the last thing read was an escaped line end. */
  private goesOn = false;
  private readonly found: Token[] = [];

  constructor(
    private readonly source: string,
    from: Place,
  ) {
    this.line = from.line;
    this.lineStart = 1 - from.column;
  }

  tokens(): Token[] {
    for (;;) {
      const spaced = this.blank();
      const place = { ...this.place(), spaced };
      const char = this.source[this.at];
      if (char === undefined) {
        this.found.push({ kind: 'end', goesOn: this.goesOn, ...place });
        return this.found;
      }
      this.found.push(this.token(char, place));
    }
  }

  private token(char: string, place: Place & { readonly spaced: boolean }): Token {
    if (char === '\n' || char === ';') {
      this.at++;
      if (char === '\n') this.newLine();
      return { kind: 'newline', ...place };
    }
    if (char === "'" || char === '"') return this.stringOrLabel(char, place);
    if (/[0-9]/.test(char)) return this.number(place);
    if (/[A-Za-z_@$\u0080-\uffff]/.test(char)) return this.word(place);
    if (char === ':' && /[A-Za-z_"']/.test(this.source[this.at + 1] ?? '')) return this.symbol(place);
    if (this.source.startsWith('%w', this.at) && /[[({]/.test(this.source[this.at + 2] ?? '')) {
      return this.words(place);
    }
    const operator = OPERATORS.find((text) => this.source.startsWith(text, this.at)) ?? char;
    if (!/^[-+*/%=<>!.,()[\]{}|&?:.]+$/.test(operator)) throw unexpected(char, place);
    this.at += operator.length;
    return { kind: 'op', text: operator, ...place };
  }

  private place(): Place {
    return { line: this.line, column: this.at - this.lineStart + 1 };
  }

  private newLine(): void {
    this.line++;
    this.lineStart = this.at;
  }

  /** Skips blanks, comments and escaped line ends. */
  private blank(): boolean {
    const before = this.at;
    this.goesOn = false;
    for (;;) {
      const char = this.source[this.at];
      if (char === ' ' || char === '\t' || char === '\r' || char === '\u00a0') this.at++;
      else if (char === '\\' && /^\\\r?\n/.test(this.source.slice(this.at, this.at + 3))) {
        this.at = this.source.indexOf('\n', this.at) + 1;
        this.newLine();
        this.goesOn = true;
      } else if (char === '#') {
        this.goesOn = false;
        const end = this.source.indexOf('\n', this.at);
        this.at = end < 0 ? this.source.length : end;
      } else return this.at > before || this.at === 0;
    }
  }

  private stringOrLabel(quote: string, place: Place & { readonly spaced: boolean }): Token {
    const parts = this.quoted(quote);
    const [only] = parts;
    if (
      this.source[this.at] === ':' &&
      this.source[this.at + 1] !== ':' &&
      parts.length <= 1 &&
      typeof only !== 'object'
    ) {
      this.at++;
      return { kind: 'label', text: only ?? '', ...place };
    }
    return { kind: 'string', parts, ...place };
  }

  private quoted(quote: string): StringPart[] {
    const begun = this.place();
    const parts: StringPart[] = [];
    let text = '';
    for (this.at++; ; ) {
      const char = this.source[this.at];
      if (char === undefined) throw new IncompleteError(`Unterminated string: ${quote} is missing.`, begun);
      this.at++;
      if (char === quote) break;
      if (char === '\n') this.newLine();
      if (char === '\\') {
        text += quote === '"' ? this.escape(begun) : this.singleEscape();
      } else if (quote === '"' && char === '#' && this.source[this.at] === '{') {
        if (text !== '') parts.push(text);
        text = '';
        parts.push(this.interpolation());
      } else {
        const code = char.charCodeAt(0);
        const pair = code >= 0xd800 && code < 0xdc00 ? (this.source[this.at++] ?? '') : '';
        text += fromText(char + pair);
      }
    }
    if (text !== '' || parts.length === 0) parts.push(text);
    return parts;
  }

  /** In single quotes only `\\` and `\'` are escapes. */
  private singleEscape(): string {
    const next = this.source[this.at];
    if (next !== '\\' && next !== "'") return '\\';
    this.at++;
    return next;
  }

  private escape(begun: Place): string {
    const rest = this.source.slice(this.at, this.at + 12);
    const take = (pattern: RegExp): RegExpExecArray | null => {
      const match = pattern.exec(rest);
      if (match !== null) this.at += match[0].length;
      return match;
    };
    const hex = take(/^x([0-9a-fA-F]{1,2})/);
    if (hex) return String.fromCharCode(Number.parseInt(hex[1]!, 16));
    const octal = take(/^[0-7]{1,3}/);
    if (octal) return String.fromCharCode(Number.parseInt(octal[0], 8) & 0xff);
    const unicode = take(/^u(?:\{([0-9a-fA-F]{1,6})\}|([0-9a-fA-F]{4}))/);
    if (unicode) {
      const code = Number.parseInt(unicode[1] ?? unicode[2]!, 16);
      if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        throw new RubyError(`invalid Unicode codepoint: \\u{${code.toString(16)}}`, this.place());
      return fromText(String.fromCodePoint(code));
    }
    const char = rest[0];
    if (char === undefined) throw new IncompleteError('Unterminated string.', begun);
    if (char === 'x' || char === 'u')
      throw new RubyError(`Bad escape \\${char}: write \\xHH or \\uHHHH.`, this.place());
    this.at++;
    if (char === '\n') this.newLine();
    return char === '\n' ? '' : (SIMPLE_ESCAPES[char] ?? fromText(char));
  }

  private interpolation(): StringPart {
    this.at++;
    const place = this.place();
    const start = this.at;
    for (let depth = 1; ; this.at++) {
      const char = this.source[this.at];
      if (char === undefined) throw new IncompleteError('Unterminated #{.', place);
      if (char === '\n') throw new RubyError('An interpolation must be on one line in this shell.', place);
      if (char === '{') depth++;
      if (char === '}' && --depth === 0) break;
    }
    this.at++;
    return { source: this.source.slice(start, this.at - 1), place };
  }

  private number(place: Place & { readonly spaced: boolean }): Token {
    const [text] = /^(?:0x[0-9a-fA-F]+|[0-9][0-9_]*(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?)/.exec(
      this.source.slice(this.at),
    )!;
    this.at += text.length;
    const digits = text.replaceAll('_', '');
    if (/^0x/.test(text) || /^[0-9]+$/.test(digits)) {
      const octal = /^0[0-7]+$/.test(digits);
      return { kind: 'integer', value: BigInt(octal ? `0o${digits}` : digits), ...place };
    }
    return { kind: 'float', value: Number(digits), ...place };
  }

  private word(place: Place & { readonly spaced: boolean }): Token {
    const [text] = /^[@$]*[\p{L}\p{N}_]*[?!]?/u.exec(this.source.slice(this.at))!;
    const known = /[?!]$/.test(text) && this.source[this.at + text.length] === '=' ? text.slice(0, -1) : text;
    if (known === '' || /^[@$]+$/.test(known)) throw unexpected(this.source[this.at]!, place);
    this.at += known.length;
    const next = this.source[this.at];
    const before = this.found.at(-1);
    const ternary = before?.kind === 'op' && before.text === '?';
    if (next === ':' && this.source[this.at + 1] !== ':' && !ternary && !/^[@$]/.test(known)) {
      this.at++;
      return { kind: 'label', text: known, ...place };
    }
    const method = before?.kind === 'op' && before.text === '.';
    if (UNKNOWN_KEYWORDS.has(known) && !method) {
      throw new RubyError(`This shell does not support Ruby's "${known}".`, place);
    }
    if (KEYWORDS.has(known) && !method) return { kind: 'keyword', text: known, ...place };
    return { kind: /^\p{Lu}/u.test(known) ? 'constant' : 'name', text: known, ...place };
  }

  private symbol(place: Place & { readonly spaced: boolean }): Token {
    this.at++;
    const quote = this.source[this.at];
    if (quote === '"' || quote === "'") {
      const parts = this.quoted(quote);
      if (parts.some((part) => typeof part !== 'string')) {
        throw new RubyError('This shell does not support symbols with interpolation.', place);
      }
      return { kind: 'symbol', text: parts.join(''), ...place };
    }
    const [text] = /^[\w]+[?!]?/.exec(this.source.slice(this.at))!;
    this.at += text.length;
    return { kind: 'symbol', text, ...place };
  }

  private words(place: Place & { readonly spaced: boolean }): Token {
    const close = { '[': ']', '(': ')', '{': '}' }[this.source[this.at + 2]!]!;
    const end = this.source.indexOf(close, this.at + 3);
    if (end < 0) throw new IncompleteError(`Unterminated %w: ${close} is missing.`, place);
    const text = this.source.slice(this.at + 3, end);
    for (let i = this.at; i < end; i++) {
      if (this.source[i] !== '\n') continue;
      this.line++;
      this.lineStart = i + 1;
    }
    this.at = end + 1;
    return { kind: 'words', words: text.split(/\s+/).filter(Boolean).map(fromText), ...place };
  }
}
