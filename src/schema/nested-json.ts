import { instanceToPlain, plainToInstance } from 'class-transformer';
import { isLost, json, type ValueCodec } from '../codec/index.js';
import { RowanError } from '../errors.js';

type AnyConstructor = new (...args: never[]) => object;

/**
 * JSON whose objects are instances of a class, made and taken apart by class-transformer. The bytes are those of plain
 * JSON. class-transformer calls the constructors of the classes, without arguments.
 */
export class NestedJsonCodec implements ValueCodec<object> {
  readonly name = 'json';
  readonly ordered = false;
  private readonly plain = json<unknown>();
  private target: AnyConstructor | undefined;

  constructor(
    private readonly type: () => unknown,
    private readonly list: boolean,
  ) {}

  encode(value: object): Uint8Array {
    this.checkShape(value);
    refuseLosses(value, '', new Set());
    return this.plain.encode(instanceToPlain(value));
  }

  decode(bytes: Uint8Array): object {
    const value = this.plain.decode(bytes);
    this.checkShape(value);
    this.target ??= this.type() as AnyConstructor;
    return plainToInstance(this.target as new () => object, value as object);
  }

  private checkShape(value: unknown): void {
    if (typeof value === 'object' && value !== null && Array.isArray(value) === this.list) return;
    throw new RowanError(
      'ERR_CODEC',
      `json of ${this.list ? 'a list of objects' : 'an object'} got ${Array.isArray(value) ? 'a list' : typeof value}. ` +
        `Give ${this.list ? 'a list' : 'an object'}, or declare the property with the type that it holds.`,
    );
  }
}

/**
 * class-transformer calls functions that it finds among properties, and makes plain objects of Maps and Sets: what would
 * come back as something else is refused before it gets there.
 */
function refuseLosses(value: unknown, path: string, above: Set<object>): void {
  const refuse = (why: string): never => {
    throw new RowanError('ERR_CODEC', `json${path === '' ? '' : ` at "${path}"`}: ${why}.`);
  };
  // A bigint may have a @Transform; one that has none is refused when it is written.
  if (typeof value === 'function' || typeof value === 'symbol') {
    refuse(`a ${typeof value} is no value of JSON`);
  }
  if (typeof value === 'number' && !Number.isFinite(value)) refuse(`${value} is no number of JSON`);
  if (typeof value !== 'object' || value === null) return;
  if (isLost(value)) {
    const name = value.constructor.name;
    refuse(`a ${name} would come back as something else. Keep it as a list or an object`);
  }
  if (value instanceof Date) {
    if (Number.isNaN(value.getTime())) refuse('the Date is invalid');
    return;
  }
  if (above.has(value)) refuse('the object holds itself');
  above.add(value);
  for (const key of Object.keys(value)) {
    if (key === '__proto__') refuse('a key is "__proto__", which objects cannot hold');
    refuseLosses(Reflect.get(value, key), path === '' ? key : `${path}.${key}`, above);
  }
  above.delete(value);
}
