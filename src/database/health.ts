import { InvalidArgumentError } from '../errors.js';
import type { Schema } from '../schema/index.js';
import { checkOptions, describe, timerDelay } from '../table/checks.js';
import { type Engine, Get } from '../table/index.js';
import type { Metric } from '../table/telemetry.js';
import type { OpenFeatures } from './open-features.js';

/** Whether a database can be used, for health and readiness checks; and what waits in it. */

/** Options of `db.health`. */
export interface HealthOptions {
  /** Milliseconds for all of it. Default 2000. */
  readonly timeout?: number;
}

/** The result of one table. */
export interface TableHealth {
  readonly status: 'up' | 'down';
  /** From the read to its answer. */
  readonly milliseconds: number;
  /** Why it is down: the code of the error, or its name. */
  readonly error?: string;
}

/** Whether a database can be used, and which of its tables not. */
export interface Health {
  /** `up`: every table of the entities answered a read, and an embedded store takes writes. */
  readonly status: 'up' | 'down';
  /** `embedded`, `hbase` or `bigtable`. */
  readonly engine: string;
  /** The error code for which an embedded store accepts no writes, whether or not its tables can be read. */
  readonly error?: string;
  readonly tables: Readonly<Record<string, TableHealth>>;
}

const OPTIONS: Readonly<Record<keyof HealthOptions, true>> = { timeout: true };

/** A row that any table may have. */
const ROW = Uint8Array.of(0);

/** Reads one row of each table concurrently. Errors are part of the result. */
export async function healthOf(engine: Engine, schema: Schema, options: HealthOptions): Promise<Health> {
  checkOptions('health', options, OPTIONS);
  const { timeout = 2000 } = options;
  const failure = failureOf(engine);
  const names = [...new Set(schema.tables.map(({ descriptor }) => descriptor.name))].sort();
  const answers = await Promise.all(names.map((name) => tableHealth(engine, name, timeout)));
  const up = failure === undefined && answers.every(({ status }) => status === 'up');
  return {
    status: up ? 'up' : 'down',
    engine: engine.name,
    ...(failure !== undefined && { error: failure }),
    tables: Object.fromEntries(names.map((name, i) => [name, answers[i]!])),
  };
}

function failureOf(engine: Engine): string | undefined {
  try {
    engine.checkWritable?.();
    return undefined;
  } catch (error) {
    return codeOf(error);
  }
}

async function tableHealth(engine: Engine, name: string, timeout: number): Promise<TableHealth> {
  const began = performance.now();
  const answer = (error?: unknown): TableHealth => ({
    status: error === undefined ? 'up' : 'down',
    milliseconds: performance.now() - began,
    ...(error !== undefined && { error: codeOf(error) }),
  });
  let timer: NodeJS.Timeout | undefined;
  // The engine's own limit is one of each request, and a search for a region may take several.
  const late = new Promise<TableHealth>((resolve) => {
    timer = setTimeout(() => resolve(answer({ code: 'ERR_TIMEOUT' })), timerDelay(timeout));
  });
  const read = async (): Promise<TableHealth> => {
    try {
      await engine.table(name).exists(new Get(ROW).setCheckExistenceOnly(true), { timeout });
      return answer();
    } catch (error) {
      return answer(error);
    }
  };
  try {
    return await Promise.race([read(), late]);
  } finally {
    clearTimeout(timer);
  }
}

function codeOf(error: unknown): string {
  const { code, name } = error as { readonly code?: unknown; readonly name?: unknown };
  return String(code ?? name ?? error);
}

/** Options of `db.backlog`. */
export interface BacklogOptions {
  /** The most rows to read of each queue: what is beyond is not counted. Default 10,000. */
  readonly limit?: number;
}

const BACKLOG_OPTIONS: Readonly<Record<keyof BacklogOptions, true>> = { limit: true };

/** The pending work of a database, and how often its writes started again. */
export function backlogOf(
  features: Pick<OpenFeatures, 'backlog'>,
  options: BacklogOptions,
): Promise<readonly Metric[]> {
  checkOptions('backlog', options, BACKLOG_OPTIONS);
  const { limit = 10_000 } = options;
  if (Number.isSafeInteger(limit) && limit > 0) return features.backlog(limit);
  throw new InvalidArgumentError(`backlog: limit is a whole number of rows above 0, not ${describe(limit)}.`);
}
