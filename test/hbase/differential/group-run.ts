import { setTimeout as delay } from 'node:timers/promises';
import { type Engine, tableDescriptor } from '../../../src/table/index.js';
import { dropTable, uniqueTable } from '../tables.js';
import { SequenceGenerator, type Step } from './generate.js';
import { Group } from './model.js';
import { Random } from './random.js';
import { describeStep, runStep } from './run-step.js';

/** What the table does between two steps of its sequences. */
type TableStep = 'flush' | 'major' | undefined;

interface GroupReport {
  readonly steps: number;
  /** Each difference with the steps that led to it; the first of a sequence only. */
  readonly differences: readonly string[];
}

/**
 * Runs `sequences` random sequences in one table on both engines, in lockstep: step i of every sequence, then step
 * i + 1; a flush or a major compaction is the table's and comes between. Every answer is compared.
 */
export async function runGroup(
  engines: readonly [Engine, Engine],
  seed: number,
  sequences: number,
  length: number,
): Promise<GroupReport> {
  const random = new Random(seed);
  const group = Group.random(random);
  const generators = Array.from({ length: sequences }, (_, n) => new SequenceGenerator(random, group, n));
  const name = uniqueTable('differential');
  // Compactions that HBase begins by itself would drop hidden cells that raw scans of the other engine still show.
  const descriptor = tableDescriptor(name, group.families, {
    splitEnabled: false,
    configuration: { 'hbase.hstore.compaction.min': '100', 'hbase.hstore.blockingStoreFiles': '200' },
  });
  for (const engine of engines) await engine.admin.createTable(descriptor);
  const histories: string[][] = generators.map(() => []);
  const differences = new Map<number, string>();
  try {
    for (let i = 0; i < length; i++) {
      await onTable(engines, name, tableStep(random), histories);
      // Server-chosen timestamps of two steps must differ: two puts of one millisecond are one version.
      await delay(2);
      const steps = generators.map((generator) => generator.step());
      const [left, right] = await Promise.all(
        engines.map((engine) =>
          Promise.all(steps.map((step) => runStep(engine.table(name), step, group.base))),
        ),
      );
      for (const [n, step] of steps.entries()) {
        histories[n]?.push(describeStep(step));
        if (left?.[n] === right?.[n] || differences.has(n)) continue;
        differences.set(
          n,
          report(engines, seed, n, group, histories[n] ?? [], [left?.[n], right?.[n]], step),
        );
      }
    }
  } finally {
    for (const engine of engines) await dropTable(engine, name);
  }
  return { steps: sequences * length, differences: [...differences.values()] };
}

function tableStep(random: Random): TableStep {
  const step = random.weighted({ none: 20, flush: 4, major: 2 });
  return step === 'none' ? undefined : step;
}

async function onTable(
  engines: readonly Engine[],
  name: string,
  step: TableStep,
  histories: readonly string[][],
): Promise<void> {
  if (step === undefined) return;
  for (const history of histories) history.push(step);
  for (const engine of engines) {
    await engine.admin.flush(name);
    if (step === 'major') await engine.admin.majorCompact(name);
  }
}

function report(
  engines: readonly Engine[],
  seed: number,
  index: number,
  group: Group,
  history: readonly string[],
  answers: readonly (string | undefined)[],
  step: Step,
): string {
  return [
    `Group ${seed}, sequence ${index}, ${group.mode}: ${JSON.stringify(group.families)}, base ${group.base}`,
    ...history.map((line, at) => `  ${at}. ${line}`),
    `differ in the last one (${step.kind}):`,
    ...engines.map((engine, at) => `  ${engine.name}: ${answers[at]}`),
  ].join('\n');
}
