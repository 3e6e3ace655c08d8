/** What `shape-code.ts` does, without generating code. Slower; the results are the same. */

import { initialOf, type ObjectShape, refuseEmbedded, type ShapeCode, slotsOf } from './shape.js';

type Properties = Record<string, unknown>;

/** The steps from an entity to the property of one column. */
interface Place {
  readonly outer: readonly { readonly name: string; readonly shape: ObjectShape }[];
  readonly name: string;
}

export function interpretShape(shape: ObjectShape): ShapeCode {
  const places = new Map<number, Place>();
  locate(shape, [], places);
  return {
    create: () => createObject(shape),
    assign(entity, slot, value) {
      const place = places.get(slot)!;
      let object = entity as Properties;
      for (const step of place.outer) {
        object[step.name] ??= createObject(step.shape);
        object = object[step.name] as Properties;
      }
      object[place.name] = value;
    },
    read: (entity, values) => readObject(shape, '', entity as Properties, values),
  };
}

function createObject(shape: ObjectShape): object {
  const object = Object.create(shape.target.prototype as object) as Properties;
  for (const property of shape.properties) {
    const initial = initialOf(property);
    object[property.name] = initial === 'map' ? new Map() : initial === 'list' ? [] : undefined;
  }
  return object;
}

function locate(shape: ObjectShape, outer: Place['outer'], places: Map<number, Place>): void {
  for (const property of shape.properties) {
    if (property.kind === 'column') places.set(property.slot, { outer, name: property.name });
    else if (property.kind === 'embedded') locate(property.shape, [...outer, property], places);
  }
}

function readObject(shape: ObjectShape, path: string, object: Properties, values: unknown[]): void {
  for (const property of shape.properties) {
    const value = object[property.name];
    if (property.kind === 'column') {
      values[property.slot] = value;
    } else if (property.kind === 'embedded') {
      const inner = path === '' ? property.name : `${path}.${property.name}`;
      if (value === undefined || value === null) {
        for (const slot of slotsOf(property.shape)) values[slot] = value;
      } else if (typeof value !== 'object') {
        refuseEmbedded(inner, value);
      } else {
        readObject(property.shape, inner, value as Properties, values);
      }
    }
  }
}
