/**
 * The size of the long suites. `npm test` is short, `.ci/run` sets `ROWAN_SCALE=middle` for some, and `npm run test:deep` runs
 * everything. Files named `*.middle.test.ts` are left out of the short size, `*.deep.test.ts` of the middle one too. A suite
 * checks the same at each scale; only the number of runs differs.
 */

type Scale = 'short' | 'middle' | 'deep';

const SCALES: readonly Scale[] = ['short', 'middle', 'deep'];

function scaleOf(text: string | undefined): Scale {
  const scale = SCALES.find((each) => each === (text ?? 'short'));
  if (scale === undefined) throw new Error(`ROWAN_SCALE is "${text}"; it may be ${SCALES.join(', ')}.`);
  return scale;
}

export const SCALE: Scale = scaleOf(process.env['ROWAN_SCALE']);

/** `ROWAN_MINUTES`: the time limit of a suite that repeats its rounds. Undefined: no limit. */
export const MINUTES: number = Number(process.env['ROWAN_MINUTES'] ?? Number.POSITIVE_INFINITY);

const BEGUN = performance.now();

/**
 * Whether a suite that has run `part` (0 to 1) of its tests continues with its next round. It records the runs that
 * it did.
 */
export function mayGoOn(part = 1): boolean {
  return performance.now() - BEGUN < part * MINUTES * 60_000;
}

/** Returns the value for the scale of this run. */
export function scaled<T>(short: T, middle: T, deep: T): T {
  return { short, middle, deep }[SCALE];
}

/** {@link scaled} for files that the short size leaves out. */
export function fromMiddle<T>(middle: T, deep: T): T {
  return SCALE === 'deep' ? deep : middle;
}
