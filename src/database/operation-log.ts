/** The option `log`: a line for each operation. */

import { InvalidArgumentError } from '../errors.js';
import type { OperationEvent, OperationListener } from '../query/index.js';
import { checkOptions, describe, isCallable, isRecord } from '../table/checks.js';

export interface LogOptions {
  /** Only operations that took at least this many ms. Failed ones are always logged. Default 0: all. */
  readonly slowMs?: number;
  /**
   * Whether lines include values of conditions, and messages of errors, which may contain values. Default false: `?`
   * replaces them.
   */
  readonly params?: boolean;
  /** Receives each line, without a line break. Default: standard error. */
  readonly sink?: (line: string, event: OperationEvent) => void;
}

const LOG_OPTIONS: Readonly<Record<keyof LogOptions, true>> = { slowMs: true, params: true, sink: true };

/**
 * The listener for the option. Undefined where nothing is logged. @throws InvalidArgumentError on an invalid option.
 */
export function logOf(doing: string, log: boolean | LogOptions | undefined): OperationListener | undefined {
  if (log === undefined || log === false) return undefined;
  if (log !== true && !isRecord(log)) {
    throw new InvalidArgumentError(
      `${doing}: log is true or { slowMs, params, sink }, not ${describe(log)}.`,
    );
  }
  const options: LogOptions = log === true ? {} : log;
  checkOptions(`${doing}: log`, options, LOG_OPTIONS);
  const { slowMs = 0, params = false, sink = toStandardError } = options;
  if (typeof slowMs !== 'number' || !(slowMs >= 0)) {
    throw new InvalidArgumentError(
      `${doing}: slowMs of log is a number of ms from 0 on, not ${describe(slowMs)}.`,
    );
  }
  if (typeof params !== 'boolean') {
    throw new InvalidArgumentError(`${doing}: params of log is true or false, not ${describe(params)}.`);
  }
  if (!isCallable(sink)) {
    throw new InvalidArgumentError(
      `${doing}: sink of log is a function that takes a line, not ${describe(sink)}.`,
    );
  }
  return (event) => {
    if (event.milliseconds >= slowMs || event.error !== undefined) sink(lineOf(event, params), event);
  };
}

function toStandardError(line: string): void {
  process.stderr.write(`${line}\n`);
}

function lineOf(event: OperationEvent, values: boolean): string {
  const { operation, entities, table, plan, index, ranges, rows, bytes, attempts, milliseconds, error } =
    event;
  const conditions = event.conditions({ values });
  const parts = [
    `rowan ${operation} ${entities.join('+')}`,
    ...(conditions === '' ? [] : [`where ${conditions}`]),
    `on ${table} by ${plan}${index === undefined ? '' : ` of index ${index}`}:`,
    `${count(ranges, 'range')}, ${count(rows, 'row')}, ${count(bytes, 'byte')}, ${milliseconds.toFixed(2)} ms`,
  ];
  const retried = attempts > 1 ? `, ${attempts} attempts` : '';
  return parts.join(' ') + retried + (error === undefined ? '' : `, failed: ${failure(error, values)}`);
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}

/** Messages contain keys; codes and names do not. */
function failure(error: unknown, values: boolean): string {
  if (!(error instanceof Error)) return values ? String(error) : 'no Error';
  if (values) return error.message;
  const code: unknown = Reflect.get(error, 'code');
  return typeof code === 'string' ? code : error.name;
}
