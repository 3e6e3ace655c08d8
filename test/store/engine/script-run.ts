/** Does a script on a store, with flushes, compactions, splits and the like strewn in, and notes every answer. */

import { type EmbeddedEngine, openEmbedded } from '../../../src/store/engine.js';
import type { EmbeddedOptions } from '../../../src/store/options.js';
import {
  BLOOM_FILTERS,
  CheckAndMutate,
  DATA_BLOCK_ENCODINGS,
  type FamilyOptions,
  type ResultScanner,
  RowMutations,
  Scan,
  type Table,
  tableDescriptor,
} from '../../../src/table/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';
import { type Random, randomOf, resultText, SCRIPT_FAMILIES, type Step } from './script.js';

export interface Setting {
  readonly name: string;
  readonly options: EmbeddedOptions;
  readonly family: FamilyOptions;
  readonly splitKeys?: readonly string[];
  /** On the real disk instead of in memory. */
  readonly disk?: boolean;
  /** Of a hundred steps, before how many something is done to the files. */
  readonly upkeep: number;
}

const COMPRESSIONS = ['NONE', 'GZ', 'BROTLI', 'LZO'] as const;

export class ScriptRun {
  readonly answers: string[] = [];
  private now = 1_700_000_000_000;
  private engine!: EmbeddedEngine;
  private readonly open: ResultScanner[] = [];
  private readonly random: Random;
  private readonly fileSystem: MemoryFileSystem | undefined;
  private copies = 0;

  constructor(
    private readonly setting: Setting,
    private readonly folder: string,
    seed: number,
  ) {
    this.random = randomOf(seed);
    this.fileSystem = setting.disk ? undefined : new MemoryFileSystem();
  }

  async run(steps: readonly Step[]): Promise<string[]> {
    this.engine = await this.openStore(`${this.folder}/db`);
    const splitKeys = (this.setting.splitKeys ?? []).map((key) => Buffer.from(key));
    await this.engine.admin.createTable(this.descriptor(this.setting.family), splitKeys);
    for (const [index, step] of steps.entries()) {
      this.now += 10;
      // Scans that are open do not outlive their store.
      if (step.kind === 'later' && this.open.length > 0) await this.readOn(1000);
      if (this.random(100) < this.setting.upkeep) await this.upkeep();
      this.answers.push(`${index} ${step.kind}: ${await this.perform(step)}`);
    }
    await this.readOn(1000);
    this.answers.push(await this.contents(this.table));
    await this.engine.verify();
    await this.engine.close();
    return this.answers;
  }

  private get table(): Table {
    return this.engine.table('t');
  }

  private openStore(path: string): Promise<EmbeddedEngine> {
    return openEmbedded(path, {
      ...(this.fileSystem ? { fileSystem: this.fileSystem } : {}),
      durability: 'ASYNC_WAL',
      ...this.setting.options,
      clock: () => this.now,
    });
  }

  private descriptor(options: FamilyOptions): ReturnType<typeof tableDescriptor> {
    const families = Object.entries(SCRIPT_FAMILIES).map(([name, own]) => [name, { ...options, ...own }]);
    return tableDescriptor('t', Object.fromEntries(families) as Record<string, FamilyOptions>);
  }

  private async perform(step: Step): Promise<string> {
    const { table } = this;
    switch (step.kind) {
      case 'write':
        return this.write(step.mutation);
      case 'batch': {
        const outcomes = await table.batch(step.actions, { atomic: step.atomic });
        return outcomes.map((each) => (each.ok ? resultText(each.result) : each.error.code)).join(' | ');
      }
      case 'get':
        return `${resultText(await table.get(step.get))} ${await table.exists(step.get)}`;
      case 'scan':
        return this.contents(table, step.scan);
      case 'open':
        this.open.push(table.scan(step.scan));
        return '';
      case 'read':
        return this.readOn(step.rows);
      case 'load':
        return `${(await this.engine.bulkLoad('t', step.cells(this.now))).cells}`;
      case 'later':
        this.now += step.milliseconds;
        return '';
    }
  }

  private async write(mutation: Extract<Step, { kind: 'write' }>['mutation']): Promise<string> {
    const { table } = this;
    try {
      if (mutation instanceof RowMutations) return resultText(await table.mutateRow(mutation));
      if (mutation instanceof CheckAndMutate) {
        const { success, result } = await table.checkAndMutate(mutation);
        return `${success} ${resultText(result)}`;
      }
      if (mutation.kind === 'increment') return resultText(await table.increment(mutation));
      if (mutation.kind === 'append') return resultText(await table.append(mutation));
      await (mutation.kind === 'put' ? table.put(mutation) : table.delete(mutation));
      return 'done';
    } catch (error) {
      return (error as { code: string }).code;
    }
  }

  /** Some rows of every open scan; what is at its end is closed. */
  private async readOn(rows: number): Promise<string> {
    const out: string[] = [];
    for (const scanner of this.open.splice(0)) {
      const results = await scanner.nextBatch(rows);
      out.push(...results.map(resultText));
      if (results.length === rows) this.open.push(scanner);
      else await scanner.close();
    }
    return out.join(' | ');
  }

  private async contents(table: Table, scan: Scan = new Scan().readAllVersions()): Promise<string> {
    const out: string[] = [];
    for await (const result of table.scan(scan)) out.push(resultText(result));
    return out.join(' | ');
  }

  /** What must change no answer. */
  private async upkeep(): Promise<void> {
    const { random } = this;
    const { admin } = this.engine;
    const family = ['a', 'b', 'c', undefined][random(4)];
    const dice = random(20);
    if (dice < 8) await admin.flush('t', family);
    else if (dice < 11) await admin.compact('t', family);
    else if (dice < 13) await admin.majorCompact('t', family);
    else if (dice < 14) await this.split();
    else if (dice < 15) await this.merge();
    else if (dice < 17) await admin.modifyTable(this.descriptor(this.anyOptions()));
    else if (dice < 18) await this.copy();
    else if (this.open.length === 0) {
      await this.engine.close();
      this.engine = await this.openStore(`${this.folder}/db`);
    }
  }

  private async split(): Promise<void> {
    if ((await this.engine.admin.getRegions('t')).length >= 8) return;
    const key = `row-${String(this.random(40)).padStart(2, '0')}`;
    // A second split at the same key is refused.
    await this.engine.admin.split('t', Buffer.from(key)).catch((error: { code: string }) => {
      if (error.code !== 'ERR_INVALID_ARGUMENT') throw error;
    });
  }

  private async merge(): Promise<void> {
    const names = (await this.engine.admin.getRegions('t')).map(({ name }) => name);
    if (names.length < 2) return;
    const first = this.random(names.length - 1);
    const chosen = names.slice(first, first + 2 + this.random(2));
    // Refused when one of them is split by the store itself meanwhile.
    await this.engine.admin.mergeRegions(chosen).catch((error: { code: string }) => {
      if (error.code !== 'ERR_INVALID_ARGUMENT') throw error;
    });
  }

  private anyOptions(): FamilyOptions {
    const { random } = this;
    return {
      compression: COMPRESSIONS[random(COMPRESSIONS.length)]!,
      dataBlockEncoding: DATA_BLOCK_ENCODINGS[random(DATA_BLOCK_ENCODINGS.length)]!,
      bloomFilter: BLOOM_FILTERS[random(BLOOM_FILTERS.length)]!,
      blockSize: 1024 << random(4),
      blockCache: random(2) === 0,
      inMemory: random(2) === 0,
    };
  }

  /** A checkpoint holds what the store holds. */
  private async copy(): Promise<void> {
    const path = `${this.folder}/copy${this.copies++}`;
    await this.engine.checkpoint(path);
    const expected = await this.contents(this.table);
    const copy = await this.openStore(path);
    const found = await this.contents(copy.table('t'));
    await copy.verify();
    await copy.close();
    if (found !== expected) throw new Error(`The checkpoint holds ${found}\ninstead of ${expected}`);
  }
}
