/**
 * Random schemas and questions held against a plain array: every element of keys, derived elements anywhere, collections,
 * projections, counts, pages in both directions. On a real HBase: `test/hbase/query-model.test.ts`.
 */

import { expect, it } from 'vitest';
import { withoutGenerating } from '../../src/codegen/generated.js';
import { open } from '../../src/database.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { scaled } from '../proof/scale.js';
import { askQuestions, tally } from './model/answers.js';
import { Random } from './model/random.js';
import { drawEntities } from './model/schema.js';

const SCHEMAS = scaled(6, 120, 500);
const QUESTIONS = scaled(10, 50, 100);

async function checkSchema(seed: number): Promise<void> {
  const random = new Random(seed);
  const entities = drawEntities(random);
  const options = {
    path: '/model',
    entities: entities.map(({ target }) => target),
    fileSystem: new MemoryFileSystem(),
  };
  const db = await (random.chance(0.2) ? withoutGenerating(() => open(options)) : open(options));
  try {
    await askQuestions(`Seed ${seed}`, random, db, entities, QUESTIONS);
  } finally {
    await db.close();
  }
}

const SLICES = Math.min(SCHEMAS, 12);

it.each(Array.from({ length: SLICES }, (_, slice) => slice + 1))(
  `random questions have the answers of a plain array, %i of ${SLICES}`,
  async (slice) => {
    for (let seed = slice; seed <= SCHEMAS; seed += SLICES) await checkSchema(seed);
  },
);

it('they were as many as are meant', () => {
  expect(tally.questions).toBe(SCHEMAS * QUESTIONS);
  expect(tally.queries).toBeGreaterThan(scaled(500, 50_000, 400_000));
});
