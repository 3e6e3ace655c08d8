/** Lint: checks declarations against rules of thumb. Findings refuse nothing. */

import { InvalidArgumentError } from '../../errors.js';
import type { TableSchema } from '../types.js';
import { ENTITY_RULES } from './entity-rules.js';
import { lintSample, SAMPLE_CODES } from './sample-rules.js';
import { TABLE_RULES } from './table-rules.js';
import type { LintFinding } from './types.js';

const RULES = [...TABLE_RULES, ...ENTITY_RULES];

/** The codes of all findings. docs/lint.md has a section for each. */
export const LINT_CODES: readonly string[] = [
  ...RULES.map(({ code }) => code),
  ...SAMPLE_CODES,
  'unused-suppression',
];

/** A finding that is accepted. */
export interface LintSuppression {
  readonly code: string;
  /** The place, as in the finding. Omitted: everywhere. */
  readonly place?: string;
  /** Why it is accepted. Must not be empty. */
  readonly reason: string;
}

export interface LintOptions {
  readonly suppressions?: readonly LintSuppression[];
  /** Sample rows by entity name, in the order of writing. */
  readonly samples?: ReadonlyMap<string, readonly Readonly<Record<string, unknown>>[]>;
}

/**
 * The findings, warnings first. @throws InvalidArgumentError on a suppression without a reason or with an unknown
 * code; KeyError and CodecError on samples.
 */
export function lintTables(tables: readonly TableSchema[], options: LintOptions = {}): LintFinding[] {
  const suppressions = checked(options.suppressions ?? []);
  const used = new Set<LintSuppression>();
  const found = tables.flatMap((table) => [
    ...RULES.flatMap(({ code, severity, check }) =>
      check(table).map((smell): LintFinding => ({ code, severity, table: table.descriptor.name, ...smell })),
    ),
    ...table.entities.flatMap((entity) => lintSample(entity, options.samples?.get(entity.name) ?? [])),
  ]);
  const left = found.filter(({ code, place }) => {
    const matching = suppressions.filter(
      (each) => each.code === code && (each.place === undefined || each.place === place),
    );
    for (const suppression of matching) used.add(suppression);
    return matching.length === 0;
  });
  const unused = suppressions.filter((suppression) => !used.has(suppression)).map(unusedFinding);
  const order = { warning: 0, hint: 1 };
  return [...left, ...unused].sort((a, b) => order[a.severity] - order[b.severity]);
}

function checked(suppressions: readonly LintSuppression[]): readonly LintSuppression[] {
  if (!Array.isArray(suppressions)) {
    throw new InvalidArgumentError('Suppressions are a list of { code, place, reason }.');
  }
  for (const suppression of suppressions as readonly unknown[]) {
    const { code, reason } = (suppression ?? {}) as Partial<LintSuppression>;
    if (typeof code !== 'string' || !LINT_CODES.includes(code)) {
      throw new InvalidArgumentError(
        `A suppression is of ${JSON.stringify(code)}, which is no rule. Rules: ${LINT_CODES.join(', ')}.`,
      );
    }
    if (typeof reason !== 'string' || reason.trim() === '') {
      throw new InvalidArgumentError(`The suppression of "${code}" has no reason. Say why it is meant.`);
    }
  }
  return suppressions;
}

function unusedFinding({ code, place }: LintSuppression): LintFinding {
  return {
    code: 'unused-suppression',
    severity: 'hint',
    table: '',
    place: place ?? code,
    message: `Nothing smells of ${code} there any more.`,
    advice: 'Take the suppression out.',
  };
}

/** A finding as one line: "Order key: … Put salt(16) … [time-leads-key]". */
export function describeFinding({ place, message, advice, code }: LintFinding): string {
  return `${place}: ${message} ${advice} [${code}]`;
}
