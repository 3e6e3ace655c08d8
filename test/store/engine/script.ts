/**
 * Random lists of operations whose answers do not depend on which cells are in memory, in which file, or merged: time
 * only goes forwards, so that no write comes under an earlier marker, and single versions are not deleted (R63).
 */

import {
  Append,
  type BatchAction,
  Cell,
  CellType,
  CheckAndMutate,
  Delete,
  Get,
  Increment,
  Put,
  type Result,
  type RowMutation,
  RowMutations,
  Scan,
} from '../../../src/table/index.js';

export type Random = (below: number) => number;

/** The same numbers for the same seed. */
export function randomOf(seed: number): Random {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** `a` keeps one version, `b` three, `c` one for an hour. */
export const SCRIPT_FAMILIES = { a: {}, b: { versions: 3 }, c: { ttl: 3600 } };
const FAMILIES = Object.keys(SCRIPT_FAMILIES);

export type Step =
  | { readonly kind: 'write'; readonly mutation: RowMutation | RowMutations | CheckAndMutate }
  | { readonly kind: 'batch'; readonly actions: readonly BatchAction[]; readonly atomic: boolean }
  | { readonly kind: 'get'; readonly get: Get }
  | { readonly kind: 'scan'; readonly scan: Scan }
  /** Opens a scan that is read on, some rows at a time, while other steps are done. */
  | { readonly kind: 'open'; readonly scan: Scan }
  | { readonly kind: 'read'; readonly rows: number }
  | { readonly kind: 'load'; readonly cells: (now: number) => Cell[] }
  | { readonly kind: 'later'; readonly milliseconds: number };

export function script(seed: number, length: number): Step[] {
  const maker = new StepMaker(randomOf(seed));
  return Array.from({ length }, () => maker.step());
}

class StepMaker {
  constructor(private readonly random: Random) {}

  step(): Step {
    const { random } = this;
    const dice = random(100);
    if (dice < 38) return { kind: 'write', mutation: this.write(this.row()) };
    if (dice < 46) return this.batch();
    if (dice < 70) return { kind: 'get', get: this.get(this.row()) };
    if (dice < 80) return { kind: 'scan', scan: this.scan() };
    if (dice < 84) return { kind: 'open', scan: this.scan() };
    if (dice < 92) return { kind: 'read', rows: 1 + random(6) };
    if (dice < 95) return this.load();
    return { kind: 'later', milliseconds: random(4) === 0 ? 3_000_000 : 1 + random(1000) };
  }

  private row(): string {
    return `row-${String(this.random(40)).padStart(2, '0')}`;
  }

  private family(): string {
    return FAMILIES[this.random(FAMILIES.length)]!;
  }

  private qualifier(): string {
    return ['', 'q', 'q1', 'long-qualifier', 'z'][this.random(5)]!;
  }

  private value(): string {
    const { random } = this;
    return `${random(10_000)}`.repeat(random(10) === 0 ? 60 : 1 + random(4));
  }

  private write(row: string): RowMutation | RowMutations | CheckAndMutate {
    const { random } = this;
    const dice = random(10);
    if (dice === 0) {
      const several = new RowMutations(row).add(this.put(row));
      return random(2) === 0 ? several.add(this.counter(row)) : several.add(this.put(row));
    }
    if (dice === 1) {
      const operator = (['EQUAL', 'NOT_EQUAL', 'LESS', 'GREATER_OR_EQUAL'] as const)[random(4)]!;
      const value = random(3) === 0 ? null : Buffer.from(this.value());
      const qualifier = Buffer.from(this.qualifier());
      return CheckAndMutate.ifMatches(
        { family: this.family(), qualifier, operator, value },
        this.change(row),
      );
    }
    return this.change(row);
  }

  private change(row: string): RowMutation {
    const { random } = this;
    const dice = random(12);
    if (dice < 6) return this.put(row);
    if (dice < 8) return this.counter(row);
    if (dice === 8) return new Append(row).addColumn(this.family(), 'text', this.value());
    const del = new Delete(row);
    if (dice === 9) return del.addColumns(this.family(), this.qualifier());
    return dice === 10 ? del.addFamily(this.family()) : del;
  }

  private put(row: string): Put {
    const put = new Put(row);
    for (let i = this.random(3); i >= 0; i--)
      put.addColumn(this.family(), this.qualifier() + (i === 0 ? '' : i), this.value());
    return put;
  }

  private counter(row: string): Increment {
    return new Increment(row).addColumn(this.family(), 'counter', this.random(100) - 50);
  }

  private batch(): Step {
    const { random } = this;
    const atomic = random(2) === 0;
    const rows = new Set(Array.from({ length: 2 + random(5) }, () => this.row()));
    const actions = [...rows].map((row): BatchAction => {
      if (!atomic && random(4) === 0) return this.get(row);
      return random(3) === 0 ? this.change(row) : this.put(row);
    });
    return { kind: 'batch', actions, atomic };
  }

  private get(row: string): Get {
    const { random } = this;
    const get = new Get(row);
    const dice = random(8);
    if (dice < 3) return get.addColumn(this.family(), this.qualifier());
    if (dice === 3) return get.addFamily(this.family()).readVersions(1 + random(3));
    if (dice === 4) return get.addColumn('b', this.qualifier()).readAllVersions();
    if (dice === 5) return get.setCheckExistenceOnly(true);
    if (dice === 6) return get.addColumn('a', 'counter').addColumn('c', this.qualifier());
    return get;
  }

  private scan(): Scan {
    const { random } = this;
    const scan = new Scan().setReversed(random(2) === 0);
    if (random(2) === 0) scan.withStartRow(this.row(), random(2) === 0);
    if (random(2) === 0) scan.withStopRow(this.row(), random(2) === 0);
    const columns = random(6);
    if (columns < 2) scan.addFamily(this.family());
    else if (columns === 2) scan.addColumn(this.family(), this.qualifier()).addFamily('b');
    if (random(3) === 0) scan.readVersions(1 + random(3));
    const size = random(8);
    if (size < 2) scan.setLimit(1 + random(10));
    else if (size === 2) scan.setBatch(1 + random(4));
    if (random(5) === 0) scan.setCacheBlocks(false);
    return scan;
  }

  private load(): Step {
    const rows = [...new Set(Array.from({ length: 1 + this.random(12) }, () => this.row()))].sort();
    const loaded = rows.map((row) => ({ row, family: this.family(), value: this.value() }));
    return {
      kind: 'load',
      cells: (now) =>
        loaded.map(
          ({ row, family, value }) =>
            new Cell(Buffer.from(row), family, Buffer.from('q'), now, CellType.Put, Buffer.from(value)),
        ),
    };
  }
}

/** A result as text, cell by cell with its timestamp. */
export function resultText(result: Result | undefined): string {
  if (!result) return 'end';
  const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');
  const cells = result.cells.map(
    (cell) => `${cell.family}:${text(cell.qualifier)}@${cell.timestamp}=${text(cell.value)}`,
  );
  return `${text(result.row)}${result.partial ? '+' : ''} ${cells.join(' ')}`;
}
