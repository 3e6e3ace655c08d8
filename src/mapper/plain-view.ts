/** Entities as JSON for other programs: with class-transformer's decorators applied, and with loaded relations. */

import { isLost, type JsonValue } from '../codec/index.js';
import { InvalidArgumentError } from '../errors.js';
import { transformer } from '../schema/transformer.js';
import type { EntityClass, EntitySchema, PlainOptions } from '../schema/types.js';
import type { PlainConverter } from './plain.js';
import type { ObjectShape } from './shape.js';

type Properties = Readonly<Record<string, unknown>>;
type PlainObject = Record<string, JsonValue>;

/** Converts the entities of one class to views. */
export interface Viewable {
  readonly shape: ObjectShape;
  readonly converter: PlainConverter;
  readonly relations: EntitySchema['relations'];
}

/** The converter of a related class. Undefined where it is unknown. */
export type ViewableOf = (target: EntityClass) => Viewable | undefined;

/**
 * An entity with its loaded relations, converted by class-transformer. It gets a copy of the entity (with copies of
 * bytes and Maps, which it would damage). Values that it leaves unchanged are converted by the codecs, without loss;
 * changed ones as JSON does. @throws InvalidArgumentError naming the property whose value JSON cannot hold.
 */
export function viewOf(
  of: Viewable,
  entity: Properties,
  options: PlainOptions,
  viewableOf: ViewableOf,
): PlainObject {
  const view = new PlainView(of, entity, viewableOf, []);
  return view.shown(transformer().instanceToPlain(view.likeness, { ...options, exposeUnsetFields: false }));
}

class PlainView {
  readonly likeness: object;
  private readonly plain: PlainObject;
  private readonly related = new Map<string, PlainView | readonly PlainView[]>();

  constructor(
    private readonly of: Viewable,
    entity: Properties,
    viewableOf: ViewableOf,
    outer: readonly Properties[],
  ) {
    const { converter, shape, relations } = of;
    this.plain = converter.toPlain(entity);
    this.likeness = likenessOf(shape, entity);
    const within = [...outer, entity];
    for (const { property, target } of relations.values()) {
      const value = entity[property];
      if (value === undefined) continue;
      const other = typeof value === 'object' && value !== null ? viewableOf(target()) : undefined;
      if (other === undefined) {
        Object.assign(this.likeness, { [property]: value });
        continue;
      }
      const one = (each: Properties): PlainView => {
        if (!within.includes(each)) return new PlainView(other, each, viewableOf, within);
        throw new InvalidArgumentError(
          `toPlain: "${property}" leads back to the entity that it belongs to, which no JSON can hold. Leave it out.`,
          { details: { property } },
        );
      };
      const view = Array.isArray(value) ? (value as Properties[]).map(one) : one(value as Properties);
      this.related.set(property, view);
      Object.assign(this.likeness, {
        [property]: view instanceof PlainView ? view.likeness : view.map(({ likeness }) => likeness),
      });
    }
  }

  /** The result of class-transformer as JSON values. */
  shown(out: unknown): PlainObject {
    const { shape } = this.of;
    return shownObject(out as Properties, this.likeness as Properties, shape, this.plain, this.related);
  }
}

function shownObject(
  out: Properties,
  likeness: Properties,
  shape: ObjectShape,
  plain: PlainObject,
  related?: ReadonlyMap<string, PlainView | readonly PlainView[]>,
): PlainObject {
  const shown: PlainObject = {};
  for (const [name, value] of Object.entries(out)) {
    if (value === undefined) continue;
    const was = likeness[name];
    const view = related?.get(name);
    const property = shape.properties.find((one) => one.name === name);
    if (view instanceof PlainView && isObject(value)) shown[name] = view.shown(value);
    else if (Array.isArray(view) && Array.isArray(value) && value.length === view.length) {
      shown[name] = value.map((each, i) =>
        isObject(each) ? (view[i] as PlainView).shown(each) : jsonOf(each, name),
      );
    } else if (Object.hasOwn(plain, name) && isSame(value, was)) shown[name] = plain[name]!;
    else if (property?.kind === 'embedded' && isObject(value) && isObject(was)) {
      shown[name] = shownObject(value, was, property.shape, plain[name] as PlainObject);
    } else shown[name] = jsonOf(value, name);
  }
  return shown;
}

/** A copy with the class's prototype, safe to read and change. */
function likenessOf(shape: ObjectShape, source: Properties): object {
  const likeness = Object.create(shape.target.prototype as object) as Record<string, unknown>;
  for (const property of shape.properties) {
    const value = source[property.name];
    if (value === undefined) continue;
    likeness[property.name] =
      property.kind === 'embedded' && value !== null
        ? likenessOf(property.shape, value as Properties)
        : copyOf(value);
  }
  return likeness;
}

/** class-transformer reads a Map by its keys. A Map that was not read so was converted by the user. */
class ReadMap extends Map<unknown, unknown> {
  isRead = false;

  override keys(): MapIterator<unknown> {
    this.isRead = true;
    return super.keys();
  }
}

/** Values that are converted without loss have no cycles. */
function copyOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  if (value instanceof Map) return new ReadMap([...value].map(([key, inner]) => [key, copyOf(inner)]));
  if (Array.isArray(value)) return value.map(copyOf);
  if (isLost(value)) return value;
  const copy = Object.create(Object.getPrototypeOf(value) as object | null) as Record<string, unknown>;
  // class-transformer uses an own "constructor" property as the class.
  for (const [name, inner] of Object.entries(value)) if (name !== 'constructor') copy[name] = copyOf(inner);
  return copy;
}

/** Whether nothing was hidden or changed. */
function isSame(out: unknown, was: unknown): boolean {
  if (Object.is(out, was)) return true;
  if (!isObject(out) || !isObject(was)) return false;
  if (was instanceof Date) return out instanceof Date && Object.is(out.getTime(), was.getTime());
  if (was instanceof Uint8Array) return out instanceof Uint8Array && Buffer.compare(out, was) === 0;
  if (was instanceof ReadMap) {
    return (
      was.isRead && isSame(out, Object.fromEntries([...was].map(([key, value]) => [String(key), value])))
    );
  }
  if (Array.isArray(was) !== Array.isArray(out)) return false;
  const names = namesOf(was);
  return names.length === namesOf(out).length && names.every((name) => isSame(out[name], was[name]));
}

function namesOf(object: Properties): string[] {
  return Object.keys(object).filter((name) => object[name] !== undefined);
}

function isObject(value: unknown): value is Properties {
  return typeof value === 'object' && value !== null;
}

/** The result of a user's transformation as JSON. @throws InvalidArgumentError naming the property. */
function jsonOf(value: unknown, property: string): JsonValue {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value instanceof Promise) {
    throw new InvalidArgumentError(
      `toPlain: what a transformation made of "${property}" is no value of JSON. Answer a text, a number, a list or an object.`,
      { details: { property } },
    );
  }
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (value instanceof Map || value instanceof Set || Array.isArray(value)) {
    return [...(value as Iterable<unknown>)].map((each) =>
      each === undefined ? null : jsonOf(each, property),
    );
  }
  const names = namesOf(value as Properties);
  return Object.fromEntries(names.map((name) => [name, jsonOf((value as Properties)[name], property)]));
}
