/** The lines of a statement, until it is whole: one that is open for sure need not be read again from its beginning with each line. */

import { type Token, tokenize } from './ruby/lexer.js';
import type { Place } from './ruby/syntax-error.js';

const BLOCKS: ReadonlySet<string> = new Set(['if', 'unless', 'while', 'until', 'for', 'begin']);
/** Of these a `do` behind is a part. */
const LOOPS: ReadonlySet<string> = new Set(['while', 'until', 'for']);
const OPENING: ReadonlySet<string> = new Set(['(', '[', '{']);
const CLOSING: ReadonlySet<string> = new Set([')', ']', '}']);

/** Counts brackets and blocks line by line; those that it does not know for sure it leaves out, so that the count is never too high. */
export class OpenStatement {
  /** Its lines so far. */
  text = '';
  private firstLine = 1;
  private depth = 0;
  private sure = true;
  /** Whether the last line goes on on the next, behind a `\`. */
  private goesOn = false;

  /** Where it begins. */
  get place(): Place {
    return { line: this.firstLine, column: 1 };
  }

  /** Takes the next line, of this number. */
  add(line: string, number: number): void {
    if (this.text === '') this.firstLine = number;
    this.text += `${line}\n`;
    if (!this.sure) return;
    try {
      const tokens = tokenize(`${line}\n`);
      // What goes on on this line may begin with a word that begins a block elsewhere.
      this.count(tokens, this.goesOn ? undefined : tokens[0]);
      const end = tokens.at(-1);
      this.goesOn = end?.kind === 'end' && end.goesOn;
    } catch {
      // A string that goes on, or no Ruby: who reads the statement will say so.
      this.sure = false;
    }
  }

  /** True: more lines are wanted. False: nothing is known. */
  get isOpen(): boolean {
    return this.sure && (this.goesOn || this.depth > 0);
  }

  /** Whether nothing but blanks was taken. */
  get isBlank(): boolean {
    return this.text.trim() === '';
  }

  /** Begins the next statement. */
  clear(): void {
    this.text = '';
    this.depth = 0;
    this.sure = true;
    this.goesOn = false;
  }

  private count(tokens: readonly Token[], first: Token | undefined): void {
    const begins = first?.kind === 'keyword' ? first.text : '';
    if (BLOCKS.has(begins)) this.depth++;
    for (const token of tokens) {
      if (token.kind === 'op' && OPENING.has(token.text)) this.depth++;
      else if (token.kind === 'op' && CLOSING.has(token.text)) this.depth--;
      else if (token.kind === 'keyword' && token.text === 'end') this.depth--;
      else if (token.kind === 'keyword' && token.text === 'do' && !LOOPS.has(begins)) this.depth++;
    }
  }
}
