/** Random schemas and questions as `test/query/model.test.ts` asks them, of tables on a real HBase. */

import { expect, it } from 'vitest';
import { scaled } from '../proof/scale.js';
import { askQuestions, tally } from '../query/model/answers.js';
import { Random } from '../query/model/random.js';
import { drawEntities } from '../query/model/schema.js';
import { openTestDatabase } from '../query/test-database.js';

const SCHEMAS = scaled(3, 12, 100);
const QUESTIONS = scaled(4, 12, 50);
/** Its questions had the server look behind the ends of rows. */
const FIRST = 1011;

it.each(Array.from({ length: SCHEMAS }, (_, i) => FIRST + i))(
  'random questions of HBase have the answers of a plain array: schema %i',
  async (seed) => {
    const random = new Random(seed);
    const entities = drawEntities(random);
    const db = await openTestDatabase(entities.map(({ target }) => target));
    try {
      await askQuestions(`Seed ${seed}`, random, db, entities, QUESTIONS);
    } finally {
      await db.dispose();
    }
  },
);

it('they were as many as are meant', () => {
  expect(tally.questions).toBe(SCHEMAS * QUESTIONS);
  expect(tally.queries).toBeGreaterThan(tally.questions * 8);
});
