/** The reference of the package's interface: a page for each entry, from the doc comments in the declarations that are published. */

import { Application, Converter, JSX, ReflectionKind } from 'typedoc';
import { base, entries, folder, name, ROOT, version } from './place.mjs';

/** Names of entries by the names of their declaration files. */
const modules = new Map(
  Object.entries(entries).flatMap(([path, target]) =>
    target.types === undefined
      ? []
      : [[target.types.slice('./dist/'.length, -'.d.ts'.length), `${name}${path.slice(1)}`]],
  ),
);

const app = await Application.bootstrap({
  name: `${name} ${version}`,
  entryPoints: [...modules.keys()].map((file) => `${ROOT}dist/${file}.d.ts`),
  tsconfig: `${ROOT}site/reference.tsconfig.json`,
  // The declarations have been checked, and leave out what no user can name.
  skipErrorChecking: true,
  validation: { notExported: false },
  readme: 'none',
  disableSources: true,
  excludePrivate: true,
  excludeInternal: true,
  excludeExternals: true,
  searchInComments: true,
  navigationLinks: { Guide: base },
  customCss: `${ROOT}site/reference.css`,
  outputs: [{ name: 'html', path: `${folder}/reference` }],
  logLevel: 'Warn',
});
app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
  for (const module of project.getChildrenByKind(ReflectionKind.Module)) {
    module.name = modules.get(module.name) ?? module.name;
  }
});
// Browsers ask for /favicon.ico where none is named.
app.renderer.hooks.on('head.end', () => JSX.createElement('link', { rel: 'icon', href: 'data:,' }));
const project = await app.convert();
if (project === undefined)
  throw new Error('The declarations could not be read: run npm run build in the repository.');
await app.generateOutputs(project);
