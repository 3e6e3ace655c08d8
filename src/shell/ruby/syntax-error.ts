import { RowanError } from '../../errors.js';

/** Where something stands in a script; both from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** What a script says cannot be read, or is Ruby that the shell does not know. Names line and column. */
export class RubyError extends RowanError {
  constructor(
    message: string,
    readonly place: Place,
  ) {
    super('ERR_INVALID_ARGUMENT', `line ${place.line}, column ${place.column}: ${message}`, {
      details: { line: place.line, column: place.column },
    });
  }
}

/** The text ends within a statement: more lines are wanted. */
export class IncompleteError extends RubyError {}

/** An error that Ruby would raise: its class, its message, and where. */
export class RubyRaised extends RubyError {
  constructor(
    readonly rubyClass: string,
    readonly text: string,
    place: Place,
  ) {
    super(`${rubyClass}: ${text}`, place);
  }
}
