import type { Token } from './lexer.js';
import { IncompleteError, RubyError } from './syntax-error.js';

/** Goes through tokens, one after the other. */
export abstract class TokenReader {
  protected at = 0;

  constructor(protected readonly tokens: readonly Token[]) {}

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
