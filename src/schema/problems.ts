import { toHex } from '../bytes/index.js';
import { SchemaError } from '../errors.js';
import { optionsProblem } from '../table/checks.js';
import type { TableSchema } from './types.js';

/** One broken rule: where, what, and what to do. */
export interface Problem {
  /** The entity or table. */
  readonly entity: string;
  readonly property: string | undefined;
  readonly rule: string;
  readonly remedy: string;
}

/** Collects every problem of a schema, so that all are reported at once. */
export class Problems {
  private readonly found: Problem[] = [];

  get count(): number {
    return this.found.length;
  }

  add(entity: string, property: string | undefined, rule: string, remedy: string): void {
    this.found.push({ entity, property, rule, remedy });
  }

  /** Adds a problem unless the options are an object with no others than the known ones. Answers whether they are. */
  checkOptions(
    entity: string,
    property: string | undefined,
    taker: string,
    given: unknown,
    known: Readonly<Record<string, true>>,
  ): boolean {
    const problem = optionsProblem(taker, given, known);
    if (problem !== undefined) this.add(entity, property, problem, '');
    return problem === undefined;
  }

  /** Runs `work`, and turns its SchemaError into problems of this entity. */
  catching<T>(entity: string, remedy: string, work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof SchemaError)) throw error;
      for (const problem of error.problems) this.add(entity, undefined, problem, remedy);
      return undefined;
    }
  }

  /** @throws SchemaError with all problems, when there are any. */
  throwIfAny(): void {
    if (this.found.length === 0) return;
    const sentences = this.found.map(sentence);
    const head = `The schema has ${sentences.length === 1 ? 'a problem' : `${sentences.length} problems`}:`;
    throw new SchemaError([head, ...sentences.map((text) => `- ${text}`)].join('\n'), sentences, {
      details: Object.defineProperty({ problems: Object.freeze([...this.found]) }, PRINTED, {
        value: () => ({}),
      }),
    });
  }
}

/** What Node calls when it prints a value: details print nothing of what the message has. */
const PRINTED = Symbol.for('nodejs.util.inspect.custom');

function sentence({ entity, property, rule, remedy }: Problem): string {
  const where = property === undefined ? entity : `${entity}.${property}`;
  return `${where}: ${rule}${remedy === '' ? '' : ` ${remedy}`}`;
}

/**
 * A text of everything that affects the bytes of the table's entities: layouts, record types, columns, codecs,
 * markers. Names of classes and properties are not in it: they may change without affecting a byte.
 */
export function schemaSignature({ entities }: Pick<TableSchema, 'entities'>): string {
  return entities
    .map((entity) => {
      const { marker } = entity;
      const columns = entity.columns.map((column) => {
        const key = column.qualifierCodec === undefined ? '' : `[${column.qualifierCodec.name}]`;
        return `${column.family}:${toHex(column.qualifier)}${key} ${column.kind} ${column.codec.name}`;
      });
      const mark = marker === undefined ? 'none' : `${marker.family}:${toHex(marker.qualifier)}`;
      const version = entity.version === 1 ? [] : [`version ${entity.version}`];
      return [`key ${entity.key.signature}`, `marker ${mark}`, ...version, ...columns].join('\n');
    })
    .join('\n\n');
}
