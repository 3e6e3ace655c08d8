/** What sequences hold, on any engine. */

import { expect, it } from 'vitest';
import { Database } from '../../../src/database.js';
import { compileSchema } from '../../../src/mapper/index.js';
import type { Engine } from '../../../src/table/index.js';

export const sequencesOn = (engine: Engine): Database => new Database(compileSchema([]), engine, 'create');

/** @param engines two clients of the same tables. */
export function sequenceSuite(engines: () => readonly [Engine, Engine], name: () => string): void {
  it('gives each number once, whoever asks at the same time', async () => {
    const sequence = name();
    const [one, two] = engines().map((engine) => sequencesOn(engine));
    const given = await Promise.all(
      Array.from({ length: 300 }, (_, at) =>
        [one!, one!, two!][at % 3]!.sequence(sequence, { block: [1, 7, 20][at % 3]! }).next(),
      ),
    );
    expect(new Set(given).size).toBe(300);
    expect(Math.min(...given)).toBe(1);
    const last = await one!.sequence(sequence).last();
    expect(Math.max(...given)).toBeLessThanOrEqual(last);
    expect(last).toBeLessThan(300 + 7 + 20 + 20);
  });

  it('gives numbers that rise in one process, without gaps with blocks of one', async () => {
    const sequence = name();
    const [one, two] = engines().map((engine) => sequencesOn(engine).sequence(sequence, { block: 1 }));
    const given: number[] = [];
    for (let at = 0; at < 12; at++) given.push(await [one!, two!][at % 2]!.next());
    expect(given).toEqual(Array.from({ length: 12 }, (_, at) => at + 1));
    expect(await one!.nextMany(3)).toEqual([13, 14, 15]);
    expect(await two!.last()).toBe(15);
  });

  it('separates numbers by the values that per names', async () => {
    const db = sequencesOn(engines()[0]);
    const sequence = db.sequence(name(), { per: ['tenantId', 'year'] });
    const scopes = [
      { tenantId: 'a', year: 2026 },
      { tenantId: 'a', year: 2027 },
      { tenantId: '2026', year: 2026n },
      { tenantId: 2026, year: 2026 },
      { tenantId: 'a,2026', year: 1 },
      { tenantId: '\0"é', year: -1 },
    ];
    for (const scope of scopes) expect(await sequence.next(scope)).toBe(1);
    expect(await sequence.next({ tenantId: 'a', year: 2026n, other: true } as never)).toBe(2);
    expect(await sequence.last({ tenantId: 'b', year: 1 })).toBe(0);
  });
}
