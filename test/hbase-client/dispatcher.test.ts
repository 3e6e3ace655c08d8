/** The dispatcher alone, without servers. */

import { expect, it } from 'vitest';
import { GetAction } from '../../src/hbase/client/actions.js';
import { Dispatcher } from '../../src/hbase/client/dispatcher.js';
import type { Observer } from '../../src/hbase/observe/observer.js';
import { resolveSettings } from '../../src/hbase/options.js';
import { type Locator, RegionCache } from '../../src/hbase/region/locator.js';
import { ConnectionError } from '../../src/hbase/rpc/errors.js';
import { Get } from '../../src/table/index.js';

const TIMEOUT = 60;

/** A get of a row whose region is looked up without end. */
function lookedUp(): { readonly action: GetAction<undefined>; submit(): Promise<undefined> } {
  const locator: Partial<Locator> = {
    cache: new RegionCache(),
    locate: () => new Promise(() => undefined),
    lookupOf: (table) => `The lookup in ${table}`,
  };
  const observer = { tables: { table: () => undefined } } as unknown as Observer;
  const pool = { get: () => expect.unreachable() };
  const dispatcher = new Dispatcher(
    resolveSettings({ masters: ['a:1'] }),
    pool,
    locator as Locator,
    observer,
  );
  const deadline = performance.now() + TIMEOUT;
  const action = new GetAction('t', new Get('r'), false, () => undefined, deadline, TIMEOUT);
  return {
    action,
    submit: () => {
      const done = action.promise();
      dispatcher.submit(action);
      return done;
    },
  };
}

it('an action whose lookup never ends fails when its time is over, and says what it has waited for', async () => {
  await expect(lookedUp().submit()).rejects.toMatchObject({
    code: 'ERR_TIMEOUT',
    message: `The get on table t was not done within ${TIMEOUT} ms. Last error: The lookup in t had no answer. Allow more time, or check the servers.`,
  });
});

it('an error from before the lookup stays the last one', async () => {
  const { action, submit } = lookedUp();
  action.error = new ConnectionError('The server hung up.', {});
  await expect(submit()).rejects.toThrow(/ Last error: The server hung up\. Allow more time/);
});
