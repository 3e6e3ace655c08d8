import { type FamilyDescriptor, FOREVER } from '../table/descriptor.js';
import { ALL_VERSIONS } from '../table/get-and-scan.js';

/** Converts VERSIONS, MIN_VERSIONS and TTL of a family to a garbage collection rule, and back. */

/** `google.bigtable.admin.v2.GcRule`. */
export interface GcRule {
  readonly maxNumVersions?: number | null;
  readonly maxAge?: { readonly seconds?: string | number | null; readonly nanos?: number | null } | null;
  readonly union?: { readonly rules?: readonly GcRule[] | null } | null;
  readonly intersection?: { readonly rules?: readonly GcRule[] | null } | null;
}

/** The cells that a family keeps. */
export type Keeping = Pick<FamilyDescriptor, 'versions' | 'minVersions' | 'ttl'>;

/**
 * The rule that collects versions beyond VERSIONS, and cells older than TTL except the newest MIN_VERSIONS of each column.
 * Undefined: nothing is collected.
 */
export function gcRuleOf({ versions, minVersions, ttl }: Keeping): GcRule | undefined {
  const surplus: GcRule | undefined = versions === ALL_VERSIONS ? undefined : { maxNumVersions: versions };
  if (ttl === FOREVER) return surplus;
  const age: GcRule = { maxAge: { seconds: ttl } };
  const old: GcRule =
    minVersions === 0 ? age : { intersection: { rules: [age, { maxNumVersions: minVersions }] } };
  return surplus === undefined ? old : { union: { rules: [surplus, old] } };
}

/**
 * The cells that a rule keeps. Of a rule that Rowan does not write: the minimum over its parts, since the service may
 * have collected the rest.
 */
export function keepingOf(rule: GcRule | null | undefined): Keeping {
  if (rule?.maxNumVersions) return { versions: rule.maxNumVersions, minVersions: 0, ttl: FOREVER };
  if (rule?.maxAge) return { versions: ALL_VERSIONS, minVersions: 0, ttl: secondsOf(rule) };
  const parts = rule?.union?.rules?.map(keepingOf);
  if (parts !== undefined && parts.length > 0) {
    const minOf = (of: (part: Keeping) => number): number => Math.min(...parts.map(of));
    const limited = parts.filter(({ ttl }) => ttl !== FOREVER);
    const versions = minOf((part) => part.versions);
    const minVersions = Math.min(versions, ...limited.map((part) => part.minVersions));
    return { versions, minVersions: limited.length === 0 ? 0 : minVersions, ttl: minOf((part) => part.ttl) };
  }
  const rules = rule?.intersection?.rules ?? [];
  const age = rules.find(({ maxAge }) => maxAge);
  const newest = rules.find(({ maxNumVersions }) => maxNumVersions);
  if (age === undefined)
    return { versions: newest?.maxNumVersions ?? ALL_VERSIONS, minVersions: 0, ttl: FOREVER };
  return { versions: ALL_VERSIONS, minVersions: newest?.maxNumVersions ?? 0, ttl: secondsOf(age) };
}

function secondsOf({ maxAge }: GcRule): number {
  const seconds = Number(maxAge?.seconds ?? 0) + ((maxAge?.nanos ?? 0) > 0 ? 1 : 0);
  return Math.min(FOREVER, Math.max(1, seconds));
}

/** The rule in the syntax of `cbt`. */
export function gcRuleText(rule: GcRule | undefined): string {
  if (rule === undefined) return 'never';
  if (rule.maxNumVersions) return `maxversions=${rule.maxNumVersions}`;
  if (rule.maxAge) return `maxage=${secondsOf(rule)}s`;
  const [rules, word] = rule.union ? [rule.union.rules, '||'] : [rule.intersection?.rules, '&&'];
  return `(${(rules ?? []).map(gcRuleText).join(` ${word} `)})`;
}
