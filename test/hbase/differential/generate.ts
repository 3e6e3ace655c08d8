import {
  Append,
  CheckAndMutate,
  Delete,
  Get,
  Increment,
  Put,
  type Query,
  type RowMutation,
  RowMutations,
  Scan,
} from '../../../src/table/index.js';
import { type FilterContext, latin1, randomFilter } from './filters.js';
import { APPENDED, COUNTER, FAMILIES, type Group, RowSpace, VALUES } from './model.js';
import type { Random } from './random.js';

/** One step of a sequence: an operation on its rows. */
export type Step =
  | { readonly kind: 'write'; readonly operation: RowMutation | RowMutations }
  | { readonly kind: 'check'; readonly operation: CheckAndMutate }
  | { readonly kind: 'batch'; readonly operation: readonly (RowMutation | Get)[] }
  | { readonly kind: 'get'; readonly operation: Get }
  | { readonly kind: 'scan'; readonly operation: Scan };

const COLUMN_DELETES = { version: 4, versions: 4, latest: 2, family: 0, familyVersion: 0 };
const ALL_DELETES = { ...COLUMN_DELETES, family: 1, familyVersion: 1 };

/** Random operations on the rows of one sequence. */
export class SequenceGenerator {
  private readonly rows: RowSpace;

  constructor(
    private readonly random: Random,
    private readonly group: Group,
    index: number,
  ) {
    this.rows = new RowSpace(index);
  }

  step(): Step {
    const kind = this.random.weighted({
      put: 25,
      delete: 12,
      deleteRow: 2,
      increment: 3,
      append: 3,
      mutateRow: 4,
      check: 6,
      batch: 4,
      get: 12,
      scan: 29,
    });
    const row = this.rows.row(this.random);
    switch (kind) {
      case 'put':
        return { kind: 'write', operation: this.put(row) };
      case 'delete':
        return { kind: 'write', operation: this.delete(row) };
      case 'deleteRow':
        return { kind: 'write', operation: this.deleteRow(row) };
      case 'increment':
        return { kind: 'write', operation: this.increment(row) };
      case 'append':
        return { kind: 'write', operation: this.append(row) };
      case 'mutateRow':
        return { kind: 'write', operation: this.mutateRow(row) };
      case 'check':
        return { kind: 'check', operation: this.check(row) };
      case 'batch':
        return { kind: 'batch', operation: this.batch() };
      case 'get':
        return { kind: 'get', operation: this.query(new Get(row)) };
      case 'scan':
        return { kind: 'scan', operation: this.scan() };
    }
  }

  private put(row: string): Put {
    const put = new Put(row);
    for (let n = this.random.below(3); n >= 0; n--) {
      put.addColumn(
        this.family(),
        this.qualifier(),
        latin1(this.random.pick(VALUES)),
        this.group.time(this.random),
      );
    }
    return put.setTtl(this.group.cellTtl(this.random));
  }

  private delete(row: string): Delete {
    const del = new Delete(row);
    for (let n = this.random.below(2); n >= 0; n--) {
      const time = this.group.time(this.random);
      switch (this.random.weighted(this.group.namedColumnsOnly ? ALL_DELETES : COLUMN_DELETES)) {
        case 'version':
          del.addColumn(this.family(), this.qualifier(), time);
          break;
        case 'versions':
          del.addColumns(this.family(), this.qualifier(), time);
          break;
        case 'latest':
          del.addColumn(this.family(), this.qualifier());
          break;
        case 'family':
          del.addFamily(this.family(), time);
          break;
        case 'familyVersion':
          del.addFamilyVersion(this.family(), time);
          break;
      }
    }
    return del;
  }

  private deleteRow(row: string): Delete {
    return this.group.namedColumnsOnly ? new Delete(row, this.group.time(this.random)) : this.delete(row);
  }

  private increment(row: string): Increment {
    return new Increment(row).addColumn(this.family(), COUNTER, this.random.below(20) - 5);
  }

  private append(row: string): Append {
    return new Append(row).addColumn(this.family(), APPENDED, latin1(this.random.pick(VALUES)));
  }

  private mutateRow(row: string): RowMutations {
    const mutations = new RowMutations(row);
    for (let n = this.random.below(3); n >= 0; n--) {
      mutations.add(this.random.chance(0.6) ? this.put(row) : this.delete(row));
    }
    if (this.random.chance(0.2)) mutations.add(this.increment(row));
    return mutations;
  }

  private check(row: string): CheckAndMutate {
    const { random } = this;
    const action = random.pick([() => this.put(row), () => this.delete(row), () => this.mutateRow(row)])();
    if (this.group.namedColumnsOnly && random.chance(0.25)) {
      return CheckAndMutate.ifFilter(randomFilter(random, this.filterContext('get'), 1), action);
    }
    return CheckAndMutate.ifMatches(
      {
        family: this.family(),
        qualifier: latin1(random.pick(this.group.qualifiers)),
        operator: random.pick([
          'LESS',
          'LESS_OR_EQUAL',
          'EQUAL',
          'NOT_EQUAL',
          'GREATER_OR_EQUAL',
          'GREATER',
        ] as const),
        value: random.chance(0.2) ? null : latin1(random.pick(VALUES)),
      },
      action,
    );
  }

  /** Of different rows: what one batch does to one row twice at the same time is the server's choice. */
  private batch(): (RowMutation | Get)[] {
    const rows = ['a', 'ab', 'b', 'c']
      .filter(() => this.random.chance(0.6))
      .map((row) => this.rows.prefix + row);
    return rows.map((row) =>
      this.random.pick([() => this.put(row), () => this.delete(row), () => this.query(new Get(row))])(),
    );
  }

  private scan(): Scan {
    const { random, rows } = this;
    const scan = new Scan().setReversed(random.chance(0.3));
    const bounds = random.chance(0.5) ? [rows.prefix, rows.end] : [rows.bound(random), rows.end];
    const [first, last] = scan.reversed ? bounds.toReversed() : bounds;
    scan
      .withStartRow(latin1(first ?? ''), random.chance(0.7))
      .withStopRow(latin1(last ?? ''), random.chance(0.3));
    if (random.chance(0.25)) scan.setLimit(1 + random.below(3));
    if (random.chance(0.3)) scan.setCaching(1 + random.below(3));
    if (random.chance(0.25)) return this.rawScan(scan);
    return this.query(scan);
  }

  /** A raw scan with a time range may never return from HBase 2.6.4. */
  private rawScan(scan: Scan): Scan {
    scan.setRaw(true);
    if (this.random.chance(0.3)) scan.addFamily(this.family());
    return this.random.chance(0.7) ? scan.readAllVersions() : scan.readVersions(1 + this.random.below(3));
  }

  private query<Q extends Query>(query: Q): Q {
    const { random } = this;
    if (random.chance(0.3)) query.readAllVersions();
    else if (random.chance(0.5)) query.readVersions(1 + random.below(4));
    if (random.chance(0.3)) {
      const [from = 0, to = 0] = [this.group.time(random), this.group.time(random)].sort((a, b) => a - b);
      query.setTimeRange(from, to + (from === to ? 1 : 0));
    }
    if (random.chance(0.2)) query.addFamily(this.family());
    else if (random.chance(0.25)) {
      for (let n = random.below(3); n >= 0; n--) query.addColumn(this.family(), this.qualifier());
    }
    if (random.chance(0.1)) query.setMaxResultsPerColumnFamily(1 + random.below(3));
    if (this.group.namedColumnsOnly && random.chance(0.3)) {
      const kind = !(query instanceof Scan) ? 'get' : query.reversed ? 'reversed scan' : 'scan';
      const ends = kind === 'get' || !namesColumns(query);
      query.setFilter(randomFilter(random, this.filterContext(kind, ends)));
    }
    return query;
  }

  private filterContext(query: FilterContext['query'], ends = true): FilterContext {
    return { group: this.group, rows: this.rows, query, hints: true, ends };
  }

  private family(): string {
    return this.random.pick(FAMILIES);
  }

  private qualifier(): Buffer {
    return latin1(this.random.pick(this.group.qualifiers));
  }
}

function namesColumns(query: Query): boolean {
  for (const columns of query.families.values()) if (columns !== null) return true;
  return false;
}
