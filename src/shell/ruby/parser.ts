/** Parses the statements of Ruby that HBase shell scripts use. */

import { ExpressionReader } from './expressions.js';
import { type Token, tokenize } from './lexer.js';
import type { Node, Rescue } from './syntax.js';
import { IncompleteError, type Place } from './values.js';

/**
 * Parses a list of statements.
 * `depth`: its nesting depth.
 * @throws IncompleteError when the text ends within a statement; RubyError for invalid or unsupported Ruby.
 */
export function parseRuby(source: string, from?: Place, depth = 0): Node {
  return new Parser(tokenize(source, from), depth).program();
}

class Parser extends ExpressionReader {
  program(): Node {
    const body = this.statements([]);
    const { token } = this;
    if (token.kind !== 'end') throw this.unexpected();
    if (token.goesOn) throw new IncompleteError('The line ends with "\\", but no line follows.', token);
    return body;
  }

  protected interpolated(source: string, place: Place): Node {
    return parseRuby(source, place, this.depth + 1);
  }

  protected statements(ends: readonly string[]): Node {
    const { token: place } = this;
    const statements: Node[] = [];
    for (;;) {
      this.skipNewlines();
      const { token } = this;
      if (token.kind === 'end' || (token.kind === 'keyword' && ends.includes(token.text))) break;
      if (token.kind === 'op' && token.text === '}' && ends.includes('}')) break;
      statements.push(this.statement());
      const next = this.token as Token;
      const closes =
        next.kind === 'keyword'
          ? ends.includes(next.text)
          : next.kind === 'op' && next.text === '}' && ends.includes('}');
      if (next.kind !== 'newline' && next.kind !== 'end' && !closes) throw this.unexpected();
    }
    return { kind: 'sequence', statements, place };
  }

  /** A statement with its modifiers: `if`, `unless`, `while`, `and`, `or`. */
  protected statement(): Node {
    let node = this.expressionStatement();
    for (;;) {
      const { token } = this;
      if (token.kind !== 'keyword') return node;
      const { text } = token;
      if (text === 'and' || text === 'or') {
        this.at++;
        this.skipNewlines();
        const right = this.expressionStatement();
        node = { kind: 'binary', operator: text === 'and' ? '&&' : '||', left: node, right, place: token };
      } else if (text === 'if' || text === 'unless') {
        this.at++;
        node = {
          kind: 'if',
          test: this.negated(this.expressionStatement(), text === 'unless'),
          yes: node,
          no: undefined,
          place: token,
        };
      } else if (text === 'while' || text === 'until') {
        this.at++;
        node = {
          kind: 'while',
          test: this.expressionStatement(),
          body: node,
          until: text === 'until',
          bodyFirst: node.kind === 'begin',
          place: token,
        };
      } else return node;
    }
  }

  private negated(value: Node, negate: boolean): Node {
    return negate ? { kind: 'not', value, place: value.place } : value;
  }

  protected keyword(text: string, place: Place): Node {
    switch (text) {
      case 'nil':
        return { kind: 'literal', value: null, place };
      case 'true':
      case 'false':
        return { kind: 'literal', value: text === 'true', place };
      case 'if':
      case 'unless':
        return this.conditional(text === 'unless', place);
      case 'while':
      case 'until': {
        const test = this.expression(false);
        this.take('keyword', 'do');
        const body = this.statements(['end']);
        this.expect('keyword', 'end');
        return { kind: 'while', test, body, until: text === 'until', bodyFirst: false, place };
      }
      case 'for':
        return this.loop(place);
      case 'begin':
        return this.begin(place);
      default:
        this.at--;
        throw this.unexpected();
    }
  }

  protected conditional(negate: boolean, place: Place): Node {
    const test = this.negated(this.expression(false), negate);
    this.take('keyword', 'then');
    const yes = this.statements(['elsif', 'else', 'end']);
    const branch = this.token;
    if (this.take('keyword', 'elsif')) {
      const no = this.nested(() => this.conditional(false, branch));
      return { kind: 'if', test, yes, no, place };
    }
    const no = this.take('keyword', 'else') ? this.statements(['end']) : undefined;
    this.expect('keyword', 'end');
    return { kind: 'if', test, yes, no, place };
  }

  protected loop(place: Place): Node {
    const names: string[] = [];
    do {
      const { token } = this;
      if (token.kind !== 'name') throw this.unexpected('The name of a variable');
      names.push(token.text);
      this.at++;
    } while (this.take('op', ','));
    this.expect('keyword', 'in');
    const over = this.ternary(false);
    this.take('keyword', 'do');
    const body = this.statements(['end']);
    this.expect('keyword', 'end');
    return { kind: 'for', names, over, body, place };
  }

  protected begin(place: Place): Node {
    const body = this.statements(['rescue', 'ensure', 'end']);
    let rescue: Rescue | undefined;
    if (this.take('keyword', 'rescue')) {
      while (this.token.kind === 'constant' || this.is('op', ',')) this.at++;
      let name: string | undefined;
      if (this.take('op', '=>')) {
        const { token } = this;
        if (token.kind !== 'name') throw this.unexpected('The name of a variable');
        name = token.text;
        this.at++;
      }
      this.take('keyword', 'then');
      rescue = { name, body: this.statements(['ensure', 'end']) };
    }
    const ensure = this.take('keyword', 'ensure') ? this.statements(['end']) : undefined;
    this.expect('keyword', 'end');
    return { kind: 'begin', body, rescue, ensure, place };
  }
}
