/** Checks of numbered invariants, run in tests (environment variable `ROWAN_INVARIANTS=1`) and skipped elsewhere. */

const CHECKED = process.env['ROWAN_INVARIANTS'] === '1';

/** `holds`: a function if the check is costly. @throws Error naming the invariant when it does not hold. */
export function invariant(holds: boolean | (() => boolean), name: string): void {
  if (CHECKED && !(typeof holds === 'function' ? holds() : holds))
    throw new Error(`Invariant ${name} does not hold. This is a bug in Rowan: report it.`);
}
