/** What a suite needs of an engine to test it: a way to open it, and what it cannot do. */

import type { Engine } from '../../src/table/index.js';

/** A clock that tests set; milliseconds since 1970. */
export class TestClock {
  constructor(public time: number) {}

  readonly now = (): number => this.time;

  advance(milliseconds: number): void {
    this.time += milliseconds;
  }
}

export interface OpenEngine {
  readonly engine: Engine;
  close(): Promise<void>;
}

interface OpenOptions {
  /** Taken by engines with a settable clock. */
  readonly clock?: TestClock;
  /** 0 <= random() < 1, where the engine takes it. */
  readonly random?: () => number;
}

/** A case whose answers are others on an engine, by what it is: each is held as the rule is elsewhere. */
export interface Deviation {
  readonly why: string;
  /** The codes of the errors with which writes of the case are refused, in order; default none. */
  readonly refused?: readonly string[];
  /** What each query answers, or the code of its error; undefined: as the case says. */
  readonly answers: readonly (readonly string[] | undefined)[];
}

/** An engine, as suites see it. */
export interface EngineUnderTest {
  readonly name: string;
  /** Whether the engine goes by `OpenOptions.clock`. One that does not goes by real time. */
  readonly settableClock: boolean;
  /** Whether cases, each with a table of its own, run side by side: for engines that wait more than they work. */
  readonly concurrent?: boolean;
  /** Cases that differ, by their ids; default none. */
  readonly deviations?: Readonly<Record<string, Deviation>>;
  /** An engine with no tables of the suite's names. */
  open(options?: OpenOptions): Promise<OpenEngine>;
}
