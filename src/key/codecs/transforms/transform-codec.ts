/** Codecs of parts that are kept changed about: reversed text, domains and digits, timestamps from the end of time. */

import type { PartTransform } from '../../elements.js';
import type { BaseCodec } from '../base.js';
import { IdCodec } from './id.js';
import { ReverseCodec } from './reverse.js';
import { ReverseDigitsCodec } from './reverse-digits.js';
import { ReverseDomainCodec } from './reverse-domain.js';
import { ReverseTimestampCodec } from './reverse-timestamp.js';

/** The codec of a transformed part. */
export function transformCodec(transform: PartTransform): BaseCodec<unknown> {
  switch (transform.kind) {
    case 'reverse':
      return new ReverseCodec() as BaseCodec<unknown>;
    case 'reverseDomain':
      return new ReverseDomainCodec() as BaseCodec<unknown>;
    case 'reverseDigits':
      return new ReverseDigitsCodec(transform.width, transform.as) as BaseCodec<unknown>;
    case 'reverseTimestamp':
      return new ReverseTimestampCodec(transform.as, transform.text) as BaseCodec<unknown>;
    case 'substitute':
      return new IdCodec(transform.dictionary, transform.bytes) as BaseCodec<unknown>;
  }
}
