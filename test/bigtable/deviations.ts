import { expect } from 'vitest';
import type { Deviation } from '../conformance/harness.js';

/** The rules that Bigtable does not follow, line by line of the table in docs/bigtable.md. */

const NO_RAW = 'a raw scan shows the versions that are there: deletes leave no markers';
const NO_CELL_TTL = 'cells have no time to live of their own';
const NO_MARKER = 'a delete takes away what is there, and hides nothing that comes later';
const NO_KEEPING = 'what is deleted is not kept';
const COLLECTED = 'garbage is collected at any time, so the oldest version may be gone before the delete';
const IN_ORDER = 'the changes of a row take effect in their order';

/** One answer or another, by what was collected until then. */
const oneOf = (...answers: readonly (readonly string[])[]): readonly string[] =>
  expect.toBeOneOf(answers as unknown[]) as readonly string[];

/** What raw scans show. */
const raw = (...answers: readonly (readonly string[] | undefined)[]): Deviation => ({ why: NO_RAW, answers });

export const DEVIATIONS: Readonly<Record<string, Deviation>> = {
  R2: raw(['seven', 'longer', 'other family', 'other row']),
  R5b: {
    why: 'the longest row is 4096 bytes',
    refused: ['ERR_TOO_LARGE'],
    answers: [[]],
  },
  R11: { why: COLLECTED, answers: [oneOf(['v2', 'v1'], ['v2'])] },
  R11b: { why: COLLECTED, answers: [oneOf(['v2', 'v1'], ['v2'])] },
  'R15 lists': {
    why: 'a filter that is through with a row is not through with the scan',
    answers: [undefined, undefined, ['a p 1', 'ab q 1', 'b p 3'], undefined, undefined],
  },
  R21: { why: NO_CELL_TTL, refused: ['ERR_UNSUPPORTED', 'ERR_UNSUPPORTED'], answers: [[]] },
  R22: { why: NO_CELL_TTL, refused: ['ERR_UNSUPPORTED'], answers: [] },
  R23: { why: NO_CELL_TTL, refused: ['ERR_UNSUPPORTED'], answers: [] },
  R24: { why: NO_CELL_TTL, refused: ['ERR_UNSUPPORTED'], answers: [] },
  R25: { why: NO_CELL_TTL, refused: ['ERR_UNSUPPORTED'], answers: [['older']] },
  R32: { why: NO_MARKER, answers: [['after']] },
  R33: { why: NO_MARKER, answers: [['hidden']] },
  R34: { why: IN_ORDER, answers: [['seen', 'hidden']] },
  R41: { why: NO_KEEPING, answers: [[], undefined, undefined] },
  R42: { why: NO_KEEPING, answers: [[], undefined] },
  'R42 transcript TRUE': { why: NO_KEEPING, answers: [['v14', 'v12'], ['v14', 'v12'], []] },
  R43: { why: NO_KEEPING, answers: [[], undefined] },
  R45: raw(['old', 'v']),
  R46: raw(['p']),
  R47: raw(['v3', 'v1'], ['v3'], ['v3', 'v1'], ['v3']),
  R47b: raw([], []),
  R67b: {
    why: 'an increment takes the place of a version whose time is ahead',
    answers: [undefined, ['4000000000000000']],
  },
  R75: { why: 'a put behind a check has the time of the service', answers: [['ahead']] },
  R80: {
    why: 'NEW_VERSION_BEHAVIOR has no meaning: a version that was deleted is none',
    answers: [['v2', 'v1']],
  },
};
