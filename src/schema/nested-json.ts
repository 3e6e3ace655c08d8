import { instanceToPlain, plainToInstance } from 'class-transformer';
import { json, type ValueCodec } from '../codec/index.js';
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
