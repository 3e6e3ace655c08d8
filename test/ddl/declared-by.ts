/** What a printed module declares. */

import * as rowan from '../../src/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import * as codecs from '../../src/public/codecs.js';
import type { Schema } from '../../src/schema/index.js';
import type { TableSchema } from '../../src/schema/types.js';

/** Runs what was printed, with the package as it is exported. */
export function schemaOf(source: string): Schema {
  const body = source
    .replaceAll(/^import \{ (.*) \} from 'rowan-orm(?:\/codecs)?';$/gm, 'const { $1 } = rowan;')
    .replaceAll(/^export const (\w+) = defineEntity/gm, 'entities.$1 = defineEntity')
    .replaceAll('export const', 'const');
  const run = new Function('rowan', `const entities = {}; ${body} return Object.values(entities);`);
  return compileSchema(run({ ...codecs, ...rowan }) as never);
}

export function declaredBy(source: string): TableSchema {
  return schemaOf(source).tables[0]!;
}
