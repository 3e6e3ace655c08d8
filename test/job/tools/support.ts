/** What tests of the tools begin with: two stores in memory and a folder, and runs that checkpoint every few rows. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import type { JobRunOptions } from '../../../src/job/types.js';
import type { EmbeddedEngine } from '../../../src/store/engine.js';
import { memoryStore } from '../../store/engine/support.js';

export const SMALL: JobRunOptions = { batchRows: 3, checkpointRows: 6, checkpointMs: 60_000, parallel: 2 };

interface Stage {
  readonly engine: EmbeddedEngine;
  readonly other: EmbeddedEngine;
  readonly folder: string;
  /** Lets milliseconds go by in both stores. */
  later(milliseconds: number): void;
}

/** The stage of the test that runs: each test of the file that calls this has a new one. */
export function stageOfEachTest(): Stage {
  let stage: Stage;
  beforeEach(async () => {
    stage = await build();
  });
  afterEach(() => strike(stage));
  return {
    get engine() {
      return stage.engine;
    },
    get other() {
      return stage.other;
    },
    get folder() {
      return stage.folder;
    },
    later: (milliseconds) => stage.later(milliseconds),
  };
}

/** Does `work` on a stage of its own: for each run of a property. */
export async function onStage(work: (stage: Stage) => Promise<void>): Promise<void> {
  const stage = await build();
  try {
    await work(stage);
  } finally {
    await strike(stage);
  }
}

async function build(): Promise<Stage> {
  const stores = [await memoryStore(), await memoryStore()] as const;
  const [{ engine }, { engine: other }] = stores;
  return {
    engine,
    other,
    folder: await mkdtemp(join(tmpdir(), 'rowan-tools-')),
    later: (milliseconds) => {
      for (const store of stores) store.now += milliseconds;
    },
  };
}

async function strike({ engine, other, folder }: Stage): Promise<void> {
  await engine.close();
  await other.close();
  await rm(folder, { recursive: true });
}
