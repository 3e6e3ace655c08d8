import { type IncomingHttpHeaders, request } from 'node:http';
import type { Studio } from '../../src/studio/server/server.js';

/** Requests to a studio as a browser that was let in sends them, or with any other headers. */

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** A request with any headers: `fetch` lets nobody choose the Host. */
export function ask(
  { port }: Pick<Studio, 'port'>,
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
  body = '',
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request({
      host: '127.0.0.1',
      port,
      path,
      method,
      agent: false,
      headers: { host: `127.0.0.1:${port}`, ...headers },
    });
    sent.on('error', reject);
    sent.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => {
        text += part;
      });
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode!, headers: response.headers, text }));
    });
    sent.end(body);
  });
}

/** Enters by the first address; the cookie. */
export async function enter(studio: Pick<Studio, 'port' | 'url'>): Promise<string> {
  const { pathname, search } = new URL(studio.url);
  const { headers } = await ask(studio, pathname + search);
  return headers['set-cookie']![0]!.split(';')[0]!;
}
