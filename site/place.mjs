/**
 * Which build of the site this is, and where it goes. The tree as it is stands at the root of the site, each release in a folder
 * of its own (`v1.2.0/`), which is built once, with ROWAN_SITE_RELEASE=1, and stays.
 */

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('..', import.meta.url));

const json = (path) => JSON.parse(readFileSync(`${ROOT}${path}`, 'utf8'));

export const { name, version, exports: entries } = json('package.json');

/** The releases whose sites exist, newest first. */
export const releases = json('site/versions.json');

export const isRelease = process.env.ROWAN_SITE_RELEASE === '1';

/** The site's address below its host: ROWAN_SITE_BASE=/rowan/ for a project's page. */
export const root = process.env.ROWAN_SITE_BASE ?? '/';

/** The address of this build. */
export const base = isRelease ? `${root}v${version}/` : root;

/** Its folder. */
export const folder = `${ROOT}site/dist/${isRelease ? `v${version}` : ''}`;

/** The pages of the reference (reference.mjs) by the pages of docs/api, which list the same entries without doc comments. */
export const references = new Map(
  Object.entries(entries).flatMap(([path, target]) => {
    if (target.types === undefined) return [];
    const entry = `${name}${path.slice(1)}`;
    return [[`api/${entry.replaceAll('/', '-')}`, `/reference/modules/${entry.replaceAll('/', '_')}.html`]];
  }),
);
