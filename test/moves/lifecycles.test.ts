/**
 * Lives of an entity: releases that reorder its columns and its Map, put them into other families, move and upgrade them, add
 * indexes and summaries and take them away, pin the marker, let rows end by themselves, add a type to the table, leave it out
 * and retire it, have moves and upgrades done and leave them out, with openings between; in each release every way of writing
 * and of reading, held against a plain Map.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../src/database.js';
import type { KeyedClass } from '../../src/schema/entity-types.js';
import { openEmbedded } from '../../src/store/engine.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { openMemory, settableClock } from '../../src/testing/open-memory.js';
import { backupTables } from '../../src/tools/backup.js';
import { restoreTables } from '../../src/tools/restore.js';
import { record } from '../proof/evidence.js';
import { mayGoOn, scaled } from '../proof/scale.js';
import { Random } from '../query/model/random.js';
import { type LifePlace, leadLives } from './lifecycles/life.js';

const PROGRAMS = scaled(3, 60, 2000);
const FIRST = Number(process.env['ROWAN_SEED'] ?? 1);
const RELEASES = 6;

function inMemory(): LifePlace {
  const disk = new MemoryFileSystem();
  const clock = settableClock();
  return {
    clock,
    hasTransactions: true,
    countsWhatEnds: true,
    open: (entities) => openMemory({ entities, disk, clock }),
  };
}

/** A place whose disk is lost now and then: then its tables are restored from a full backup and what was added to it. */
class BackedUp implements LifePlace {
  readonly clock = settableClock();
  readonly hasTransactions = true;
  readonly countsWhatEnds = true;
  private disk = new MemoryFileSystem();
  private backups = 0;
  private readonly random: Random;
  private readonly folder: string;

  constructor(seed: number, root: string) {
    this.random = new Random(seed ^ 0xbac);
    this.folder = join(root, `${seed}`);
  }

  async backUp({ engine }: Database): Promise<void> {
    await backupTables(engine, this.folder, { incremental: this.backups++ > 0 && !this.random.chance(0.1) });
  }

  async open(entities: readonly KeyedClass[]): Promise<Database> {
    const { clock } = this;
    if (this.backups > 0 && this.random.chance(0.4)) {
      this.disk = new MemoryFileSystem();
      const empty = await openEmbedded('/memory', { fileSystem: this.disk, background: 'inline', clock });
      await restoreTables(empty, this.folder);
      await empty.close();
    }
    return openMemory({ entities, disk: this.disk, clock });
  }
}

const TOGETHER = 10;
const backedUp = Array.from({ length: scaled(1, 30, 500) }, (_, i) => FIRST + i);
const parts = Array.from({ length: Math.ceil(PROGRAMS / TOGETHER) }, (_, part) => FIRST + part * TOGETHER);

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'rowan-lives-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

describe('a life of releases', () => {
  let programs = 0;
  it.each(parts)('keeps every value, programs from %i', async (first) => {
    if (first > FIRST && !mayGoOn()) return;
    const count = Math.min(TOGETHER, FIRST + PROGRAMS - first);
    const seeds = Array.from({ length: count }, (_, index) => first + index);
    await leadLives(seeds, RELEASES, inMemory);
    programs += count;
  });

  it.each(backedUp)(
    'keeps every value in backups, of which some have what changed only, program %i',
    async (seed) => {
      if (seed > FIRST && !mayGoOn()) return;
      await leadLives([seed], RELEASES, () => new BackedUp(seed, root));
    },
  );

  it('in all programs', () => {
    expect(programs).toBeGreaterThanOrEqual(mayGoOn() ? PROGRAMS : 1);
    record('lifecycles', { programs, releases: programs * RELEASES });
  });
});
