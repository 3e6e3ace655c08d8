/** Small things that several views show. */

import { useEffect, useState } from 'preact/hooks';
import type { PieceShown, ValueShown } from '../server/api.js';
import { StudioError } from './requests.js';

export function ProblemBox({ error }: { readonly error: Error }) {
  const code = error instanceof StudioError ? error.problem.code : 'The studio does not answer';
  return (
    <div class="problem" role="alert">
      <strong>{code}</strong> {error.message}
    </div>
  );
}

/** Loads data once: undefined until it is there. */
export function useLoaded<T>(load: () => Promise<T>, id: string): T | Error | undefined {
  const [state, setState] = useState<{ readonly id: string; readonly value: T | Error }>();
  useEffect(() => {
    let left = false;
    load().then(
      (value) => !left && setState({ id, value }),
      (error: Error) => !left && setState({ id, value: error }),
    );
    return () => {
      left = true;
    };
  }, [id]);
  return state?.id === id ? state.value : undefined;
}

/** The bytes of a key, element by element. What one is for stands below while it is pointed at or focused. */
export function Pieces({ pieces }: { readonly pieces: readonly PieceShown[] }) {
  const [at, setAt] = useState<number>();
  const shown = at === undefined ? undefined : pieces[at];
  return (
    <div class="pieces-box">
      <ol class="pieces" aria-label="Bytes of the key">
        {pieces.map((piece, index) => (
          <li key={`${index} ${piece.element}`}>
            <button
              type="button"
              class={`piece ${piece.kind}`}
              aria-describedby="piece-about"
              onMouseEnter={() => setAt(index)}
              onMouseLeave={() => setAt(undefined)}
              onFocus={() => setAt(index)}
              onBlur={() => setAt(undefined)}
            >
              <code>
                {piece.printed}
                {piece.end !== undefined && <i>{piece.end}</i>}
              </code>
              <span>{piece.element}</span>
            </button>
          </li>
        ))}
      </ol>
      <p class="about" id="piece-about">
        {shown === undefined ? (
          <>{sizeOf(pieces)} Point at an element to read what it is for.</>
        ) : (
          <>
            <b>{shown.element}</b> <code>{shown.hex}</code> {shown.about}
          </>
        )}
      </p>
    </div>
  );
}

function sizeOf(pieces: readonly PieceShown[]): string {
  const bytes = pieces.reduce((sum, { hex }) => sum + (hex === '*' ? 1 : hex.length / 2), 0);
  return `${bytes} bytes.`;
}

export function Code({ text, label }: { readonly text: string; readonly label: string }) {
  const [copied, setCopied] = useState(false);
  return (
    <figure class="code">
      <figcaption>
        {label}
        <button
          type="button"
          onClick={() => {
            void navigator.clipboard.writeText(text).then(() => setCopied(true));
          }}
        >
          {copied ? 'Copied' : 'Copy'}
        </button>
      </figcaption>
      <pre tabIndex={0}>{text}</pre>
    </figure>
  );
}

export function textOf(value: ValueShown | undefined): string {
  if (value === undefined || value.type === 'null') return '';
  const text = typeof value.value === 'string' ? value.value : JSON.stringify(value.value);
  return value.cut === true ? `${text}…` : text;
}

export function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const units = ['KiB', 'MiB', 'GiB', 'TiB'];
  let size = bytes / 1024;
  let at = 0;
  for (; size >= 1024 && at < units.length - 1; at++) size /= 1024;
  return `${size.toFixed(size < 10 ? 1 : 0)} ${units[at]}`;
}

export const timeText = (time: number): string =>
  time > 0 && time < 8.64e15 ? new Date(time).toISOString().replace('T', ' ').replace('Z', '') : String(time);

/** A span of time, in its largest unit. */
export function spanText(milliseconds: number): string {
  const units = [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['min', 60_000],
    ['s', 1000],
  ] as const;
  for (const [unit, size] of units)
    if (milliseconds >= size) return `${Math.round((milliseconds / size) * 10) / 10} ${unit}`;
  return `${Math.round(milliseconds)} ms`;
}

/** Has the browser save a text as a file. */
export function saveFile(name: string, type: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}
