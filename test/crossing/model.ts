/** What a database of random declarations comes to, by a plain Map: one operation after the other. */

import {
  type Declared,
  type Feature,
  KEPT_VERSIONS,
  LIFE,
  type Rule,
  saidOf,
  upgraded,
  type Values,
} from './declare.js';

export interface Row {
  readonly key: Values;
  /** Without absent ones; Maps and histories only where they have something. */
  readonly values: Values;
  /** Ms at which it ends. */
  readonly end: number | undefined;
}

export type Rows = ReadonlyMap<string, Row>;

/** What an operation came to: `ok`, or the code of an error. */
export type Outcome = string;

/** One operation, as it is drawn; `values` may hold null (delete) and lacks what is left alone. */
export interface Operation {
  readonly kind:
    | 'put'
    | 'insert'
    | 'replace'
    | 'update'
    | 'upsert'
    | 'delete'
    | 'restore'
    | 'purge'
    | 'checkPut'
    | 'checkUpdate'
    | 'checkDelete'
    | 'mutate'
    | 'increment'
    | 'append'
    | 'source'
    | 'sourceGone';
  readonly key: Values;
  readonly values: Values;
  /** The version that a put knows. */
  readonly version: unknown;
  /** Of checks: the value that `a` must have. */
  readonly asked: unknown;
}

export const keyText = (key: Values): string =>
  [key['k0'], key['k1']].map((value) => (value instanceof Date ? value.getTime() : String(value))).join('/');

/** When operations take place. */
interface Moment {
  /** The store's time, at which lives begin: it stands still while the clock is set back. */
  readonly now: number;
  /** By which lives end. */
  readonly clock: number;
}

/** What is stored, changed by one operation after the other; a copy of the whole for each, so that any can be gone back to. */
export class Model {
  rows: Rows = new Map();
  sources: ReadonlyMap<string, string> = new Map();

  constructor(
    private readonly declared: Declared,
    private readonly moment: Moment,
  ) {}

  has(feature: Feature): boolean {
    return this.declared.features.has(feature);
  }

  /** The row, if it has not ended. */
  row(key: Values): Row | undefined {
    const row = this.rows.get(keyText(key));
    return row === undefined || (row.end !== undefined && row.end <= this.moment.clock) ? undefined : row;
  }

  /** The last time at which a row has ended by itself, if it was not written again since. */
  get lastEnd(): number {
    const ends = [...this.rows.values()].map(({ end }) => end ?? 0);
    return Math.max(0, ...ends.filter((end) => end <= this.moment.clock));
  }

  /** The row, if it is there for those who read. */
  living(key: Values): Row | undefined {
    const row = this.row(key);
    return row?.values['deleted'] === undefined ? row : undefined;
  }

  /** Rows that have not ended; `withDeleted`: also those that were deleted and left. */
  all(withDeleted = false): Row[] {
    return [...this.rows.values()]
      .filter(({ key }) => (withDeleted ? this.row(key) : this.living(key)) !== undefined)
      .map(({ key }) => this.row(key)!);
  }

  run(operation: Operation): Outcome {
    const { key, kind } = operation;
    switch (kind) {
      case 'put':
        return this.put(operation, false);
      case 'insert':
        return this.insert(operation);
      case 'replace':
        return this.put(operation, true);
      case 'update':
        return this.update(key, operation.values);
      case 'upsert':
        return this.upsert(operation);
      case 'delete':
        return this.delete(key);
      case 'restore':
        return this.restore(key);
      case 'purge':
        return this.drop(key);
      case 'checkPut':
      case 'checkUpdate':
      case 'checkDelete':
        return this.check(operation);
      case 'mutate':
        return this.store(key, this.changed(this.row(key), operation.values), undefined);
      case 'increment': {
        const before = this.row(key);
        const n = ((before?.values['n'] as bigint | undefined) ?? 0n) + 2n;
        return this.store(key, this.changed(before, { n }), undefined);
      }
      case 'append': {
        const before = this.row(key);
        const a = `${String(before?.values['a'] ?? '')}${String(operation.values['a'])}`;
        return this.store(key, this.changed(before, { a }), undefined);
      }
      case 'source':
      case 'sourceGone':
        return this.changeSource(String(operation.values['ref']), operation.values['name'] as string);
    }
  }

  /** Makes each row one of the next version, as whoever reads it sees it from now on. */
  upgrade(): void {
    const rows = new Map(this.rows);
    for (const [place, row] of rows) {
      const { size } = row.values;
      if (size !== undefined)
        rows.set(place, { ...row, values: { ...row.values, size: upgraded(size as string) } });
    }
    this.rows = rows;
  }

  private put({ key, values, version }: Operation, replaced: boolean): Outcome {
    const before = this.row(key);
    const locked = this.has('version');
    if (locked && before?.values['version'] !== version) return 'ERR_CONFLICT';
    const given = { ...values, ...(replaced ? this.defaultsOf(values) : {}) };
    const kept = replaced ? this.replaced(before, given) : before;
    return this.whole(key, kept, given, locked ? Number(version ?? 0) + 1 : undefined);
  }

  /** A replacement leaves the version, and no life is begun by it. */
  private replaced(before: Row | undefined, given: Values): Row | undefined {
    if (before === undefined) return undefined;
    const values: Values = {};
    for (const name of ['version', 'past'] as const) {
      // A history that is written stays; one that is not said is gone.
      if (name === 'past' && given['past'] === undefined) continue;
      if (before.values[name] !== undefined) values[name] = before.values[name];
    }
    return { ...before, values };
  }

  private insert({ key, values }: Operation): Outcome {
    if (this.row(key) !== undefined) return 'ERR_CONFLICT';
    const created = this.has('stamps') ? { created: new Date(this.moment.now) } : {};
    const given = { ...values, ...this.defaultsOf(values), ...created };
    return this.whole(key, undefined, given, this.has('version') ? 1 : undefined);
  }

  private whole(key: Values, before: Row | undefined, values: Values, version: number | undefined): Outcome {
    const given: Values = { ...values };
    if (this.has('hooks')) given['hooked'] = `${String(given['a'])}!`;
    if (this.has('stamps')) given['updated'] = new Date(this.moment.now);
    if (version !== undefined) given['version'] = version;
    if (this.has('softDelete')) given['deleted'] = null;
    return this.store(key, this.changed(before, given), given['ttl'] as number | undefined);
  }

  private update(key: Values, patch: Values, counted = this.living(key)): Outcome {
    if (counted === undefined) return 'ERR_NOT_FOUND';
    const given: Values = { ...patch };
    if (this.has('hooks')) given['hooked'] = `${String(given['a'])}!`;
    if (this.has('stamps')) given['updated'] = new Date(this.moment.now);
    return this.counted(key, counted, given);
  }

  private counted(key: Values, before: Row, given: Values): Outcome {
    if (this.has('version')) given['version'] = Number(before.values['version'] ?? 0) + 1;
    return this.store(key, this.changed(before, given), given['ttl'] as number | undefined);
  }

  private upsert(operation: Operation): Outcome {
    const { key, values } = operation;
    if (this.row(key) === undefined) {
      const outcome = this.insert(operation);
      return outcome === 'ok' ? 'inserted' : outcome;
    }
    if (this.living(key) === undefined) return 'ERR_CONFLICT';
    const outcome = this.update(key, { a: values['a'] ?? null });
    return outcome === 'ok' ? 'updated' : outcome;
  }

  private delete(key: Values): Outcome {
    if (!this.has('softDelete')) return this.drop(key);
    const before = this.living(key);
    if (before === undefined) return 'ok';
    return this.counted(key, before, { deleted: new Date(this.moment.now) });
  }

  private restore(key: Values): Outcome {
    const before = this.row(key);
    return before === undefined ? 'ERR_NOT_FOUND' : this.counted(key, before, { deleted: null });
  }

  private drop(key: Values): Outcome {
    const rows = new Map(this.rows);
    rows.delete(keyText(key));
    this.rows = rows;
    return 'ok';
  }

  private check(operation: Operation): Outcome {
    const { key, kind, values, asked } = operation;
    const before = this.living(key);
    if (before === undefined || before.values['a'] !== asked) return 'unmet';
    if (kind === 'checkDelete') return this.delete(key);
    if (kind === 'checkUpdate') return this.update(key, values);
    if (this.has('version') && before.values['version'] !== operation.version) return 'unmet';
    return this.put(operation, false);
  }

  private changeSource(id: string, name: string | undefined): Outcome {
    const sources = new Map(this.sources);
    if (name === undefined) {
      if (this.declared.rule !== undefined && !this.follow(id, this.declared.rule)) return 'ERR_REFERENCE';
      sources.delete(id);
    } else sources.set(id, name);
    this.sources = sources;
    const rows = new Map(this.rows);
    for (const [place, row] of rows) {
      if (row.values['ref'] === id) rows.set(place, { ...row, values: this.copied(row.values) });
    }
    this.rows = rows;
    return 'ok';
  }

  /** What becomes of the rows that name what is deleted; false: they keep it. */
  private follow(id: string, rule: Rule): boolean {
    for (const { key, values } of this.all()) {
      if (values['ref'] !== id) continue;
      if (rule === 'restrict') return false;
      if (rule === 'cascade') this.delete(key);
      else {
        const { ref: _, ...rest } = values;
        const version = this.has('version') ? { version: Number(values['version'] ?? 0) + 1 } : {};
        this.store(key, this.copied({ ...rest, ...version }), undefined);
      }
    }
    return true;
  }

  private copied(values: Values): Values {
    if (!this.has('copies')) return values;
    const { copy: _, ...rest } = values;
    const name = this.sources.get(values['ref'] as string);
    return name === undefined ? rest : { ...rest, copy: name };
  }

  private defaultsOf(values: Values): Values {
    return this.has('defaults') && values['given'] === undefined ? { given: 'default' } : {};
  }

  /** The values of the row with these, as a put changes them. */
  private changed(before: Row | undefined, given: Values): Values {
    const values: Values = { ...before?.values };
    for (const [name, value] of Object.entries(given)) {
      if (value === undefined || name === 'ttl') continue;
      if (value === null) delete values[name];
      else if (name === 'map' || name === 'points') values[name] = merged(values[name], value);
      else if (name === 'inner')
        values[name] = withLeaves(values[name] as Values | undefined, value as Values);
      else if (name === 'past') {
        const kept = [...(value as string[]), ...((values[name] ?? []) as string[])];
        values[name] = kept.slice(0, this.has('past') ? 50 : KEPT_VERSIONS);
      } else values[name] = value;
      if (GATHERED.has(name) && isEmpty(values[name])) delete values[name];
    }
    return this.copied(values);
  }

  /** Whether a write begins to name what is not there. */
  private isDangling(key: Values, { ref, deleted }: Values): boolean {
    if (!this.has('rules') || ref === undefined || deleted !== undefined) return false;
    return !this.sources.has(ref as string) && this.living(key)?.values['ref'] !== ref;
  }

  private store(key: Values, values: Values, own: number | undefined): Outcome {
    const { now } = this.moment;
    const mail = values['mail'];
    if (mail !== undefined) {
      const others = this.all(true).filter((row) => keyText(row.key) !== keyText(key));
      if (others.some((row) => row.values['mail'] === mail)) return 'ERR_CONFLICT';
    }
    if (this.isDangling(key, values)) return 'ERR_REFERENCE';
    const before = this.row(key);
    const lifelong = this.has('ttl') || this.has('ownTtl');
    const usual = this.has('ttl') ? LIFE : undefined;
    const said = own ?? (before === undefined || this.declared.renew ? usual : undefined);
    const end = !lifelong
      ? undefined
      : before !== undefined && said === undefined
        ? before.end
        : said === undefined
          ? undefined
          : now + said + (now + said === before?.end ? 1 : 0);
    const { said: _, ...rest } = values;
    const computed = this.has('computed') ? saidOf(rest) : undefined;
    const stored = computed === undefined ? rest : { ...rest, said: computed };
    this.rows = new Map(this.rows).set(keyText(key), { key, values: stored, end });
    return 'ok';
  }
}

function merged(before: unknown, given: unknown): Map<unknown, unknown> {
  const out = new Map((before ?? []) as Map<unknown, unknown>);
  for (const [name, value] of given as Map<unknown, unknown>) {
    if (value === null) out.delete(name);
    else out.set(name, value);
  }
  return out;
}

function withLeaves(before: Values | undefined, given: Values): Values {
  const out: Values = { ...before };
  for (const [name, value] of Object.entries(given)) {
    if (value === null) delete out[name];
    else if (value !== undefined) out[name] = value;
  }
  return out;
}

/** What is not there when nothing is in it. */
const GATHERED: ReadonlySet<string> = new Set(['map', 'points', 'past', 'inner']);

function isEmpty(value: unknown): boolean {
  if (value instanceof Map) return value.size === 0;
  return Array.isArray(value) ? value.length === 0 : Object.keys((value ?? {}) as object).length === 0;
}
