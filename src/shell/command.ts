import { CommandError } from './command-error.js';
import type { ShellContext } from './context.js';
import type { RubyValue } from './ruby/index.js';

export type CommandGroup = 'general' | 'ddl' | 'namespace' | 'dml' | 'tools' | 'snapshots';

/** One command of the shell. */
export interface ShellCommand {
  readonly name: string;
  readonly group: CommandGroup;
  readonly aliases?: readonly string[];
  /** How many arguments it takes. */
  readonly least: number;
  readonly most: number;
  /** What it does, in one sentence. */
  readonly summary: string;
  /** Examples, as they are typed. */
  readonly examples: readonly string[];
  /** Answers what stands behind `=>`; null stands for nothing. */
  run(shell: ShellContext, args: readonly RubyValue[]): Promise<RubyValue>;
}

/** @throws CommandError in Ruby's words. */
export function checkCount({ least, most }: ShellCommand, given: number): void {
  if (given >= least && given <= most) return;
  const expected =
    least === most ? String(least) : most === Number.POSITIVE_INFINITY ? `${least}+` : `${least}..${most}`;
  throw new CommandError(`wrong number of arguments (given ${given}, expected ${expected})`);
}
