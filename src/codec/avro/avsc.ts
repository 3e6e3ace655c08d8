/**
 * The part of avsc that Rowan uses, loaded with the first schema. Its main module makes types while it loads, and with them
 * functions of text, so that where these are forbidden not even programs without Avro could load it.
 */

import * as nodeModule from 'node:module';
import type avsc from 'avsc';

export interface AvroLibrary {
  readonly Type: typeof avsc.Type;
  readonly builtins: typeof avsc.types;
}

let library: AvroLibrary | undefined;

export function avroLibrary(): AvroLibrary {
  // Codecs are made at once, and so cannot wait for an import. The published package has the library in it (packaging/).
  library ??= nodeModule.createRequire(import.meta.url)('avsc/lib/types.js') as AvroLibrary;
  return library;
}
