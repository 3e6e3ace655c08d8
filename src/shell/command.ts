import { compareBytes } from '../bytes/index.js';
import type { Admin, Engine, RegionInfo, Result, Table } from '../table/index.js';
import type { Formatter } from './formatter.js';
import { bytesOf, CommandError } from './options.js';
import type { RubyHash, RubyObject, RubyValue } from './ruby/index.js';

type CommandGroup = 'general' | 'ddl' | 'namespace' | 'dml' | 'tools' | 'snapshots';

/** One command of the shell. */
export interface ShellCommand {
  readonly name: string;
  readonly group: CommandGroup;
  readonly aliases?: readonly string[];
  /** The smallest number of arguments. */
  readonly minArguments: number;
  readonly maxArguments: number;
  /** Describes the command in one sentence. */
  readonly summary: string;
  /** Examples of input. */
  readonly examples: readonly string[];
  /** Runs the command. The result is printed after `=>`; null prints nothing. */
  run(shell: ShellContext, args: readonly RubyValue[]): Promise<RubyValue>;
}

/**
 * Checks the number of arguments.
 * @throws CommandError in Ruby's wording.
 */
export function checkCount({ minArguments, maxArguments }: ShellCommand, given: number): void {
  if (given >= minArguments && given <= maxArguments) return;
  const expected =
    minArguments === maxArguments
      ? String(minArguments)
      : maxArguments === Number.POSITIVE_INFINITY
        ? `${minArguments}+`
        : `${minArguments}..${maxArguments}`;
  throw new CommandError(`wrong number of arguments (given ${given}, expected ${expected})`);
}

/** Input, output and context of commands. */
export interface ShellIo {
  readonly write: (text: string) => void;
  /** Reads a line from the user; undefined at the end of the input. */
  readonly ask: () => Promise<string | undefined>;
  /** The width of the terminal; 0 if there is none. */
  readonly width: () => number;
}

interface ShellFacts {
  /** With `--entities`: decodes rows. */
  readonly entities: EntityView | undefined;
  /** Rowan's version. */
  readonly version: string;
  /** A table object on which commands can be called. */
  readonly reference: (name: string) => RubyObject;
}

export class ShellContext {
  constructor(
    readonly engine: Engine,
    readonly io: ShellIo,
    readonly formatter: Formatter,
    private readonly facts: ShellFacts,
  ) {}

  get entities(): EntityView | undefined {
    return this.facts.entities;
  }

  get version(): string {
    return this.facts.version;
  }

  reference(table: string): RubyObject {
    return this.facts.reference(table);
  }

  get admin(): Admin {
    return this.engine.admin;
  }

  table(name: string): Table {
    return this.engine.table(name);
  }

  print(text: string): void {
    this.io.write(`${text}\n`);
  }

  /** The name of the region that holds a row; empty if unknown. */
  async regionOf(table: string, row: RubyValue): Promise<string> {
    const regions = await this.admin.getRegions(table);
    return regionHolding(regions, bytesOf(row))?.name ?? '';
  }

  /** Asks a question; returns whether the user answered yes. */
  async confirmed(question: string): Promise<boolean> {
    this.print(`\n${question} (y/n)?`);
    return /y.*/i.test((await this.io.ask()) ?? 'n');
  }
}

export function regionHolding(regions: readonly RegionInfo[], row: Uint8Array): RegionInfo | undefined {
  return regions.find(
    ({ startKey, endKey }) =>
      compareBytes(startKey, row) <= 0 && (endKey.length === 0 || compareBytes(row, endKey) < 0),
  );
}

/** Rows [startRow, stopRow); empty bounds are open. */
export interface RowInterval {
  readonly startRow: Uint8Array;
  readonly stopRow: Uint8Array;
}

/** Decodes rows by the declarations of their entities (`--entities`). */
export interface EntityView {
  /** The row with these key parts. @throws RowanError when they are not a whole key of the table. */
  rowOf(table: string, key: RubyHash): Uint8Array;
  /**
   * The row ranges of keys with these parts. @throws RowanError when they are not leading parts of any key of the
   * table.
   */
  rangesOf(table: string, key: RubyHash): readonly RowInterval[];
  /** Describes a row in one line; undefined if it belongs to no entity. */
  describe(table: string, result: Result): string | undefined;
}
