/** One store under clients: what `clients.ts` does, with looks at the store, copies of it and new lives in between. */

import type { RowanError } from '../../../src/errors.js';
import { type EmbeddedEngine, openEmbedded } from '../../../src/store/engine.js';
import type { EmbeddedOptions } from '../../../src/store/options.js';
import { STORE } from '../workload.js';
import { DESCRIPTOR, runClients } from './clients.js';
import { type Demand, History, type Observed } from './history.js';
import { observe } from './observe.js';

export interface ScriptOptions {
  readonly seed: number;
  readonly clients: number;
  readonly changes: number;
  readonly operators: number;
  readonly splitting?: boolean;
  readonly store: EmbeddedOptions;
  /** Told of what operators meet; what it throws ends the script. */
  readonly onError: (error: RowanError, doing: string) => void;
}

export class Script {
  readonly history = new History();
  private readonly looks: { readonly found: Observed; readonly demand: Demand }[] = [];
  private engine!: EmbeddedEngine;
  private lifeBegun = 0;
  private copies = 0;
  private reopening: Promise<void> | undefined;

  constructor(private readonly options: ScriptOptions) {}

  /** Opens the store and makes the table. */
  async open(): Promise<void> {
    this.engine = await openEmbedded(STORE, this.options.store);
    if (!(await this.engine.admin.tableExists('t'))) await this.engine.admin.createTable(DESCRIPTOR);
  }

  async run(): Promise<void> {
    const { history, options } = this;
    await runClients({
      ...options,
      history,
      engine: () => this.engine,
      checkpoint: () => this.copy(),
      look: () => this.look(),
      reopen: () => this.reopen(),
      // Whoever asked for it is told when it fails.
      reopened: () => this.reopening?.catch(() => undefined),
    });
  }

  async close(): Promise<void> {
    await this.engine?.close();
  }

  /** Holds all looks to the promises, now that it is known what came of each change. Returns how many there were. */
  checkLooks(): number {
    for (const { found, demand } of this.looks) this.history.check(found, demand);
    return this.looks.length;
  }

  async look(): Promise<void> {
    const acknowledgedUntil = this.history.now;
    const found = await observe(this.engine);
    this.note(found, acknowledgedUntil, this.lifeBegun);
  }

  private note(found: Observed, acknowledgedUntil: number, doubtfulUntil: number): void {
    const demand = { acknowledgedUntil, begunUntil: this.history.now, syncedOnly: false };
    this.looks.push({ found, demand: { ...demand, doubtfulUntil } });
  }

  private async copy(): Promise<void> {
    const path = `/data/copy${this.copies++}`;
    const acknowledgedUntil = this.history.now;
    await this.engine.checkpoint(path);
    const copy = await openEmbedded(path, { ...this.options.store, automatic: false });
    try {
      // A copy is a life of its own: it may have what the log had when its sync failed.
      this.note(await observe(copy), acknowledgedUntil, this.history.now);
      await copy.verify();
    } finally {
      await copy.close();
    }
  }

  /** One at a time: others who ask wait for the same. */
  private reopen(): Promise<void> {
    this.reopening ??= this.closeAndOpen().finally(() => {
      this.reopening = undefined;
    });
    return this.reopening;
  }

  private async closeAndOpen(): Promise<void> {
    try {
      await this.engine.close();
    } finally {
      this.engine = await openEmbedded(STORE, this.options.store);
      this.lifeBegun = this.history.now;
    }
  }
}
