/**
 * `rowan-orm/nestjs`: the database and its repositories as providers of NestJS, closed with the application; a health indicator,
 * and a database in memory for tests. It needs the package `@nestjs/common`, which the application has.
 */

import {
  type DynamicModule,
  type FactoryProvider,
  Inject,
  type InjectionToken,
  Module,
  type ModuleMetadata,
  type OnApplicationShutdown,
  type OnModuleDestroy,
  type Provider,
} from '@nestjs/common';
import {
  type ConnectOptions,
  connect,
  Database,
  type Health,
  type HealthOptions,
  type OpenOptions,
  open,
} from '../database.js';
import { InvalidArgumentError } from '../errors.js';
import type { EntityClass, KeyedClass } from '../schema/index.js';
import { isRecord } from '../table/checks.js';
import type { MemoryOptions } from '../testing/index.js';

/** The name of the default database. */
const DEFAULT = 'default';

/** Which database a module is for. */
export interface RowanModuleName {
  /** The name of this database, in an application with several. Default: the database that `Database` injects. */
  readonly name?: string;
}

/** Options of {@link RowanModule.forRoot}: those of `open` or of `connect`, and the name of the database. */
export type RowanModuleOptions = (OpenOptions | ConnectOptions) & RowanModuleName;

/** Options of {@link RowanModule.forRootAsync}. */
export interface RowanModuleAsyncOptions extends RowanModuleName, Pick<ModuleMetadata, 'imports'> {
  /** The providers that are passed to `useFactory`, in this order. */
  readonly inject?: FactoryProvider['inject'];
  /** Makes the options of `open` or `connect`. */
  readonly useFactory: (
    ...dependencies: never[]
  ) => OpenOptions | ConnectOptions | Promise<OpenOptions | ConnectOptions>;
}

const tokens = new Map<string, symbol>();
const repositoryTokens = new WeakMap<EntityClass, Map<string, symbol>>();

/** The token of a database: the class `Database` itself, or a symbol for one that has a name. */
export function getDatabaseToken(name: string = DEFAULT): InjectionToken {
  return name === DEFAULT ? Database : tokenIn(tokens, name, `Database "${name}"`);
}

/** The token of the repository of an entity; give it to `overrideProvider` in tests. */
export function getRepositoryToken(entity: EntityClass, name: string = DEFAULT): InjectionToken {
  const ofEntity = repositoryTokens.get(entity) ?? new Map<string, symbol>();
  repositoryTokens.set(entity, ofEntity);
  const where = name === DEFAULT ? '' : ` in the database "${name}"`;
  return tokenIn(ofEntity, name, `Repository of ${entity.name}${where}`);
}

function tokenIn(known: Map<string, symbol>, name: string, text: string): symbol {
  const token = known.get(name) ?? Symbol(text);
  known.set(name, token);
  return token;
}

/**
 * Injects the repository of an entity that `RowanModule.forFeature` provides.
 *
 * @example
 * ```ts
 * constructor(@InjectRepository(Order) private readonly orders: Repository<typeof Order>) {}
 * ```
 */
export function InjectRepository(entity: EntityClass, name?: string): ParameterDecorator & PropertyDecorator {
  return Inject(getRepositoryToken(entity, name));
}

/** Injects a database by its name. The default one is injected by its class, `Database`, without a decorator. */
export function InjectDatabase(name?: string): ParameterDecorator & PropertyDecorator {
  return Inject(getDatabaseToken(name));
}

/**
 * Signals the end of the application, and closes the database. NestJS waits for requests in progress before that, and
 * a request that reads a change feed never ends by itself: pass `signal` to `db.watch`.
 */
export class RowanShutdown implements OnModuleDestroy, OnApplicationShutdown {
  private readonly ending = new AbortController();

  constructor(private readonly database: Database) {}

  /** Aborted when the application begins to shut down. */
  get signal(): AbortSignal {
    return this.ending.signal;
  }

  onModuleDestroy(): void {
    this.ending.abort();
  }

  onApplicationShutdown(): Promise<void> {
    return this.database.close();
  }
}

/** The result of a health check in the form of Terminus: `{ rowan: { status: 'up', … } }`. */
export type RowanHealthResult = Record<string, Health>;

/** Health of a database for `@nestjs/terminus`, or for a controller of your own. */
export class RowanHealthIndicator {
  constructor(private readonly database: Database) {}

  /**
   * Checks each table of the entities (`db.health`). Never throws; a database that does not answer in time is `down`.
   *
   * @example
   * ```ts
   * health.check([() => this.rowan.isHealthy('rowan')]);
   * ```
   */
  async isHealthy(key = 'rowan', options?: HealthOptions): Promise<RowanHealthResult> {
    return { [key]: await this.database.health(options) };
  }
}

/** The token of an object that exists once for each database. */
function tokenOf(target: typeof RowanShutdown | typeof RowanHealthIndicator, name: string): InjectionToken {
  return name === DEFAULT ? target : tokenIn(tokens, `${target.name} ${name}`, `${target.name} of "${name}"`);
}

/** The module that opens databases and provides repositories. */
@Module({})
export class RowanModule {
  /**
   * Opens an embedded store (`path`), or connects to HBase. Provides `Database`, {@link RowanShutdown} and
   * {@link RowanHealthIndicator} to all modules; closes the database when the application ends.
   *
   * @example
   * ```ts
   * @Module({ imports: [RowanModule.forRoot({ path: 'data', entities: [Order] })] })
   * export class AppModule {}
   * ```
   */
  static forRoot({ name, ...options }: RowanModuleOptions): DynamicModule {
    return rootModule(name, { useFactory: () => openOrConnect(options as OpenOptions | ConnectOptions) });
  }

  /** As {@link forRoot}, with options from other providers, such as configuration and secrets. */
  static forRootAsync({ name, imports, inject, useFactory }: RowanModuleAsyncOptions): DynamicModule {
    const make = useFactory as (...dependencies: unknown[]) => ReturnType<typeof useFactory>;
    return {
      ...rootModule(name, {
        ...(inject !== undefined && { inject }),
        useFactory: async (...dependencies: unknown[]) => openOrConnect(await make(...dependencies)),
      }),
      ...(imports !== undefined && { imports }),
    };
  }

  /** A database in memory for tests, with the same providers (`openMemory` of `rowan-orm/testing`). */
  static forTesting({ name, ...options }: MemoryOptions & RowanModuleName): DynamicModule {
    return rootModule(name, {
      useFactory: async () => {
        const { openMemory } = await import('../testing/index.js');
        return openMemory(options);
      },
    });
  }

  /**
   * Provides the repositories of entities, for {@link InjectRepository}. The entities are among those that the database was opened
   * with.
   */
  static forFeature(entities: readonly KeyedClass[], name?: string): DynamicModule {
    const providers = entities.map(
      (entity): Provider => ({
        provide: getRepositoryToken(entity, name),
        inject: [getDatabaseToken(name)],
        useFactory: (database: Database) => database.repository(entity),
      }),
    );
    return { module: RowanModule, providers, exports: providers };
  }
}

function rootModule(
  name: string = DEFAULT,
  opening: Pick<FactoryProvider<Promise<Database>>, 'inject' | 'useFactory'>,
): DynamicModule {
  const database = getDatabaseToken(name);
  const beside = [RowanShutdown, RowanHealthIndicator].map(
    (target): Provider => ({
      provide: tokenOf(target, name),
      inject: [database],
      useFactory: (opened: Database) => new target(opened),
    }),
  );
  const providers: Provider[] = [{ provide: database, ...opening }, ...beside];
  return { module: RowanModule, global: true, providers, exports: providers };
}

function openOrConnect(options: OpenOptions | ConnectOptions): Promise<Database> {
  if (!isRecord(options as unknown)) {
    throw new InvalidArgumentError(
      'RowanModule takes the options of open, { path, entities }, or of connect, { masters, entities }.',
    );
  }
  return 'path' in options ? open(options) : connect(options);
}
