/** The part of a database that the studio uses: the `Database` of applications is one. */

import type { Repository } from '../../repository/index.js';
import type { KeyedClass } from '../../schema/entity-types.js';
import type { LintFinding } from '../../schema/index.js';
import type { EntityClass, EntitySchema, TableSchema } from '../../schema/types.js';
import type { Admin, Engine, RowMutation, RowMutations, Table } from '../../table/index.js';

/** The declarations, and how the tables differ from them. */
interface StudioSchema {
  readonly tables: readonly TableSchema[];
  readonly entities: readonly EntitySchema[];
  entity(target: EntityClass): EntitySchema;
  entityOfRow(table: string, row: Uint8Array): EntitySchema | undefined;
  plan(): Promise<{
    readonly steps: readonly { readonly class: string; readonly id: string; readonly why: string }[];
    readonly contradictions: readonly { readonly table: string; readonly message: string }[];
  }>;
  lint(): LintFinding[];
}

/** A write's mutations and what follows it (`Database.explainWrite`), as far as the features are there. */
export interface StudioPreview {
  readonly indexes: readonly string[];
  readonly summaries?: readonly string[];
  readonly copiedTo?: readonly { readonly entity: string; readonly rows: number; readonly how: string }[];
  readonly referredBy?: readonly {
    readonly entity: string;
    readonly property: string;
    readonly rows: number;
    readonly onDelete: string;
  }[];
  readonly mirror?: boolean;
  readonly keyChange?: { readonly other: string } | null;
  readonly changes?: number | null;
  readonly preview?: {
    readonly mutations: readonly { readonly table: string; readonly change: RowMutation | RowMutations }[];
    readonly complete: boolean;
  };
}

/** One commit of a change feed. */
interface StudioCommit {
  readonly time: Date;
  readonly changes: readonly {
    readonly operation: 'insert' | 'update' | 'delete';
    readonly before: object | undefined;
    readonly after: object | undefined;
  }[];
}

interface StudioTransaction {
  repository(target: KeyedClass): object;
  table(name: string): Table;
}

/** Methods of features are optional: the studio works without any of them. */
export interface StudioDatabase {
  readonly engine: Engine;
  readonly admin: Admin;
  readonly schema: StudioSchema;
  repository(target: KeyedClass): object;
  index?(
    target: KeyedClass,
    name: never,
  ): {
    readonly state: string | undefined;
    verify(options: StudioCheck): Promise<object>;
    repair(options: StudioCheck): Promise<object>;
  };
  summary?(target: KeyedClass, name: never): { state(): Promise<string> };
  explainWrite(
    target: KeyedClass,
    key: never,
    write: (repository: Repository<KeyedClass>) => Promise<unknown>,
  ): Promise<StudioPreview>;
  transaction?<T>(run: (tx: StudioTransaction) => Promise<T>): Promise<T>;
  watch?(
    target: KeyedClass,
    prefix: Record<never, never>,
    options: { readonly signal: AbortSignal },
  ): AsyncIterable<StudioCommit> & { ready(): Promise<void> };
}

/** How a check of an index is run. */
export interface StudioCheck {
  readonly run: {
    readonly signal: AbortSignal;
    readonly restart: true;
    readonly onProgress: (progress: {
      readonly phase: number;
      readonly fraction: number;
      readonly rows: number;
    }) => void;
  };
}
