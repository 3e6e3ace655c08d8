import { compareBytes } from '../bytes/index.js';
import type { Admin, Engine, RegionInfo, Table } from '../table/index.js';
import type { EntityView } from './entities.js';
import type { Formatter } from './formatter.js';
import { bytesOf } from './options.js';
import type { RubyObject, RubyValue } from './ruby/index.js';

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
