import type { Token } from './lexer.js';
import { IncompleteError, RubyError } from './values.js';

/** The largest nesting depth of statements and expressions, and number of operators or calls in a chain. */
const MOST_NESTED = 200;
const MOST_LINKS = 1000;

/** Reads tokens one by one. `depth`: the nesting depth of the text. */
export abstract class TokenReader {
  protected at = 0;

  constructor(
    protected readonly tokens: readonly Token[],
    protected depth = 0,
  ) {}

  /** Reads a nested construct. @throws RubyError when the nesting is too deep. */
  protected nested<T>(read: () => T): T {
    if (++this.depth > MOST_NESTED) throw new RubyError(`Nesting is deeper than ${MOST_NESTED}.`, this.token);
    const found = read();
    this.depth--;
    return found;
  }

  /**
   * Checks the length of a chain.
   * @throws RubyError when it is too long.
   */
  protected checkLinks(count: number): void {
    if (count > MOST_LINKS)
      throw new RubyError(`More than ${MOST_LINKS} operators or calls in a chain.`, this.token);
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
      'text' in token
        ? `"${token.text}"`
        : token.kind === 'newline'
          ? 'The end of the line'
          : `A ${token.kind}`;
    return new RubyError(`Unexpected ${text}.${hope}`, token);
  }

  protected skipNewlines(): void {
    while (this.token.kind === 'newline') this.at++;
  }
}
