// — Translates the names of codecs in stamps into TypeScript expressions.

/** An expression with the exports of `rowan-orm` that it uses. */
export interface Source {
  readonly text: string;
  readonly uses: readonly string[];
}

const CONSTANTS: ReadonlySet<string> = new Set(
  'text bytes boolean int8 int16 int32 int53 int64 uint8 uint16 uint32 uint64 float float32 float64 uuid ulid ksuid ipv4 ipv6 cidr bigint date counter'.split(
    ' ',
  ),
);

/** Undefined for a custom codec or one of a profile, whose name does not determine the expression. */
export function codecSource(name: string): Source | undefined {
  if (CONSTANTS.has(name)) return { text: name, uses: [name] };
  if (name === 'json') return { text: 'json()', uses: ['json'] };
  const [, maker, options = ''] = /^(\w+)\((.*)\)$/su.exec(name) ?? [];
  switch (maker) {
    case 'decimal':
      return called('decimal', /^\d+$/.test(options) ? options : undefined);
    case 'geohash':
      return called('geohash', /^\d+$/.test(options) ? options : undefined);
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
    case 'numericEnum':
      return called('numericEnum', numericEnumOptions(options));
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

/** Parses `"open"=1,"shipped"=2;2`. */
function enumerationOptions(options: string): string | undefined {
  const [, list, bytes] = /^((?:"(?:[^"\\]|\\.)*"=\d+,?)+?)(?:;(\d))?$/su.exec(options) ?? [];
  if (list === undefined) return undefined;
  const ids = [...list.matchAll(/("(?:[^"\\]|\\.)*")=(\d+)/gsu)].map(([, name, id]) => `${name}: ${id}`);
  return `{ ${ids.join(', ')} }${bytes === undefined ? '' : `, { bytes: ${bytes} }`}`;
}

/** Parses `1,2,300;2`: the names of an enumeration of numbers are not stored. */
function numericEnumOptions(options: string): string | undefined {
  const [, list, bytes] = /^(\d+(?:,\d+)*)(?:;(\d))?$/.exec(options) ?? [];
  if (list === undefined) return undefined;
  const members = list.split(',').map((number) => `Member${number}: ${number}`);
  return `{ ${members.join(', ')} }${bytes === undefined ? '' : `, { bytes: ${bytes} }`}`;
}

// — Translates the signature of a key in a stamp into TypeScript.

/** Splits a signature into elements at spaces outside parentheses and quotes. */
export function elementsOf(signature: string): string[] {
  const elements: string[] = [];
  let depth = 0;
  let text = '';
  for (const [token] of signature.matchAll(/"(?:[^"\\]|\\.)*"|./gsu)) {
    if (token === '(') depth++;
    else if (token === ')') depth--;
    if (token === ' ' && depth === 0) {
      elements.push(text);
      text = '';
    } else text += token;
  }
  return text === '' ? elements : [...elements, text];
}

/** The declaration of one element; undefined if its text does not determine it. */
export function elementSource(element: string): Source | undefined {
  const [, maker, options = ''] = /^(\w+)\((.*)\)$/su.exec(element) ?? [];
  switch (maker) {
    case 'salt':
      return saltSource(options);
    case 'hash':
      return hashSource(options);
    case 'bucket': {
      const [, buckets, of] = /^(\d+),(.+)$/su.exec(options) ?? [];
      return of === undefined ? undefined : made('bucket', `${quoted(of)}, ${buckets}`);
    }
    case 'timeBucket':
      return timeBucketSource(options);
    case 'recordType':
      return made('recordType', '');
    case 'literal':
      return made('literal', `Buffer.from(${quoted(options)}, 'hex')`);
    case 'desc': {
      const inner = elementSource(options);
      return inner && { text: `desc(${inner.text})`, uses: ['desc', ...inner.uses] };
    }
    default:
      return partSource(element);
  }
}

function made(maker: string, options: string): Source {
  return { text: `${maker}(${options})`, uses: [maker] };
}

function saltSource(options: string): Source | undefined {
  const [, count, rest] = /^(\d+)((?:,.*)?)$/su.exec(options) ?? [];
  if (count === undefined) return undefined;
  const given: string[] = [];
  for (const option of rest!.split(',').slice(1)) {
    if (option.startsWith('over '))
      given.push(`over: [${option.slice(5).split('+').map(quoted).join(', ')}]`);
    else if (option === 'phoenix') given.push("algorithm: 'phoenix'");
    else if (option === 'random') given.push("assign: 'random'");
    else return undefined;
  }
  return made('salt', given.length === 0 ? count : `${count}, { ${given.join(', ')} }`);
}

/** Parses `md5,16,a+b` if the key holds the parts whole, else `md5,16,a:text|b:int32`. */
function hashSource(options: string): Source | undefined {
  const [, algorithm, bytes, sources, hex, modulo] =
    /^(\w+),(\d+),(.*?)(,hex)?(?:,modulo (\d+))?$/su.exec(options) ?? [];
  if (sources === undefined) return undefined;
  const given = [`algorithm: '${algorithm}'`, `bytes: ${bytes}`];
  if (hex !== undefined) given.push("encoding: 'hex'");
  if (modulo !== undefined) given.push(`modulo: ${modulo}`);
  const isWhole = !sources.includes(':');
  const parts = sources.split(isWhole ? '+' : '|').map(partSource);
  if (isWhole) {
    const names = sources.split('+').map(quoted);
    return made(
      'hash',
      `${names.length === 1 ? names[0] : `[${names.join(', ')}]`}, { ${given.join(', ')} }`,
    );
  }
  // With several parts, the codecs are those of their columns.
  const [only] = parts;
  if (parts.length === 1) {
    return only && { text: `hash(${only.text}, { ${given.join(', ')} })`, uses: ['hash', ...only.uses] };
  }
  const names = sources.split('|').map((source) => quoted(source.slice(0, source.indexOf(':'))));
  return made('hash', `[${names.join(', ')}], { ${given.join(', ')} }`);
}

function timeBucketSource(options: string): Source | undefined {
  const [, ms, unit, name] = /^(\d+)ms,(ms|s),(.+)$/su.exec(options) ?? [];
  if (name === undefined) return undefined;
  const width = Number(ms) < 1e9 ? `${ms}ms` : `${Number(ms) / 1000}s`;
  return made('timeBucket', `${quoted(name)}, '${width}'${unit === 's' ? ", { unit: 's' }" : ''}`);
}

/** Parses `name:codec`. */
function partSource(element: string): Source | undefined {
  const colon = element.indexOf(':');
  if (colon <= 0) return undefined;
  const name = quoted(element.slice(0, colon));
  const codec = element.slice(colon + 1);
  const [, maker, options = ''] = /^(\w+?)(?:\((.*)\))?$/su.exec(codec) ?? [];
  if (maker === 'desc') {
    const inner = partSource(`${element.slice(0, colon)}:${options}`);
    return inner && { text: `desc(${inner.text})`, uses: ['desc', ...inner.uses] };
  }
  if (maker === 'reverse' || maker === 'reverseDomain') return made(maker, name);
  if (maker === 'reverseDigits') {
    const [, width, as] = /^(\d+)(?:,(\w+))?$/.exec(options) ?? [];
    return width === undefined
      ? undefined
      : made(maker, `${name}, ${width}${as === undefined ? '' : `, '${as}'`}`);
  }
  if (maker === 'reverseTimestamp') {
    const given = [
      ...(options.includes('number') ? ["as: 'number'"] : []),
      ...(options.includes('text') ? ['text: true'] : []),
    ];
    return made(maker, given.length === 0 ? name : `${name}, { ${given.join(', ')} }`);
  }
  const [, bytes] = /^id(\d)$/.exec(maker ?? '') ?? [];
  if (bytes !== undefined) {
    return made('substitute', `${name}, ${quoted(options)}${bytes === '4' ? '' : `, { bytes: ${bytes} }`}`);
  }
  const source = codecSource(codec);
  return source && { text: `part(${name}, ${source.text})`, uses: ['part', ...source.uses] };
}

export function quoted(text: string): string {
  return JSON.stringify(text);
}
