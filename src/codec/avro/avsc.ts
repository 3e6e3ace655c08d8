/**
 * The part of avsc that Rowan uses. Its main module makes types while it loads, and with them functions of text, so that
 * where these are forbidden not even programs without Avro could load it.
 */

import type avsc from 'avsc';
// @ts-expect-error avsc has types for its main module only.
import library from 'avsc/lib/types.js';

export const Type: typeof avsc.Type = library.Type;
export const types: typeof avsc.types = library.builtins;
