import type { KeyRange } from '../key/types.js';
import type { TableAccess } from './access.js';
import type { RangeSource } from './range-source.js';
import { RawSource } from './raw-source.js';
import type { PlanPart, ReadPlan } from './read-plan.js';
import type { ReadOptions } from './row-cursor.js';
import { ScanSource } from './scan-source.js';

/** Opens a range; nothing is read before the first `advance`. */
export function openRange(
  access: TableAccess,
  plan: ReadPlan,
  part: PlanPart,
  range: KeyRange,
  limit: number | undefined,
  options: ReadOptions,
  isBehind?: (source: RangeSource) => boolean,
): RangeSource {
  const { sync } = access;
  if (sync?.getRaw !== undefined) return new RawSource(sync, plan, part, range, limit, options, isBehind);
  return new ScanSource(access, plan, part, range, limit, options, isBehind);
}
