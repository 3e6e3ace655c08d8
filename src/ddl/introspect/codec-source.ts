/** The names of codecs, as stamps have them, as the TypeScript that makes them. */

/** An expression with the functions and constants of `rowan-orm` that it needs. */
export interface Source {
  readonly text: string;
  readonly uses: readonly string[];
}

const CONSTANTS: ReadonlySet<string> = new Set(
  'text bytes boolean int8 int16 int32 int53 int64 uint8 uint16 uint32 uint64 float float32 float64 uuid ulid bigint date counter'.split(
    ' ',
  ),
);

/** Undefined: a codec of the program's own, or of a profile, which its name alone does not tell how to make. */
export function codecSource(name: string): Source | undefined {
  if (CONSTANTS.has(name)) return { text: name, uses: [name] };
  if (name === 'json') return { text: 'json()', uses: ['json'] };
  const [, maker, options = ''] = /^(\w+)\((.*)\)$/su.exec(name) ?? [];
  switch (maker) {
    case 'decimal':
      return called('decimal', /^\d+$/.test(options) ? options : undefined);
    case 'fixedBytes':
      return called('fixedBytes', /^\d+(,\d+)?$/.test(options) ? options.replace(',', ', ') : undefined);
    case 'fixedString':
      return called('fixedString', /^\d+(,".*")?$/su.test(options) ? options.replace(',', ', ') : undefined);
    case 'textNumber': {
      const [, width, as] = /^(\d+)(,bigint)?$/.exec(options) ?? [];
      return called('textNumber', width && (as === undefined ? width : `${width}, 'bigint'`));
    }
    case 'enumeration':
      return called('enumeration', enumerationOptions(options));
    case 'desc': {
      const inner = codecSource(options);
      return inner && { text: `desc(${inner.text})`, uses: ['desc', ...inner.uses] };
    }
    default:
      return undefined;
  }
}

function called(maker: string, options: string | undefined): Source | undefined {
  return options === undefined ? undefined : { text: `${maker}(${options})`, uses: [maker] };
}

/** `"open"=1,"shipped"=2;2` */
function enumerationOptions(options: string): string | undefined {
  const [, list, bytes] = /^((?:"(?:[^"\\]|\\.)*"=\d+,?)+?)(?:;(\d))?$/su.exec(options) ?? [];
  if (list === undefined) return undefined;
  const ids = [...list.matchAll(/("(?:[^"\\]|\\.)*")=(\d+)/gsu)].map(([, name, id]) => `${name}: ${id}`);
  return `{ ${ids.join(', ')} }${bytes === undefined ? '' : `, { bytes: ${bytes} }`}`;
}
