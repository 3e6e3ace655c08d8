/** What the core knows of a feature, and what a feature is given. docs/extending.md says how one is added. */

import type { LiveTables } from '../ddl/index.js';
import type { RowanError } from '../errors.js';
import type { TableAccess } from '../query/index.js';
import type { MaintainerContext, RowIntent, RowMaintainer, StepDriver } from '../repository/index.js';
import type { AdoptedSchema } from '../schema/index.js';
import type { EntityClass, EntitySchema, TableSchema } from '../schema/types.js';
import type { Engine, Result } from '../table/index.js';
import type { Indexing } from './indexes/indexing.js';
import type { Outbox } from './outbox.js';

/** A feature of an open database; `openFeatures` makes those that there are. */
export interface Feature {
  /** Takes over what is declared. @throws SchemaError on wrong declarations; UnsupportedError on what the engine cannot keep. */
  adopt?(schema: AdoptedSchema): void;
  /** What it does with changes of an entity's rows, for both drivers. */
  maintainers?(entity: EntitySchema): readonly RowMaintainer[];
  /** HBase: what it notes of a change before the row is written, beside the outbox; undefined: nothing. */
  intent?(entity: EntitySchema): RowIntent | undefined;
  /** Effects that are still to be made; absent: all are made with the change, or by the outbox of the database. */
  readonly outbox?: Outbox | undefined;
  /** Entities about whose rows it keeps something for this one: they are opened together. */
  sources?(entity: Pick<EntitySchema, 'copies' | 'references'>): {
    /** What it keeps, in words, for messages. */
    readonly what: string;
    readonly entities: readonly EntityClass[];
  };
  /** @throws UnsupportedError on an entity that it does not keep in another table than the declared one. */
  refuseElsewhere?(entity: EntitySchema): void;
  /** Names of entities whose rows are found under the keys of this one, in the same order: their cursors go on. */
  formerNames?(entity: EntitySchema): readonly string[];
  /**
   * Brings what is stored in line with what is declared, when the tables are there.
   * @param before the tables as they were before this program opened them. `readOnly`: nothing is written.
   */
  tablesOpened?(tables: readonly TableSchema[], before: LiveTables, readOnly: boolean): Promise<void>;
  /** Goes on with what another opening of the database has begun. */
  resume?(): Promise<void>;
  /** The database is being closed: stops between two steps. */
  end?(): void | Promise<void>;
}

/** What an open database gives to its features. */
export interface FeatureContext extends MaintainerContext {
  /** The engine, with its tables as they are declared, wherever their columns stand yet. */
  readonly engine: Engine;
  /** The engine with its tables as they are stored. */
  readonly stored: Engine;
  /** Whether the engine's one step is a row, as on HBase. */
  readonly isRemote: boolean;
  /** Applies changes of entities in a step; for engines that have steps over rows. */
  readonly driver: StepDriver;
  readonly indexing: Indexing;
  /** Effects that are still to be made, of every feature. */
  readonly outbox: Outbox;
  declared(): AdoptedSchema;
  schemaOf(target: EntityClass): EntitySchema;
  /** The table of these entities, with what reading them may have to load. */
  access(entities: readonly EntitySchema[]): TableAccess;
  /** A row of a table as its entity is declared. */
  declaredRow(table: string, row: Result): Result;
  /** Told of failures of work that nobody waits for. */
  onFailure(error: RowanError): void;
}
