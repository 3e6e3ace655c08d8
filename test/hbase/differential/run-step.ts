import { RowanError } from '../../../src/errors.js';
import { CellType, type Result, type Table } from '../../../src/table/index.js';
import type { Step } from './generate.js';

const TYPE_NAMES = new Map<number, string>(Object.entries(CellType).map(([name, code]) => [code, name]));

/**
 * What an engine answers to a step, as a text that two engines must agree on. Timestamps that the engine chose (at or
 * above `base`) read "now", and errors are their codes.
 */
export async function runStep(table: Table, step: Step, base: number): Promise<string> {
  try {
    return await answer(table, step, base);
  } catch (error) {
    // Any other failure leaves a scanner open in the server, which changes what later compactions drop.
    if (error instanceof RowanError && error.code !== 'ERR_REMOTE') return `error ${error.code}`;
    throw new Error(`${describeStep(step)} failed`, { cause: error });
  }
}

async function answer(table: Table, step: Step, base: number): Promise<string> {
  const show = (result: Result | undefined) => cells(result, base);
  switch (step.kind) {
    case 'get':
      return show(await table.get(step.operation));
    case 'scan': {
      const lines: string[] = [];
      for await (const result of table.scan(step.operation)) lines.push(show(result));
      return lines.join('\n');
    }
    case 'check': {
      const { success, result } = await table.checkAndMutate(step.operation);
      return `${success} ${show(result)}`;
    }
    case 'batch': {
      const outcomes = await table.batch(step.operation);
      return outcomes
        .map((outcome) => (outcome.ok ? show(outcome.result) : `error ${outcome.error.code}`))
        .join('\n');
    }
    case 'write':
      return show(await write(table, step.operation));
  }
}

async function write(
  table: Table,
  operation: Extract<Step, { kind: 'write' }>['operation'],
): Promise<Result | undefined> {
  switch (operation.kind) {
    case 'put':
      await table.put(operation);
      return undefined;
    case 'delete':
      await table.delete(operation);
      return undefined;
    case 'increment':
      return table.increment(operation);
    case 'append':
      return table.append(operation);
    case 'rowMutations':
      return table.mutateRow(operation);
  }
}

function cells(result: Result | undefined, base: number): string {
  return (result?.cells ?? [])
    .map((cell) => {
      const time = cell.timestamp >= base ? 'now' : String(cell.timestamp);
      const column = `${printable(cell.row)} ${cell.family}:${printable(cell.qualifier)}`;
      return `${column} @${time} ${TYPE_NAMES.get(cell.type)} ${printable(cell.value)}`;
    })
    .join(' | ');
}

/** JSON with byte strings as latin1 text, for the report of a difference. */
export function describeStep(step: Step): string {
  return JSON.stringify(step, (_key, value: unknown) => {
    if (value instanceof Map) return Object.fromEntries(value);
    if (typeof value === 'bigint') return `${value}n`;
    if (isBufferJson(value)) return printable(Uint8Array.from(value.data));
    if (value instanceof Uint8Array) return printable(value);
    return value;
  });
}

function isBufferJson(value: unknown): value is { readonly data: readonly number[] } {
  return (
    typeof value === 'object' &&
    value !== null &&
    'type' in value &&
    value.type === 'Buffer' &&
    'data' in value
  );
}

function printable(bytes: Uint8Array): string {
  return JSON.stringify(Buffer.from(bytes).toString('latin1')).slice(1, -1);
}
