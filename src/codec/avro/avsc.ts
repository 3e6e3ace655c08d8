/**
 * Loads the part of avsc that Rowan uses, with the first schema. avsc's main module generates code while it loads, so
 * where code generation is forbidden even programs without Avro columns would fail to load it.
 */

import * as nodeModule from 'node:module';
import type avsc from 'avsc';

interface AvroLibrary {
  readonly Type: typeof avsc.Type;
  readonly builtins: typeof avsc.types;
}

let library: AvroLibrary | undefined;

export function avroLibrary(): AvroLibrary {
  // Codecs are created synchronously and cannot await an import. The published package bundles the library
  // (packaging/).
  library ??= nodeModule.createRequire(import.meta.url)('avsc/lib/types.js') as AvroLibrary;
  return library;
}
