/** Who may ask: a browser of this machine that was given the token, and no other page in it. */

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';

/** What a request is: let in, sent on with a cookie, or refused. */
export type Admission =
  | { readonly kind: 'in' }
  | { readonly kind: 'enter'; readonly cookie: string }
  | { readonly kind: 'refused'; readonly status: 401 | 403; readonly why: string };

/** Nothing from elsewhere is loaded, run, or framed; the page asks its own server only. */
export const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
};

export class Guard {
  /** Stands in the first URL only. */
  readonly token: string = randomBytes(24).toString('base64url');
  private readonly session = randomBytes(24).toString('base64url');
  private hosts: ReadonlySet<string> = new Set();
  private cookieName = '';

  /** The port that is listened on: another program of this machine may have a cookie of this name for another one. */
  listensOn(port: number): void {
    this.hosts = new Set([`127.0.0.1:${port}`, `localhost:${port}`]);
    this.cookieName = `rowan_studio_${port}`;
  }

  admit(request: IncomingMessage, url: URL): Admission {
    const { host, origin } = request.headers;
    // A name of elsewhere that resolves to this machine (DNS rebinding) comes with its own Host.
    if (host === undefined || !this.hosts.has(host)) {
      return { kind: 'refused', status: 403, why: 'The studio answers at 127.0.0.1 and localhost only.' };
    }
    const foreign = origin !== undefined && origin !== `http://${host}`;
    const site = request.headers['sec-fetch-site'];
    if (foreign || site === 'cross-site' || (site === 'same-site' && origin !== undefined)) {
      return { kind: 'refused', status: 403, why: 'The studio answers its own page only.' };
    }
    const token = url.searchParams.get('token');
    if (url.pathname === '/' && token !== null && same(token, this.token)) {
      return {
        kind: 'enter',
        cookie: `${this.cookieName}=${this.session}; HttpOnly; SameSite=Strict; Path=/`,
      };
    }
    if (same(cookieOf(request, this.cookieName) ?? '', this.session)) return { kind: 'in' };
    return {
      kind: 'refused',
      status: 401,
      why: 'Open the address that "rowan studio" printed: it has the token that lets this browser in.',
    };
  }
}

/** Takes the same time whatever differs. */
function same(given: string, wanted: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(wanted));
}

function cookieOf(request: IncomingMessage, name: string): string | undefined {
  for (const cookie of (request.headers.cookie ?? '').split(';')) {
    const at = cookie.indexOf('=');
    if (cookie.slice(0, at).trim() === name) return cookie.slice(at + 1).trim();
  }
  return undefined;
}

export function setHeaders(response: ServerResponse): void {
  for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
}
