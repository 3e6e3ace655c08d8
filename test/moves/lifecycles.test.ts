/**
 * Lives of an entity: releases that reorder its columns and its Map, put them into other families, move and upgrade them, add
 * indexes and summaries and take them away, pin the marker, let rows end by themselves, add a type to the table, leave it out
 * and retire it, have moves and upgrades done and leave them out, with openings between; in each release every way of writing
 * and of reading, held against a plain Map.
 */

import { describe, expect, it } from 'vitest';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { openMemory, settableClock } from '../../src/testing/open-memory.js';
import { record } from '../proof/evidence.js';
import { mayGoOn, scaled } from '../proof/scale.js';
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

const TOGETHER = 10;
const parts = Array.from({ length: Math.ceil(PROGRAMS / TOGETHER) }, (_, part) => FIRST + part * TOGETHER);

describe('a life of releases', () => {
  let programs = 0;
  it.each(parts)('keeps every value, programs from %i', async (first) => {
    if (first > FIRST && !mayGoOn()) return;
    const count = Math.min(TOGETHER, FIRST + PROGRAMS - first);
    const seeds = Array.from({ length: count }, (_, index) => first + index);
    await leadLives(seeds, RELEASES, inMemory);
    programs += count;
  });

  it('in all programs', () => {
    expect(programs).toBeGreaterThanOrEqual(mayGoOn() ? PROGRAMS : 1);
    record('lifecycles', { programs, releases: programs * RELEASES });
  });
});
