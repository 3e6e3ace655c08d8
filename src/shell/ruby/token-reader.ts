import type { Token } from './lexer.js';
import { IncompleteError, RubyError } from './values.js';

/** How deep statements and expressions are nested, and how many operators or calls follow each other in one. */
const MOST_NESTED = 200;
const MOST_LINKS = 1000;

/** Goes through tokens, one after the other. `depth`: how deep what is read stands in others. */
export abstract class TokenReader {
  protected at = 0;

  constructor(
    protected readonly tokens: readonly Token[],
    protected depth = 0,
  ) {}

  /** Reads what may hold others of its kind. @throws RubyError when that is too deep. */
  protected nested<T>(read: () => T): T {
    if (++this.depth > MOST_NESTED)
      throw new RubyError(`It is nested more than ${MOST_NESTED} deep.`, this.token);
    const found = read();
    this.depth--;
    return found;
  }

  /** @throws RubyError when so many operators or calls are too many. */
  protected checkLinks(count: number): void {
    if (count > MOST_LINKS)
      throw new RubyError(`More than ${MOST_LINKS} operators or calls follow each other.`, this.token);
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
    if (token.kind === 'end') return new IncompleteError(`The statement has no end.${hope}`, token);
    const text =
      'text' in token
        ? `"${token.text}"`
        : token.kind === 'newline'
          ? 'The end of the line'
          : `A ${token.kind}`;
    return new RubyError(`${text} cannot stand here.${hope}`, token);
  }

  protected skipNewlines(): void {
    while (this.token.kind === 'newline') this.at++;
  }
}
