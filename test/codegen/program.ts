/**
 * What `forbidden.test.ts` runs twice: what is stored and read must not depend on whether code may be generated.
 * Usage: program.ts <seeds>
 */

import { canGenerate } from '../../src/codegen/generated.js';
import { openMemory } from '../../src/testing/index.js';
import { drawKey, drawValues, inputOf } from '../query/model/question.js';
import { Random } from '../query/model/random.js';
import { drawEntities } from '../query/model/schema.js';

const answers: unknown[] = [];
const seeds = Number(process.argv[2]);
for (let seed = 1; seed <= seeds; seed++) {
  const random = new Random(seed);
  const entities = drawEntities(random);
  const database = await openMemory({ entities: entities.map(({ target }) => target) });
  for (const model of entities) {
    const repository = database.repository(model.target as never);
    for (let i = 0; i < 10; i++) {
      const values = { ...drawValues(random, model), p0: random.pick(model.parts[0]!.values.slice(1)) };
      await repository.put(Object.assign(Object.create(model.target.prototype as object), values) as never);
    }
    for (let i = 0; i < 5; i++) {
      const key = inputOf(drawKey(random, model.parts));
      const found = await repository.find(key as never, { fullScan: true }).all();
      answers.push(found.map((entity) => repository.toPlain(entity as never)));
    }
  }
  await database.close();
}
process.stdout.write(JSON.stringify({ generated: canGenerate(), answers }));
