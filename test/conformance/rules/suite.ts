/** Runs the cases of the rules in six placements. */

import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fromLatin1 } from '../../../src/bytes/index.js';
import {
  type Admin,
  type Engine,
  Put,
  type TableDescriptor,
  tableDescriptor,
} from '../../../src/table/index.js';
import { type Deviation, type EngineUnderTest, type OpenEngine, TestClock } from '../harness.js';
import { PLACEMENTS, type Placement, type RuleCase } from './case.js';
import { expiryAndMarkers } from './expiry-and-markers.js';
import { filteredReads } from './filtered-reads.js';
import { orderAndVersions } from './order-and-versions.js';
import { readsAndOperations } from './reads-and-operations.js';
import { keepDeletedCellsTranscript } from './transcript.js';

const RULE_CASES: readonly RuleCase[] = [
  ...orderAndVersions,
  ...expiryAndMarkers,
  ...readsAndOperations,
  ...filteredReads,
  ...keepDeletedCellsTranscript,
];

/** Rules that are no answers of a table, and the test that holds each. */
const RULES_ELSEWHERE: Readonly<Record<string, string>> = {
  R3: 'test/store/memstore/memstore.test.ts',
  R26: 'test/store/engine/engine.test.ts',
  R39: 'docs/semantics.md',
  R62: 'test/store/engine/rules.test.ts',
  R63: 'test/store/engine/rules.test.ts',
  R64: 'docs/semantics.md',
  R65: 'docs/semantics.md',
  R66: 'test/store/engine/rules.test.ts',
  R78: 'test/store/engine/rules.test.ts',
  R82: 'docs/semantics.md',
  R83: 'test/store/engine/engine.test.ts',
  R84: 'test/store/engine/engine.test.ts',
  R85: 'test/store/engine/engine.test.ts',
  R87: 'test/store/engine/engine.test.ts',
};

const MIDDLE = fromLatin1('n');

/** Only what a case asks for is merged: HBase compacts by itself after the third flush, and after a split. */
function descriptorOf(ruleCase: RuleCase, name: string, placement: Placement): TableDescriptor {
  const families = ruleCase.families ?? { f: { versions: 3 } };
  return tableDescriptor(name, families, { compactionEnabled: placement === 'major' });
}

async function settle(admin: Admin, ruleCase: RuleCase, name: string, placement: Placement): Promise<void> {
  if (placement === 'memstore' || placement === 'flushEach') return;
  await admin.flush(name);
  if (placement === 'minor') {
    await admin.modifyTable({ ...descriptorOf(ruleCase, name, placement), compactionEnabled: true });
    await admin.compact(name);
  }
  if (placement === 'major') await admin.majorCompact(name);
  if (placement === 'split') await admin.split(name, MIDDLE);
}

async function runCase(engine: Engine, ruleCase: RuleCase, name: string, at: Placed): Promise<void> {
  const { admin } = engine;
  const { placement, clock, deviation } = at;
  await admin.createTable(descriptorOf(ruleCase, name, placement));
  const table = engine.table(name);
  const context = { table, now: clock?.time ?? Date.now() };
  // A row on the other side of the split, so that there is something to split.
  if (placement === 'split') {
    const family = Object.keys(ruleCase.families ?? { f: {} })[0]!;
    await table.put(new Put('zz').addColumn(family, 'zz', 'zz', 1));
  }
  const refused: string[] = [];
  for (const step of ruleCase.writes) {
    if (deviation === undefined) await step(context);
    else await step(context).catch((error: unknown) => refused.push(codeOf(error)));
    if (placement === 'flushEach' || placement === 'minor') await admin.flush(name);
  }
  await settle(admin, ruleCase, name, placement);
  expect(refused).toEqual(deviation?.refused ?? []);
  for (const [index, query] of ruleCase.queries.entries()) {
    const other = deviation?.answers[index];
    if (other !== undefined) {
      expect(await query.ask(context).catch((error: unknown) => [codeOf(error)])).toEqual(other);
      continue;
    }
    const answer = await query.ask(context);
    const seen = placement === 'split' ? answer.filter((each) => each !== 'zz') : answer;
    expect(seen).toEqual(query.instead?.[placement] ?? query.expect);
  }
  await admin.disableTable(name);
  await admin.deleteTable(name);
}

interface Placed {
  readonly placement: Placement;
  readonly clock: TestClock | undefined;
  readonly deviation?: Deviation | undefined;
}

function codeOf(error: unknown): string {
  return (error as { code?: string }).code ?? String(error);
}

export function describeRules(
  engineUnderTest: EngineUnderTest,
  placements: readonly Placement[] = PLACEMENTS,
): void {
  describe(`HBase's rules, on ${engineUnderTest.name}`, () => {
    let opened: OpenEngine;
    const clock = engineUnderTest.settableClock ? new TestClock(1_800_000_000_000) : undefined;
    let begun = 0;
    let held = 0;
    beforeAll(async () => {
      opened = await engineUnderTest.open(clock ? { clock } : {});
    });
    afterAll(() => opened.close());

    const cases = engineUnderTest.concurrent ? it.concurrent : it;
    for (const ruleCase of RULE_CASES) {
      const deviation = engineUnderTest.deviations?.[ruleCase.id];
      const title =
        deviation === undefined ? ruleCase.title : `${ruleCase.title}; not here: ${deviation.why}`;
      cases.each(placements)(`${ruleCase.id}: ${title} (%s)`, async (placement) => {
        await runCase(opened.engine, ruleCase, `rules_${begun++}`, { placement, clock, deviation });
        held++;
      });
    }

    // Behind the cases, which run side by side.
    it('every case is held in every placement, none left out', () => {
      expect(held).toBe(RULE_CASES.length * placements.length);
    });

    it('every deviation is of a case that there is', () => {
      const ids = new Set(RULE_CASES.map(({ id }) => id));
      expect(Object.keys(engineUnderTest.deviations ?? {}).filter((id) => !ids.has(id))).toEqual([]);
    });

    it('every rule has a case, or a test elsewhere', () => {
      const held = new Set(RULE_CASES.map((ruleCase) => /^R\d+/.exec(ruleCase.id)![0]));
      const missing: string[] = [];
      for (let rule = 1; rule <= 88; rule++) {
        const id = `R${rule}`;
        const elsewhere = RULES_ELSEWHERE[id];
        if (!held.has(id) && !(elsewhere && existsSync(elsewhere))) missing.push(id);
      }
      expect(missing).toEqual([]);
    });
  });
}
