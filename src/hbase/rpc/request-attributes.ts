import { equalBytes } from '../../bytes/index.js';
import { InvalidArgumentError } from '../../errors.js';
import { describe } from '../../table/checks.js';
import { RequestHeader } from '../wire/messages-rpc.js';
import { encodeMessage } from '../wire/schema.js';

/** Limit of the encoded attributes of one request, bytes. */
const MAX_BYTES = 16 << 10;

/** Attributes of a request (`RequestHeader.attribute`, HBase 2.6; older servers ignore them). */
export class RequestAttributes {
  private constructor(
    /** Encoded as fields of a `RequestHeader`. */
    readonly fields: Uint8Array,
  ) {}

  /** @throws InvalidArgumentError for anything but an object of strings, and above 16 KiB. */
  static of(record: Readonly<Record<string, string>>): RequestAttributes | undefined {
    checkAttributes('attributes', record);
    const entries = Object.entries(record);
    if (entries.length === 0) return undefined;
    const fields = encodeMessage(RequestHeader, {
      attribute: entries.map(([name, value]) => ({ name, value: Buffer.from(value, 'utf8') })),
    });
    if (fields.length <= MAX_BYTES) return new RequestAttributes(fields);
    throw new InvalidArgumentError(
      `The attributes of a request take ${fields.length} bytes; ${MAX_BYTES} are allowed. Send an id instead of the data.`,
    );
  }

  /** Whether operations with these attributes may share a request. */
  static areSame(a: RequestAttributes | undefined, b: RequestAttributes | undefined): boolean {
    return a === b || (a !== undefined && b !== undefined && equalBytes(a.fields, b.fields));
  }
}

/** @throws InvalidArgumentError for anything but an object of strings. */
export function checkAttributes(
  name: string,
  attributes: unknown,
): asserts attributes is Record<string, string> {
  const isSound =
    typeof attributes === 'object' &&
    attributes !== null &&
    !Array.isArray(attributes) &&
    Object.values(attributes).every((value) => typeof value === 'string');
  if (isSound) return;
  throw new InvalidArgumentError(
    `${name} is an object of texts, { application: "billing" }, not ${describe(attributes)}.`,
  );
}
