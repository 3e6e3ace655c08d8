/** Numbered invariants of the store, held in tests (environment variable `ROWAN_INVARIANTS=1`) and free elsewhere. */

const HELD = process.env['ROWAN_INVARIANTS'] === '1';

/** `holds`: a function where the answer is costly. @throws Error naming the invariant when it does not hold. */
export function invariant(holds: boolean | (() => boolean), name: string): void {
  if (HELD && !(typeof holds === 'function' ? holds() : holds))
    throw new Error(`Invariant ${name} does not hold. This is a fault of Rowan: report it.`);
}
