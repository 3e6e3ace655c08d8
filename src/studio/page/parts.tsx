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

/** What is loaded once: undefined until it is there. */
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

/** The bytes of a key, element by element. */
export function Pieces({ pieces }: { readonly pieces: readonly PieceShown[] }) {
  return (
    <ol class="pieces" aria-label="Bytes of the key">
      {pieces.map((piece) => (
        <li key={piece.element} class={`piece ${piece.kind}`} title={piece.about}>
          <code>{piece.printed}</code>
          <span>{piece.element}</span>
        </li>
      ))}
    </ol>
  );
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
