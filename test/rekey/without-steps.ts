import { RekeyFeature } from '../../src/features/rekey/rekeying.js';
import { compileSchema } from '../../src/mapper/index.js';
import type { KeyedClass } from '../../src/schema/entity-types.js';
import type { EntityClass } from '../../src/schema/types.js';
import type { Engine } from '../../src/table/index.js';

const NO_INDEXES = {
  paths: () => undefined,
  handle: () => {
    throw new Error('there are none');
  },
};

/** The changes of keys of an engine that says it has no steps over rows. */
export function withoutSteps(
  { engine }: { readonly engine: Engine },
  entities: readonly KeyedClass[],
  observes = true,
): RekeyFeature {
  const remote = new Proxy(engine, {
    get: (target, name) => {
      if (name === 'observe' && !observes) return () => () => undefined;
      if (name === 'capabilities') return { ...target.capabilities, sync: false };
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  }) as Engine;
  const schema = compileSchema(entities);
  const context = {
    stored: remote,
    declared: () => schema,
    schemaOf: (target: EntityClass) => schema.entity(target),
    upkeep: () => [],
    feedPosition: async () => undefined,
    retire: async () => undefined,
  };
  return new RekeyFeature(context, NO_INDEXES);
}
