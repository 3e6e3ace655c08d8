import { compareBytes } from '../bytes/index.js';
import type { Admin, Engine, RegionInfo, Result, Table } from '../table/index.js';
import type { Formatter } from './formatter.js';
import { bytesOf, CommandError } from './options.js';
import type { RubyHash, RubyObject, RubyValue } from './ruby/index.js';

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

/** What commands work with. */
export interface ShellIo {
  readonly write: (text: string) => void;
  /** A line of the user's; undefined at the end of the input. */
  readonly ask: () => Promise<string | undefined>;
  /** Columns of the terminal; 0 where there is none. */
  readonly width: () => number;
}

export interface ShellFacts {
  /** With `--entities`: what rows mean. */
  readonly entities: EntityView | undefined;
  /** Rowan's. */
  readonly version: string;
  /** A table that commands can be called on. */
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

  /** The name of the region that holds a row; empty when it cannot be told. */
  async regionOf(table: string, row: RubyValue): Promise<string> {
    const regions = await this.admin.getRegions(table);
    return regionHolding(regions, bytesOf(row))?.name ?? '';
  }

  /** Whether the user answers a question with yes. */
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

/** Rows from `startRow` to before `stopRow`; empty ends are open. */
export interface RowInterval {
  readonly startRow: Uint8Array;
  readonly stopRow: Uint8Array;
}

/** What rows mean, where the declarations of their entities are known (`--entities`). */
export interface EntityView {
  /** The row of a key given by its parts. @throws RowanError when it is no key of the table's. */
  rowOf(table: string, key: RubyHash): Uint8Array;
  /** Where the rows are whose keys have these parts. @throws RowanError when no key of the table's has them in front. */
  rangesOf(table: string, key: RubyHash): readonly RowInterval[];
  /** A line that says what a row is; undefined for one that is no entity's. */
  describe(table: string, result: Result): string | undefined;
}
