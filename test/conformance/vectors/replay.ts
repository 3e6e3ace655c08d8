/** Runs recorded sequences against an engine and compares each answer with the recorded one. */

import { isDeepStrictEqual } from 'node:util';
import { fromLatin1, toLatin1 } from '../../../src/bytes/index.js';
import {
  Append,
  type Cell,
  CellType,
  CheckAndMutate,
  Delete,
  type Engine,
  type Filter,
  filters,
  Get,
  Increment,
  Put,
  type Query,
  type Result,
  RowMutations,
  Scan,
  type Table,
  tableDescriptor,
} from '../../../src/table/index.js';
import type { TestClock } from '../harness.js';
import type { RecordedGroup } from './load.js';
import type {
  RecordedCell,
  RecordedFilter,
  RecordedMutation,
  RecordedQuery,
  RecordedSequence,
  RecordedStep,
  RecordedType,
} from './types.js';

/** An answer that was not the recorded one. */
interface Difference {
  readonly sequence: string;
  readonly step: number;
  readonly recorded: unknown;
  readonly answered: unknown;
  readonly operation: unknown;
}

/** Milliseconds between two steps. */
const STEP_MS = 10;
const TYPES: Readonly<Record<CellType, RecordedType>> = {
  [CellType.Put]: 'P',
  [CellType.Delete]: 'D',
  [CellType.DeleteFamilyVersion]: 'DFV',
  [CellType.DeleteColumn]: 'DC',
  [CellType.DeleteFamily]: 'DF',
};

/** Replays a group in one table of the engine, step by step over all its sequences. */
export async function replayGroup(
  group: RecordedGroup,
  engine: Engine,
  clock: TestClock | undefined,
): Promise<Difference[]> {
  const first = group.sequences[0]!;
  const name = `vectors_${group.id.replace('.', '_')}`;
  await engine.admin.createTable(
    tableDescriptor(
      name,
      Object.fromEntries(
        first.families.map((family) => [
          family.name,
          {
            versions: family.versions,
            minVersions: family.minVersions,
            ...(family.ttl === null ? {} : { ttl: family.ttl }),
            keepDeletedCells: family.keepDeletedCells,
            newVersionBehavior: family.newVersionBehavior,
          },
        ]),
      ),
      // As it was recorded: nothing is merged but by a step.
      { configuration: { 'hbase.hstore.compaction.min': '100', 'hbase.hstore.blockingStoreFiles': '200' } },
    ),
  );
  const differences: Difference[] = [];
  const table = engine.table(name);
  const start = clock?.time ?? Date.now();
  for (let step = 0; step < first.steps.length; step++) {
    for (const sequence of group.sequences) {
      const operation = sequence.steps[step]!;
      if (operation.op === 'flush' || operation.op === 'major') {
        if (sequence !== first) continue;
        await engine.admin.flush(name);
        if (operation.op === 'major') await engine.admin.majorCompact(name);
        continue;
      }
      const answered = await new StepRunner(table, sequence, start).run(operation);
      const recorded = 'expect' in operation ? operation.expect : undefined;
      if (!isDeepStrictEqual(answered, recorded)) {
        differences.push({ sequence: sequence.id, step, recorded, answered, operation });
      }
    }
    clock?.advance(STEP_MS);
  }
  return differences;
}

/** Runs one step of a sequence; `start` is the time that its timestamps count back from. */
class StepRunner {
  constructor(
    private readonly table: Table,
    private readonly sequence: RecordedSequence,
    private readonly start: number,
  ) {}

  /** The answer in the recording's words; undefined for steps without one. */
  async run(step: RecordedStep): Promise<unknown> {
    switch (step.op) {
      case 'put':
        return this.table.put(this.put(step));
      case 'delete':
      case 'deleteRow':
        return this.table.delete(this.delete(step));
      case 'mutateRow': {
        const mutations = step.mutations.map((mutation) => this.mutation(mutation));
        await this.table.mutateRow(new RowMutations(fromLatin1(step.row)).add(...mutations));
        return undefined;
      }
      case 'increment': {
        const qualifier = fromLatin1(step.qualifier);
        const increment = new Increment(fromLatin1(step.row)).addColumn(step.family, qualifier, step.by);
        const value = (await this.table.increment(increment)).getValue(step.family, qualifier)!;
        return Number(new DataView(value.buffer, value.byteOffset, 8).getBigInt64(0));
      }
      case 'append': {
        const qualifier = fromLatin1(step.qualifier);
        const append = new Append(fromLatin1(step.row));
        append.addColumn(step.family, qualifier, fromLatin1(step.value));
        return toLatin1((await this.table.append(append)).getValue(step.family, qualifier)!);
      }
      case 'check':
        return (await this.table.checkAndMutate(this.check(step))).success;
      case 'get': {
        const get = new Get(fromLatin1(step.row));
        this.describe(get, step);
        return this.cells([await this.table.get(get)]);
      }
      case 'scan':
        return this.scan(step);
      default:
        throw new Error(`Unknown step ${JSON.stringify(step)}.`);
    }
  }

  private async scan(step: Extract<RecordedStep, { op: 'scan' }>): Promise<RecordedCell[]> {
    const scan = new Scan();
    scan.setReversed(step.reversed ?? false).setRaw(step.raw ?? false);
    scan.withStartRow(fromLatin1(step.start), step.startInclusive);
    scan.withStopRow(fromLatin1(step.stop), step.stopInclusive);
    scan.setLimit(step.limit);
    this.describe(scan, step);
    const results: Result[] = [];
    for await (const result of this.table.scan(scan)) results.push(result);
    return this.cells(results);
  }

  private check(step: Extract<RecordedStep, { op: 'check' }>): CheckAndMutate {
    const action = this.mutation(step.then);
    const qualifier = fromLatin1(step.qualifier);
    if (step.cmp === 'NOT_EXISTS') return CheckAndMutate.ifNotExists(step.family, qualifier, action);
    const column = { family: step.family, qualifier, operator: step.cmp, value: fromLatin1(step.value) };
    return CheckAndMutate.ifMatches(column, action);
  }

  private mutation(step: RecordedMutation): Put | Delete {
    return step.op === 'put' ? this.put(step) : this.delete(step);
  }

  private put(step: Extract<RecordedMutation, { op: 'put' }>): Put {
    const put = new Put(fromLatin1(step.row)).setTtl(step.cellTtlMs);
    for (const [family, qualifier, timestamp, value] of step.cells) {
      put.addColumn(family, fromLatin1(qualifier), fromLatin1(value), this.time(timestamp));
    }
    return put;
  }

  private delete(step: Exclude<RecordedMutation, { op: 'put' }>): Delete {
    const row = fromLatin1(step.row);
    if (step.op === 'deleteRow') return new Delete(row, this.time(step.ts));
    const del = new Delete(row);
    for (const item of step.items) {
      if (item[0] === 'column') del.addColumn(item[1], fromLatin1(item[2]), this.time(item[3]));
      else if (item[0] === 'columns') del.addColumns(item[1], fromLatin1(item[2]), this.time(item[3]));
      else if (item[0] === 'columnLatest') del.addColumn(item[1], fromLatin1(item[2]));
      else if (item[0] === 'family') del.addFamily(item[1], this.time(item[2]));
      else del.addFamilyVersion(item[1], this.time(item[2]));
    }
    return del;
  }

  private describe(query: Query, step: RecordedQuery): void {
    if (step.versions === 'all') query.readAllVersions();
    else if (step.versions !== undefined) query.readVersions(step.versions);
    if (step.timeRange) {
      const [from, to] = step.timeRange;
      const min = from === null ? 0 : this.time(from);
      if (to === null) query.setTimeRange(min);
      else query.setTimeRange(min, this.time(to));
    }
    for (const family of step.families ?? []) query.addFamily(family);
    for (const [family, qualifier] of step.columns ?? []) query.addColumn(family, fromLatin1(qualifier));
    if (step.filter) query.setFilter(this.filter(step.filter));
  }

  private filter(filter: RecordedFilter): Filter {
    switch (filter.type) {
      case 'prefix':
        return filters.prefix(fromLatin1(filter.value));
      case 'columnPrefix':
        return filters.columnPrefix(fromLatin1(filter.value));
      case 'row':
      case 'family':
      case 'qualifier':
      case 'value':
        return filters[filter.type](filter.cmp, fromLatin1(filter.value));
      case 'columnRange':
        return filters.columnRange(
          fromLatin1(filter.min),
          filter.minInclusive,
          fromLatin1(filter.max),
          filter.maxInclusive,
        );
      case 'firstKeyOnly':
        return filters.firstKeyOnly();
      case 'keyOnly':
        return filters.keyOnly(filter.lenAsVal);
      case 'timestamps':
        return filters.timestamps(filter.timestamps.map((timestamp) => this.time(timestamp)));
      case 'singleColumnValue': {
        const { family, cmp, filterIfMissing, latestVersionOnly } = filter;
        const options = { filterIfMissing, latestVersionOnly };
        const value = fromLatin1(filter.value);
        return filters.singleColumnValue(family, fromLatin1(filter.qualifier), cmp, value, options);
      }
      case 'multipleColumnPrefix':
        return filters.multipleColumnPrefix(filter.values.map(fromLatin1));
      case 'inclusiveStop':
        return filters.inclusiveStop(fromLatin1(filter.row));
      case 'columnPagination':
        return filters.columnPagination(filter.limit, filter.offset);
      case 'columnCount':
        return filters.columnCount(filter.limit);
      case 'page':
        return filters.page(filter.size);
      case 'while':
        return filters.while(this.filter(filter.filter));
      case 'skip':
        return filters.skip(this.filter(filter.filter));
      case 'list': {
        const parts = filter.filters.map((part) => this.filter(part));
        return filter.op === 'AND' ? filters.all(...parts) : filters.any(...parts);
      }
    }
  }

  private cells(results: readonly Result[]): RecordedCell[] {
    return results.flatMap((result) => result.cells.map((cell) => this.cell(cell)));
  }

  private cell(cell: Cell): RecordedCell {
    return [
      toLatin1(cell.row),
      cell.family,
      toLatin1(cell.qualifier),
      this.recordedTime(cell.timestamp),
      TYPES[cell.type],
      toLatin1(cell.value),
    ];
  }

  private time(recorded: number): number {
    const { ages } = this.sequence;
    return ages === null || recorded === 0 ? recorded : this.start - ages[recorded]! * 1000;
  }

  /** The recorded number of a timestamp: a sequence takes far less time than the ages lie apart. */
  private recordedTime(timestamp: number): number | 'now' {
    const { ages } = this.sequence;
    if (ages === null) return timestamp < 1000 ? timestamp : 'now';
    if (timestamp === 0) return 0;
    const age = (this.start - timestamp) / 1000;
    const nearest = ages.findIndex((each, i) => i > 0 && Math.abs(each - age) < 300);
    return nearest > 0 ? nearest : 'now';
  }
}
