/**
 * How much the long suites do. `npm test` is short, `.ci/run` sets `ROWAN_SCALE=middle`, and `npm run test:deep` runs
 * everything, files named `*.deep.test.ts` included. What a suite checks is the same at each scale, only not how often.
 */

type Scale = 'short' | 'middle' | 'deep';

const SCALES: readonly Scale[] = ['short', 'middle', 'deep'];

function scaleOf(text: string | undefined): Scale {
  const scale = SCALES.find((each) => each === (text ?? 'short'));
  if (scale === undefined) throw new Error(`ROWAN_SCALE is "${text}"; it may be ${SCALES.join(', ')}.`);
  return scale;
}

export const SCALE: Scale = scaleOf(process.env['ROWAN_SCALE']);

/** `ROWAN_MINUTES`: how long a suite that goes on and on may take, where it is to be cut short; else it does all it has. */
export const MINUTES: number = Number(process.env['ROWAN_MINUTES'] ?? Number.POSITIVE_INFINITY);

const BEGUN = performance.now();

/** Whether a suite that has done `part` (0 to 1) of its tests is to go on to its next round. What is recorded is what it did. */
export function mayGoOn(part = 1): boolean {
  return performance.now() - BEGUN < part * MINUTES * 60_000;
}

/** The one of three counts, or of anything else, that this run takes. */
export function scaled<T>(short: T, middle: T, deep: T): T {
  return { short, middle, deep }[SCALE];
}
