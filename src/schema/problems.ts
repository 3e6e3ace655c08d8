import { SchemaError } from '../errors.js';

/** One broken rule: where, what, and what to do. */
export interface Problem {
  /** The entity or table. */
  readonly entity: string;
  readonly property: string | undefined;
  readonly rule: string;
  readonly mend: string;
}

/** Gathers every problem of a schema, so that all are reported at once. */
export class Problems {
  private readonly found: Problem[] = [];

  get count(): number {
    return this.found.length;
  }

  add(entity: string, property: string | undefined, rule: string, mend: string): void {
    this.found.push({ entity, property, rule, mend });
  }

  /** Runs `work`; the SchemaError it may throw becomes problems of this entity. */
  catching<T>(entity: string, mend: string, work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof SchemaError)) throw error;
      for (const problem of error.problems) this.add(entity, undefined, problem, mend);
      return undefined;
    }
  }

  /** @throws SchemaError with all problems, when there are any. */
  throwIfAny(): void {
    if (this.found.length === 0) return;
    const sentences = this.found.map(sentence);
    const head = `The schema has ${sentences.length === 1 ? 'a problem' : `${sentences.length} problems`}:`;
    throw new SchemaError([head, ...sentences.map((text) => `- ${text}`)].join('\n'), sentences, {
      details: { problems: Object.freeze([...this.found]) },
    });
  }
}

function sentence({ entity, property, rule, mend }: Problem): string {
  const where = property === undefined ? entity : `${entity}.${property}`;
  return `${where}: ${rule}${mend === '' ? '' : ` ${mend}`}`;
}
