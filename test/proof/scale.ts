/**
 * How much the long suites do. `npm test` is short, `.ci/run` sets `ROWAN_SCALE=middle`, and `npm run test:deep` runs
 * everything, files named `*.deep.test.ts` included. What a suite checks is the same at each scale, only not how often.
 */

export type Scale = 'short' | 'middle' | 'deep';

const SCALES: readonly Scale[] = ['short', 'middle', 'deep'];

function scaleOf(text: string | undefined): Scale {
  const scale = SCALES.find((each) => each === (text ?? 'short'));
  if (scale === undefined) throw new Error(`ROWAN_SCALE is "${text}"; it may be ${SCALES.join(', ')}.`);
  return scale;
}

export const SCALE: Scale = scaleOf(process.env['ROWAN_SCALE']);

/** The one of three counts, or of anything else, that this run takes. */
export function scaled<T>(short: T, middle: T, deep: T): T {
  return { short, middle, deep }[SCALE];
}
