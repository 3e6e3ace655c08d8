/** Parses Ruby expressions: literals, operators, calls. */

import type { Token } from './lexer.js';
import type { Block, Node } from './syntax.js';
import { IncompleteError, type Place, RubyError, RubySymbol } from './values.js';

/** The largest nesting depth of statements and expressions, and number of operators or calls in a chain. */
const MAX_NESTED = 200;
const MAX_LINKS = 1000;

/** Reads tokens one by one. `depth`: the nesting depth of the text. */
abstract class TokenReader {
  protected at = 0;

  constructor(
    protected readonly tokens: readonly Token[],
    protected depth = 0,
  ) {}

  /** Reads a nested construct. @throws RubyError when the nesting is too deep. */
  protected nested<T>(read: () => T): T {
    if (++this.depth > MAX_NESTED) throw new RubyError(`Nesting is deeper than ${MAX_NESTED}.`, this.token);
    const found = read();
    this.depth--;
    return found;
  }

  /**
   * Checks the length of a chain.
   * @throws RubyError when it is too long.
   */
  protected checkLinks(count: number): void {
    if (count > MAX_LINKS)
      throw new RubyError(`More than ${MAX_LINKS} operators or calls in a chain.`, this.token);
  }

  protected get token(): Token {
    return this.tokens[this.at]!;
  }

  protected is(kind: 'op' | 'keyword', text: string): boolean {
    const { token } = this;
    return token.kind === kind && token.text === text;
  }

  protected take(kind: 'op' | 'keyword', text: string): boolean {
    if (!this.is(kind, text)) return false;
    this.at++;
    return true;
  }

  protected expect(kind: 'op' | 'keyword', text: string): void {
    if (!this.take(kind, text)) throw this.unexpected(`"${text}"`);
  }

  protected unexpected(wanted?: string): RubyError {
    const { token } = this;
    const hope = wanted === undefined ? '' : ` ${wanted} is missing.`;
    if (token.kind === 'end') return new IncompleteError(`The statement is incomplete.${hope}`, token);
    const text =
      'text' in token ? `"${token.text}"` : token.kind === 'newline' ? 'end of the line' : token.kind;
    return new RubyError(`Unexpected ${text}.${hope}`, token);
  }

  protected skipNewlines(): void {
    while (this.token.kind === 'newline') this.at++;
  }
}

/** From low to high precedence. */
const BINARY: readonly (readonly string[])[] = [
  ['||'],
  ['&&'],
  ['==', '!='],
  ['<', '<=', '>', '>='],
  ['|', '&'],
  ['<<'],
  ['+', '-'],
  ['*', '/', '%'],
  ['**'],
];
const COMPARISONS = 2;

/** Parses expressions. Subclasses parse statements. */
export abstract class ExpressionReader extends TokenReader {
  /** Parses statements up to one of these keywords or brackets. */
  protected abstract statements(ends: readonly string[]): Node;
  protected abstract statement(): Node;
  /** Parses the construct that a keyword begins. */
  protected abstract keyword(text: string, place: Place): Node;
  /** Parses the text of an interpolation. */
  protected abstract interpolated(source: string, place: Place): Node;

  protected expressionStatement(): Node {
    return this.nested(() => this.negatable());
  }

  private negatable(): Node {
    if (this.token.kind === 'keyword' && this.token.text === 'not') {
      const place = this.token;
      this.at++;
      return { kind: 'not', value: this.expressionStatement(), place };
    }
    return this.expression(true);
  }

  /** `command`: whether a call may have arguments without parentheses. */
  protected expression(command: boolean): Node {
    const { token } = this;
    const next = this.tokens[this.at + 1];
    if (token.kind === 'name' && next?.kind === 'op' && ['=', '+=', '-='].includes(next.text)) {
      this.at += 2;
      this.skipNewlines();
      const right = this.statementValue();
      const variable: Node = {
        kind: 'call',
        receiver: undefined,
        name: token.text,
        args: [],
        block: undefined,
        bare: true,
        place: token,
      };
      const value: Node =
        next.text === '='
          ? right
          : { kind: 'binary', operator: next.text[0]!, left: variable, right, place: token };
      return { kind: 'assign', name: token.text, value, place: token };
    }
    const node = this.ternary(command);
    if (node.kind === 'call' && node.name === '[]' && this.is('op', '=')) {
      this.at++;
      this.skipNewlines();
      return {
        kind: 'assignIndex',
        target: node.receiver!,
        index: node.args[0]!,
        value: this.statementValue(),
        place: node.place,
      };
    }
    return node;
  }

  protected statementValue(): Node {
    return this.expressionStatement();
  }

  protected ternary(command: boolean): Node {
    const test = this.range(command);
    if (!this.is('op', '?')) return test;
    const place = this.token;
    this.at++;
    this.skipNewlines();
    const yes = this.ternary(false);
    this.skipNewlines();
    this.expect('op', ':');
    this.skipNewlines();
    return { kind: 'if', test, yes, no: this.ternary(false), place };
  }

  protected range(command: boolean): Node {
    const first = this.binary(0, command);
    const exclusive = this.is('op', '...');
    if (!exclusive && !this.is('op', '..')) return first;
    const place = this.token;
    this.at++;
    return { kind: 'range', first, last: this.binary(0, false), exclusive, place };
  }

  protected binary(level: number, command: boolean): Node {
    const operators = BINARY[level];
    if (operators === undefined) return this.unary(command);
    let left = this.binary(level + 1, command);
    for (let links = 0; ; links++) {
      this.checkLinks(links);
      const { token } = this;
      if (token.kind !== 'op' || !operators.includes(token.text)) return left;
      this.at++;
      this.skipNewlines();
      // The right side of && and || may not be a command: `x || puts 'y'` is invalid Ruby.
      const right = this.binary(level + 1, false);
      left = { kind: 'binary', operator: token.text, left, right, place: token };
      if (level === COMPARISONS && this.token.kind === 'op' && operators.includes(this.token.text))
        throw this.unexpected();
    }
  }

  protected unary(command: boolean): Node {
    return this.nested(() => this.signed(command));
  }

  private signed(command: boolean): Node {
    const { token } = this;
    if (token.kind === 'op' && (token.text === '!' || token.text === '-')) {
      this.at++;
      const value = this.unary(command);
      if (token.text === '!') return { kind: 'not', value, place: token };
      if (value.kind === 'literal' && (typeof value.value === 'bigint' || typeof value.value === 'number')) {
        return { kind: 'literal', value: -value.value, place: token };
      }
      const zero: Node = { kind: 'literal', value: 0n, place: token };
      return { kind: 'binary', operator: '-', left: zero, right: value, place: token };
    }
    return this.postfix(this.primary(command), command);
  }

  /** Parses method calls, indexes and blocks after a value. */
  protected postfix(value: Node, command: boolean): Node {
    let node = value;
    for (let links = 0; ; links++) {
      this.checkLinks(links);
      const { token } = this;
      if (token.kind === 'op' && token.text === '[' && !token.spaced) {
        this.at++;
        const args = this.list(']');
        node = {
          kind: 'call',
          receiver: node,
          name: '[]',
          args,
          block: undefined,
          bare: false,
          place: token,
        };
      } else if ((token.kind === 'op' && token.text === '.') || this.leadingDot()) {
        while (this.token.kind === 'newline') this.at++;
        this.at++;
        this.skipNewlines();
        const name = this.token;
        if (name.kind !== 'name' && name.kind !== 'constant' && name.kind !== 'label')
          throw this.unexpected('The name of a method');
        this.at++;
        node = this.callOf(node, name.text, name, command);
      } else return node;
    }
  }

  protected leadingDot(): boolean {
    let ahead = this.at;
    while (this.tokens[ahead]?.kind === 'newline') ahead++;
    const token = this.tokens[ahead];
    return ahead > this.at && token?.kind === 'op' && token.text === '.';
  }

  /** Parses the rest of a call after its name: arguments with or without parentheses, and a block. */
  protected callOf(receiver: Node | undefined, name: string, place: Place, command: boolean): Node {
    let args: readonly Node[] = [];
    let bare = true;
    if (this.is('op', '(') && !this.token.spaced) {
      this.at++;
      args = this.list(')');
      bare = false;
    } else if (command && this.startsArgument(receiver !== undefined)) {
      args = this.arguments();
      bare = false;
    }
    const block = this.block(command);
    return { kind: 'call', receiver, name, args, block, bare: bare && block === undefined, place };
  }

  /** Whether the next token begins an argument of a call without parentheses. */
  protected startsArgument(method: boolean): boolean {
    const { token } = this;
    if (!token.spaced) return token.kind === 'string' && !method;
    switch (token.kind) {
      case 'integer':
      case 'float':
      case 'string':
      case 'words':
      case 'symbol':
      case 'label':
      case 'constant':
      case 'name':
        return true;
      case 'keyword':
        return ['nil', 'true', 'false', 'not'].includes(token.text);
      case 'op': {
        if (token.text === '[' || token.text === '(' || token.text === '!') return true;
        // `t.scan {STARTROW => …}`: Ruby would take it for a block, but a hash is meant.
        if (token.text === '{') return this.opensHash();
        return token.text === '-' && this.tokens[this.at + 1]?.spaced === false;
      }
      default:
        return false;
    }
  }

  protected opensHash(): boolean {
    let ahead = this.at + 1;
    while (this.tokens[ahead]?.kind === 'newline') ahead++;
    const first = this.tokens[ahead];
    const second = this.tokens[ahead + 1];
    return first?.kind === 'label' || (second?.kind === 'op' && second.text === '=>');
  }

  protected block(command: boolean): Block | undefined {
    const brace = this.is('op', '{');
    if (!brace && !(command && this.is('keyword', 'do'))) return undefined;
    this.at++;
    const names: string[] = [];
    if (this.take('op', '|')) {
      while (!this.take('op', '|')) {
        const { token } = this;
        if (token.kind !== 'name') throw this.unexpected('The name of a block argument');
        names.push(token.text);
        this.at++;
        this.take('op', ',');
      }
    }
    const body = this.statements([brace ? '}' : 'end']);
    this.expect(brace ? 'op' : 'keyword', brace ? '}' : 'end');
    return { names, body };
  }

  /** Parses arguments up to the end of the line; pairs at the end form a hash. */
  protected arguments(): readonly Node[] {
    const args: Node[] = [];
    const pairs: (readonly [Node, Node])[] = [];
    const place = this.token;
    do {
      if (args.length + pairs.length > 0) this.skipNewlines();
      this.argument(args, pairs);
    } while (this.take('op', ','));
    if (pairs.length > 0) args.push({ kind: 'hash', pairs, place });
    return args;
  }

  protected argument(args: Node[], pairs: (readonly [Node, Node])[]): void {
    const key = this.pairKey();
    if (key !== undefined) {
      pairs.push([key, this.value()]);
      return;
    }
    const value = this.value();
    if (this.take('op', '=>')) {
      this.skipNewlines();
      pairs.push([value, this.value()]);
    } else if (pairs.length > 0) {
      throw new RubyError('An argument follows hash pairs. Put braces around the pairs.', value.place);
    } else args.push(value);
  }

  protected value(): Node {
    return this.ternary(false);
  }

  /** `name:` before a value. */
  protected pairKey(): Node | undefined {
    const { token } = this;
    if (token.kind !== 'label') return undefined;
    this.at++;
    this.skipNewlines();
    return { kind: 'literal', value: new RubySymbol(token.text), place: token };
  }

  /** Parses items up to a closing bracket, on any number of lines. */
  protected list(close: string): readonly Node[] {
    const items: Node[] = [];
    const pairs: (readonly [Node, Node])[] = [];
    const place = this.token;
    for (this.skipNewlines(); !this.take('op', close); this.skipNewlines()) {
      this.argument(items, pairs);
      this.skipNewlines();
      if (!this.take('op', ',') && !this.is('op', close)) throw this.unexpected(`"," or "${close}"`);
    }
    if (pairs.length > 0) items.push({ kind: 'hash', pairs, place });
    return items;
  }

  protected primary(command: boolean): Node {
    const { token } = this;
    const place: Place = token;
    this.at++;
    switch (token.kind) {
      case 'integer':
      case 'float':
        return { kind: 'literal', value: token.value, place };
      case 'words':
        return {
          kind: 'array',
          items: token.words.map((value) => ({ kind: 'literal', value, place })),
          place,
        };
      case 'symbol':
        return { kind: 'literal', value: new RubySymbol(token.text), place };
      case 'string':
        return this.text(token.parts, place);
      case 'constant':
        return this.constant(token.text, place, command);
      case 'name':
        return this.callOf(undefined, token.text, place, command);
      case 'keyword':
        return this.keyword(token.text, place);
      case 'op':
        if (token.text === '[') return { kind: 'array', items: this.list(']'), place };
        if (token.text === '{') return this.hash(place);
        if (token.text === '(') return this.parenthesis();
        break;
    }
    this.at--;
    throw this.unexpected();
  }

  /** `Time.now`, `org.apache…`: method calls on a constant are left to the interpreter. */
  protected constant(name: string, place: Place, command: boolean): Node {
    if (this.is('op', '(') && !this.token.spaced) return this.callOf(undefined, name, place, command);
    return { kind: 'constant', name, place };
  }

  protected text(
    parts: readonly (string | { readonly source: string; readonly place: Place })[],
    place: Place,
  ): Node {
    const all = parts.map((part) =>
      typeof part === 'string' ? part : this.interpolated(part.source, part.place),
    );
    // Adjacent strings are concatenated.
    while (this.token.kind === 'string') {
      const more = this.token.parts;
      this.at++;
      all.push(
        ...more.map((part) => (typeof part === 'string' ? part : this.interpolated(part.source, part.place))),
      );
    }
    if (all.every((part) => typeof part === 'string')) return { kind: 'literal', value: all.join(''), place };
    return { kind: 'text', parts: all, place };
  }

  protected parenthesis(): Node {
    this.skipNewlines();
    const node = this.statement();
    this.skipNewlines();
    this.expect('op', ')');
    return node;
  }

  protected hash(place: Place): Node {
    const pairs: (readonly [Node, Node])[] = [];
    for (this.skipNewlines(); !this.take('op', '}'); this.skipNewlines()) {
      let key = this.pairKey();
      if (key === undefined) {
        key = this.value();
        this.skipNewlines();
        this.expect('op', '=>');
        this.skipNewlines();
      }
      pairs.push([key, this.value()]);
      this.skipNewlines();
      if (!this.take('op', ',') && !this.is('op', '}')) throw this.unexpected('"," or "}"');
    }
    return { kind: 'hash', pairs, place };
  }
}
