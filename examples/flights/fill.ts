/** Fills the store of the quickstart, if that was not done yet: `npm run studio` shows it then. */

import { open } from 'rowan-orm';
import { Airport, Flight } from './entities.js';
import { load, PATH } from './load.js';

await using database = await open({ path: PATH, entities: [Airport, Flight] });
if ((await load(database)) !== undefined) await database.admin.flush('travel:flights');
