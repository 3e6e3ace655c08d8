import { InvalidArgumentError } from '../errors.js';
import { describe } from './checks.js';

/** A label as it stands, or one between quotes, which may hold anything; `\"` and `\\` within. */
const LABEL = /[\w.:/-]+|"(?!\s*")(?:[^"\\]|\\["\\])+"/y;
const SPACE = /\s*/y;

/**
 * The grammar of HBase's expressions of labels:
 *
 *     expression = operand { ("&" | "|") operand }
 *     operand    = label | "!" label | [ "!" ] "(" expression ")"
 *
 * A server fails all that travels with an expression that it cannot read, and not as an error of the caller's.
 * @throws InvalidArgumentError naming where it cannot be read.
 */
export function checkVisibility(expression: string): string {
  if (typeof expression !== 'string') {
    throw new InvalidArgumentError(
      `A visibility is an expression of labels, "secret & !trial", not ${describe(expression)}.`,
    );
  }
  const reader = new ExpressionReader(expression);
  reader.expression(0);
  return expression;
}

/** Parentheses within each other: more have no use, and would take the stack. */
const DEEPEST = 100;

class ExpressionReader {
  private at = 0;

  constructor(private readonly text: string) {}

  expression(depth: number): void {
    if (depth > DEEPEST) this.fail(`at most ${DEEPEST} parentheses within each other`);
    do this.operand(depth);
    while (this.take('&') || this.take('|'));
    if (depth === 0 && this.at < this.text.length) this.fail('"&" or "|"');
  }

  private operand(depth: number): void {
    if (this.take('!') && /\s/.test(this.text[this.at - 1]!)) this.fail('no space behind "!"');
    if (!this.take('(')) {
      this.label();
      return;
    }
    this.expression(depth + 1);
    if (!this.take(')')) this.fail('"&", "|" or ")"');
  }

  private label(): void {
    LABEL.lastIndex = this.at;
    if (!LABEL.test(this.text)) this.fail('a label');
    this.at = LABEL.lastIndex;
    this.space();
  }

  private take(sign: string): boolean {
    this.space();
    if (this.text[this.at] !== sign) return false;
    this.at++;
    this.space();
    return true;
  }

  private space(): void {
    SPACE.lastIndex = this.at;
    SPACE.test(this.text);
    this.at = SPACE.lastIndex;
  }

  private fail(wanted: string): never {
    const found = this.at < this.text.length ? `"${this.text.slice(this.at, this.at + 20)}"` : 'its end';
    throw new InvalidArgumentError(
      `The visibility ${describe(this.text)} has ${found} at character ${this.at} where ${wanted} is to be. ` +
        'Write labels joined by "&", "|" and "!", with parentheses; those of other characters than letters, digits and "_-.:/" between quotes.',
    );
  }
}
