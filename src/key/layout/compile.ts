/** Checks the elements of a key and compiles them into a layout. */

import { toHex } from '../../bytes/index.js';
import { SchemaError } from '../../errors.js';
import { describe } from '../../table/checks.js';
import type { KeyCodec } from '../codecs/base.js';
import { baseCodec } from '../codecs/desc.js';
import { type BaseCodec, type Conversion, conversionOf, date, storedCodec } from '../codecs/index.js';
import { transformCodec } from '../codecs/part-transforms.js';
import { DictionaryCodec, type KeyDictionary } from '../dictionary/dictionary.js';
import { LayoutDictionaries } from '../dictionary/layout-dictionaries.js';
import type {
  BucketElement,
  HashElement,
  KeyElement,
  PartElement,
  PartTransform,
  SaltElement,
  TimeBucketElement,
} from '../elements.js';
import type { KeyLayout, KeyPart, KeySubstitution } from '../types.js';
import { CompiledLayout, TransformedLayout } from './layout.js';
import type { Step } from './step.js';
import { ConstStep, FieldStep } from './steps/field-step.js';
import { HashStep } from './steps/hash-step.js';
import { BucketStep, SaltStep } from './steps/salt-step.js';
import { TimeBucketStep } from './steps/time-bucket-step.js';

/** Gives the codec of a part that is declared without one. Throws, or returns undefined, if it cannot be determined. */
export type CodecResolver = (part: string) => KeyCodec<unknown> | undefined;

export interface LayoutOptions {
  /** Random numbers in [0, 1) for random salts. Default Math.random. */
  readonly random?: () => number;
  /** The entity whose keys these are, for error messages. */
  readonly entity?: string;
  /**
   * The dictionaries of `substitute` parts, which then take and return texts; without it they take and return ids
   * (numbers).
   */
  readonly dictionary?: (name: string) => KeyDictionary;
}

/** The names of codecs whose values are texts, bytes or booleans. */
const WITHOUT_MODULO =
  /^(desc\()?(text|bytes|boolean|uuid|ulid|ksuid|ipv4|ipv6|cidr|decimal|geohash|enumeration|fixedBytes|fixedString)\b/;

/**
 * Compiles a row key.
 * @throws SchemaError with every problem of the declaration.
 */
export function compileKeyLayout(
  elements: readonly KeyElement[],
  resolveCodec: CodecResolver,
  recordType?: number,
  options: LayoutOptions = {},
): KeyLayout {
  return new LayoutCompiler(elements, resolveCodec, recordType, options).compile();
}

class LayoutCompiler {
  private readonly problems: string[] = [];
  private readonly steps: Step[] = [];
  private readonly parts: KeyPart[] = [];
  private readonly substitutions: KeySubstitution[] = [];
  private readonly dictionaryCodecs = new Map<string, DictionaryCodec>();
  /** The conversions of parts with a transformed codec. The steps encode what is stored. */
  private readonly conversions = new Map<string, Conversion>();
  /** The names of parts that the key holds whole. */
  private readonly exact: ReadonlySet<string>;
  private readonly elements: readonly KeyElement[];

  constructor(
    elements: readonly KeyElement[],
    private readonly resolveCodec: CodecResolver,
    private readonly recordType: number | undefined,
    private readonly options: LayoutOptions,
  ) {
    this.elements = elements.flatMap(expandKept);
    this.exact = new Set(this.elements.flatMap((element) => (element.kind === 'part' ? element.parts : [])));
  }

  compile(): KeyLayout {
    this.checkRecordType();
    this.elements.forEach((element, index) => {
      try {
        this.steps.push(this.stepOf(element, index));
      } catch (error) {
        if (!(error instanceof SchemaError)) throw error;
        this.problems.push(...error.problems);
      }
    });
    if (this.parts.length === 0 && this.problems.length === 0)
      this.problems.push('The row key needs at least one part.');
    this.checkParts();
    if (this.problems.length > 0) {
      throw new SchemaError(`The row key is wrong: ${this.problems.join(' ')}`, this.problems);
    }
    const { elements, resolveCodec, recordType, options } = this;
    const stored = new CompiledLayout(this.steps, this.parts, recordType, {
      entity: options.entity,
      substitutions: this.substitutions,
      dictionaries:
        this.dictionaryCodecs.size === 0
          ? undefined
          : new LayoutDictionaries(this.steps, this.dictionaryCodecs),
      bind: (dictionary) => compileKeyLayout(elements, resolveCodec, recordType, { ...options, dictionary }),
    });
    return this.conversions.size === 0 ? stored : new TransformedLayout(stored, this.conversions);
  }

  private checkRecordType(): void {
    const { recordType } = this;
    const declared = this.elements.filter(({ kind }) => kind === 'recordType').length;
    if (declared > 1) this.problems.push('recordType() occurs in the row key more than once.');
    if (declared > 0 && recordType === undefined) {
      this.problems.push(
        'The row key has recordType(), but the entity declares no record type. Give it one, @Entity({ table, recordType: 1 }), or leave recordType() out.',
      );
    }
    if (recordType === undefined) return;
    if (declared === 0) {
      this.problems.push(
        `The entity has record type ${describe(recordType)}, but its row key has no recordType(). Put recordType() into the key, behind the parts that the entities of the table share.`,
      );
    }
    if (!Number.isInteger(recordType) || recordType < 0 || recordType > 255) {
      this.problems.push(
        `The record type must be a whole number from 0 to 255, not ${describe(recordType)}.`,
      );
    }
  }

  private checkParts(): void {
    const seen = new Set<string>();
    for (const { name } of this.parts) {
      if (seen.has(name)) this.problems.push(`Part "${name}" occurs in the row key more than once.`);
      seen.add(name);
    }
    for (const element of this.elements) {
      const named =
        element.kind === 'salt' ? (element.over ?? []) : element.kind === 'bucket' ? [element.of] : [];
      for (const name of named) {
        if (!seen.has(name))
          this.problems.push(
            `${element.kind}() is over "${name}", which is not a part of the row key. Its parts are ${[...seen].join(', ')}.`,
          );
      }
      if (element.kind === 'bucket') this.checkNumbers(element);
    }
  }

  private checkNumbers({ of, buckets }: BucketElement): void {
    const codec = this.parts.find(({ name }) => name === of)?.codec.name;
    if (codec === undefined || !WITHOUT_MODULO.test(codec)) return;
    this.problems.push(
      `bucket("${of}", ${buckets}) takes the remainder of whole numbers, bigints and Dates, and "${of}" is ${codec}. Write salt(${buckets}, ["${of}"]).`,
    );
  }

  private stepOf(element: KeyElement, index: number): Step {
    switch (element.kind) {
      case 'literal':
        return new ConstStep(element.bytes, `literal(${toHex(element.bytes)})`);
      case 'recordType':
        return new ConstStep(Uint8Array.of(this.recordType ?? 0), `recordType(${this.recordType})`, true);
      case 'salt': {
        const runs = this.saltRuns(element, index);
        const salted = (runs ?? []).flatMap(([first, last]) => this.elements.slice(first, last + 1));
        const names = salted.flatMap(({ parts }) => parts);
        return new SaltStep(element, index, runs, names, this.options.random ?? Math.random);
      }
      case 'bucket':
        return new BucketStep(element);
      case 'part':
        return this.fieldOf(element, index === this.elements.length - 1);
      case 'hash':
        return this.hashOf(element);
      case 'timeBucket':
        return this.timeBucketOf(element);
    }
  }

  /** Among several buckets of a time that the key does not hold whole, the finest determines the others. */
  private timeBucketOf(element: TimeBucketElement): TimeBucketStep {
    const name = element.parts[0];
    const whole = this.elements.find((other) => other.kind === 'part' && other.parts[0] === name);
    if (whole !== undefined) return new TimeBucketStep(element, true, this.isReversed(whole as PartElement));
    const finest = this.finestBucket(name);
    if (element === finest) {
      this.parts.push({
        name,
        codec: date as KeyCodec<unknown>,
        descending: element.descending,
        recoverable: false,
      });
      return new TimeBucketStep(element, false, undefined);
    }
    if (element.width % finest.width !== 0) {
      throw new SchemaError(
        `timeBucket("${name}"): its width of ${element.width} ms is not a multiple of the finest one, ${finest.width} ms. Use multiples, or add the part itself to the key.`,
      );
    }
    return new TimeBucketStep(element, true, finest.descending);
  }

  private finestBucket(name: string): TimeBucketElement {
    const buckets = this.elements.filter(
      (element): element is TimeBucketElement => element.kind === 'timeBucket' && element.parts[0] === name,
    );
    return buckets.reduce((finest, bucket) => (bucket.width < finest.width ? bucket : finest));
  }

  private isReversed(element: PartElement): boolean {
    const codec = this.codecOf(element);
    const inner = codec.uninverted;
    return (inner !== codec) !== element.descending ? !inner.descending : inner.descending;
  }

  private fieldOf(element: PartElement, last: boolean): FieldStep {
    const name = element.parts[0];
    const declared = this.codecOf(element);
    const inner = declared.uninverted;
    const inverted = (inner !== declared) !== element.descending;
    if (inner.framing === 'rest' && (!last || inverted)) {
      const remedy = 'Put it last and ascending, or use a codec with a fixed length or a terminator.';
      throw new SchemaError(`Part "${name}" (${inner.name}) has no terminator. ${remedy}`);
    }
    const field = new FieldStep(name, inner, inverted, last);
    this.parts.push({ name, codec: declared, descending: field.reversed, recoverable: true });
    if (element.transform?.kind === 'substitute') {
      const { dictionary, bytes } = element.transform;
      this.substitutions.push(Object.freeze({ part: name, dictionary, bytes }));
    }
    return field;
  }

  private codecOf(element: PartElement): BaseCodec<unknown> {
    const { transform } = element;
    const { dictionary } = this.options;
    if (transform?.kind === 'substitute' && dictionary !== undefined) {
      return this.dictionaryCodec(element.parts[0], transform, dictionary);
    }
    if (transform !== undefined) return transformCodec(transform);
    const [name] = element.parts;
    return this.storedBy(name, element.codec === undefined ? this.resolve(name) : baseCodec(element.codec));
  }

  /** The codec of what is stored. Keeps the conversion of a transformed one. */
  private storedBy(part: string, codec: BaseCodec<unknown>): BaseCodec<unknown> {
    const conversion = conversionOf(codec);
    if (conversion !== undefined) this.conversions.set(part, conversion);
    return storedCodec(codec);
  }

  private dictionaryCodec(
    part: string,
    transform: Extract<PartTransform, { kind: 'substitute' }>,
    dictionary: (name: string) => KeyDictionary,
  ): BaseCodec<unknown> {
    let codec = this.dictionaryCodecs.get(part);
    if (codec === undefined) {
      codec = new DictionaryCodec(part, transform.bytes, dictionary(transform.dictionary));
      this.dictionaryCodecs.set(part, codec);
    }
    return codec as BaseCodec<unknown>;
  }

  private resolve(name: string): BaseCodec<unknown> {
    const codec = this.resolveCodec(name);
    if (codec === undefined) {
      throw new SchemaError(
        `Part "${name}" has no codec, and its type does not determine one. Give a codec: part('${name}', text).`,
      );
    }
    return baseCodec(codec);
  }

  private hashOf(element: HashElement): HashStep {
    const whole = element.parts.filter((name) => this.exact.has(name)).length;
    if (whole > 0 && whole < element.parts.length) {
      throw new SchemaError(
        `hash() of ${element.parts.join(', ')}: the row key must hold either all or none of them whole.`,
      );
    }
    const sources = element.parts.map((name, at) => ({
      name,
      codec: this.sourceCodec(name, element.codecs[at]),
    }));
    if (whole === 0) {
      for (const { name, codec } of sources) {
        this.parts.push({ name, codec, descending: false, recoverable: false });
      }
    }
    return new HashStep(element, sources, whole > 0);
  }

  /** The input of a digest: the part's own bytes in ascending order, whatever its order in the key. */
  private sourceCodec(name: string, declared: KeyCodec<unknown> | undefined): BaseCodec<unknown> {
    const part = this.elements.find(
      (other): other is PartElement => other.kind === 'part' && other.parts[0] === name,
    );
    const codec =
      declared !== undefined
        ? this.storedBy(name, baseCodec(declared))
        : part === undefined
          ? this.storedBy(name, this.resolve(name))
          : this.codecOf(part);
    return codec.uninverted;
  }

  /**
   * The steps whose bytes a salt hashes, as ranges of indexes; undefined for Phoenix's salt, which hashes all bytes
   * after it.
   */
  private saltRuns(salt: SaltElement, index: number): [number, number][] | undefined {
    if (salt.algorithm === 'phoenix') return undefined;
    const runs: [number, number][] = [];
    this.elements.forEach((element, i) => {
      if (!this.isSalted(salt, index, element, i)) return;
      const last = runs.at(-1);
      if (last !== undefined && last[1] === i - 1) last[1] = i;
      else runs.push([i, i]);
    });
    if (runs.length === 0 && salt.over === undefined && salt.assign === 'hash') {
      throw new SchemaError('salt(): no part follows it. Name its parts with `over`, or put it first.');
    }
    return runs;
  }

  /** Whether the element is a part, or the only trace of one in the key. */
  private saysPart(element: KeyElement): boolean {
    if (element.kind === 'part') return true;
    if (element.kind === 'timeBucket' && this.finestBucket(element.parts[0]) !== element) return false;
    const digest = element.kind === 'hash' || element.kind === 'timeBucket';
    return digest && !element.parts.some((name) => this.exact.has(name));
  }

  private isSalted(salt: SaltElement, index: number, element: KeyElement, i: number): boolean {
    if (!this.saysPart(element)) return false;
    if (salt.over === undefined) return i > index;
    return element.parts.some((name) => salt.over!.includes(name));
  }
}

/** Expands `hash(..., { keep: true })` into the digest and the part after it, as separate elements. */
function expandKept(element: KeyElement): readonly KeyElement[] {
  if (element.kind !== 'hash' || !element.exact) return [element];
  return [
    { ...element, exact: false },
    {
      kind: 'part',
      parts: [element.parts[0]!],
      exact: true,
      codec: element.codecs[0],
      descending: false,
      transform: undefined,
    },
  ];
}
