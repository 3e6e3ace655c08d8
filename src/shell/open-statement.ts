/** Whether a statement of several lines is open for sure: then it need not be read again from its beginning with each line. */

import { type Token, tokenize } from './ruby/lexer.js';

const BLOCKS: ReadonlySet<string> = new Set(['if', 'unless', 'while', 'until', 'for', 'begin']);
/** Of these a `do` behind is a part. */
const LOOPS: ReadonlySet<string> = new Set(['while', 'until', 'for']);
const OPENING: ReadonlySet<string> = new Set(['(', '[', '{']);
const CLOSING: ReadonlySet<string> = new Set([')', ']', '}']);

/** Counts brackets and blocks line by line; those that it does not know for sure it leaves out, so that the count is never too high. */
export class OpenStatement {
  private depth = 0;
  private sure = true;

  /** Takes the next line. */
  add(line: string): void {
    if (!this.sure) return;
    try {
      // What goes on on the next line may begin there with a word that begins a block elsewhere.
      if (/\\\r?$/.test(line)) this.sure = false;
      else this.count(tokenize(line));
    } catch {
      // A string that goes on, or no Ruby: who reads the statement will say so.
      this.sure = false;
    }
  }

  /** True: more lines are wanted. False: nothing is known. */
  get isOpen(): boolean {
    return this.sure && this.depth > 0;
  }

  private count(tokens: readonly Token[]): void {
    const [first] = tokens;
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
