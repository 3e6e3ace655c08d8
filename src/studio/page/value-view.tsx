/** Values as they are looked at one by one: nested ones as trees with their schema, bytes as text, hex or a picture. */

import { useState } from 'preact/hooks';
import type { Json } from '../server/api.js';

/** A nested value, to be opened level by level. `schema` is of Avro; then each field names its type. */
export function Tree({ value, schema }: { readonly value: Json; readonly schema?: Json | undefined }) {
  if (typeof value !== 'object' || value === null) return <code>{JSON.stringify(value)}</code>;
  const entries = Object.entries(value as Readonly<Record<string, Json>>);
  const count = entries.length;
  const what = Array.isArray(value) ? (count === 1 ? 'item' : 'items') : count === 1 ? 'field' : 'fields';
  return (
    <details open={count <= 12}>
      <summary>
        {count} {what}
      </summary>
      <ul class="tree">
        {entries.map(([name, of]) => {
          const inner = innerSchema(schema, name);
          return (
            <li key={name}>
              <b>{name}</b> <small>{inner === undefined ? kindOf(of) : typeName(inner)}</small>{' '}
              <Tree value={of} schema={inner} />
            </li>
          );
        })}
      </ul>
    </details>
  );
}

const kindOf = (value: Json): string =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;

/** The Avro schema of a field, an item of an array, or a value of a map; of a union its first type that has insides. */
function innerSchema(schema: Json | undefined, name: string): Json | undefined {
  if (Array.isArray(schema))
    return (schema as readonly Json[])
      .filter((each) => typeof each === 'object')
      .map((each) => innerSchema(each, name))
      .find((each) => each !== undefined);
  if (typeof schema !== 'object' || schema === null) return undefined;
  const of = schema as Readonly<Record<string, Json>>;
  if (of['type'] === 'record') {
    const fields = (of['fields'] ?? []) as readonly { readonly name: string; readonly type: Json }[];
    return fields.find((field) => field.name === name)?.type;
  }
  if (of['type'] === 'array') return of['items'];
  return of['type'] === 'map' ? of['values'] : undefined;
}

function typeName(schema: Json): string {
  if (typeof schema === 'string') return schema;
  if (Array.isArray(schema)) return (schema as readonly Json[]).map(typeName).join(' | ');
  const of = schema as Readonly<Record<string, Json>>;
  return String(of['name'] ?? of['logicalType'] ?? of['type']);
}

/** The bytes of a text as HBase prints it. */
function unescaped(printed: string): Uint8Array {
  const bytes: number[] = [];
  for (let at = 0; at < printed.length; at++) {
    const hex = printed.slice(at + 2, at + 4);
    if (printed[at] === '\\' && printed[at + 1] === 'x' && /^[0-9A-F]{2}$/.test(hex)) {
      bytes.push(Number.parseInt(hex, 16));
      at += 3;
    } else bytes.push(printed.charCodeAt(at) & 0xff);
  }
  return Uint8Array.from(bytes);
}

/** Lines of 16 bytes with their offset and what of them is ASCII. */
function hexDump(bytes: Uint8Array): string {
  const lines: string[] = [];
  for (let at = 0; at < bytes.length; at += 16) {
    const line = [...bytes.subarray(at, at + 16)];
    const hex = line.map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
    const ascii = line.map((byte) => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : '.')).join('');
    lines.push(`${at.toString(16).padStart(6, '0')}  ${hex.padEnd(47)}  ${ascii}`);
  }
  return lines.join('\n');
}

interface BytesProps {
  readonly printed: string;
  readonly cut: boolean;
  /** Where the whole value is. */
  readonly address: string;
  readonly picture: boolean;
}

type Look = 'escaped' | 'hex' | 'text' | 'picture';

/** Bytes in the way that one chooses. */
export function Bytes({ printed, cut, address, picture }: BytesProps) {
  const [look, setLook] = useState<Look>(picture ? 'picture' : 'escaped');
  const looks: readonly Look[] = ['escaped', 'hex', 'text', ...(picture ? (['picture'] as const) : [])];
  return (
    <div class="bytes-view">
      <div class="tabs" role="group" aria-label="How the bytes are shown">
        {looks.map((each) => (
          <button key={each} type="button" aria-pressed={look === each} onClick={() => setLook(each)}>
            {each}
          </button>
        ))}
        <a href={address} download>
          Save
        </a>
      </div>
      {look === 'picture' ? (
        <img src={address} alt="What the bytes of the value show" />
      ) : (
        <pre tabIndex={0}>
          {look === 'escaped' && printed}
          {look === 'hex' && hexDump(unescaped(printed))}
          {look === 'text' && new TextDecoder().decode(unescaped(printed))}
          {cut && '…'}
        </pre>
      )}
    </div>
  );
}

/** How a value differs from the one before it: what both have at their ends stays plain. */
export function Difference({ before, after }: { readonly before: Json; readonly after: Json }) {
  if (typeof before === 'number' && typeof after === 'number') {
    const more = after - before;
    return (
      <span>
        {String(after)} <small>{more === 0 ? 'as before' : `${more > 0 ? '+' : ''}${more}`}</small>
      </span>
    );
  }
  if (isNested(before) && isNested(after)) {
    const changes = changesOf(before, after, '');
    if (changes.length === 0) return <small>as before</small>;
    return (
      <ul class="tree">
        {changes.slice(0, 50).map(({ path, was, is }) => (
          <li key={path}>
            <b>{path}</b> {was !== undefined && <del>{JSON.stringify(was)}</del>}{' '}
            {is !== undefined && <ins>{JSON.stringify(is)}</ins>}
          </li>
        ))}
        {changes.length > 50 && <li>{changes.length - 50} more</li>}
      </ul>
    );
  }
  const [old, now] = [plain(before), plain(after)];
  if (old === now) return <small>as before</small>;
  const [start, end] = common(old, now);
  return (
    <span>
      {now.slice(0, start)}
      <del>{old.slice(start, old.length - end)}</del>
      <ins>{now.slice(start, now.length - end)}</ins>
      {now.slice(now.length - end)}
    </span>
  );
}

const plain = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));
const isNested = (value: Json): value is { readonly [name: string]: Json } =>
  typeof value === 'object' && value !== null;

interface Change {
  readonly path: string;
  readonly was: Json | undefined;
  readonly is: Json | undefined;
}

function changesOf(before: Json, after: Json, path: string): Change[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  if (!isNested(before) || !isNested(after)) return [{ path, was: before, is: after }];
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name): Change[] => {
    const inside = path === '' ? name : `${path}.${name}`;
    const [was, is] = [before[name], after[name]];
    if (was === undefined || is === undefined) return [{ path: inside, was, is }];
    return changesOf(was, is, inside);
  });
}

/** How many characters two texts share at their beginning, and at their end. */
function common(a: string, b: string): [start: number, end: number] {
  const most = Math.min(a.length, b.length);
  let start = 0;
  while (start < most && a[start] === b[start]) start++;
  let end = 0;
  while (end < most - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  return [start, end];
}
