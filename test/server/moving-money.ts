/**
 * Moves money between accounts in transactions over a connection until it is killed. Prints a line for each that is acknowledged: "from to
 * amount". Usage: moving-money.ts <endpoint> <name of the first account>
 */
import { connect } from '../../src/database.js';
import { ACCOUNTS, Account } from './accounts.js';

const [endpoint, seedText] = process.argv.slice(2) as [string, string];
const db = await connect({ masters: [endpoint], entities: [Account] });
let seed = Number(seedText);
const random = (below: number): number => {
  seed = (seed * 1103515245 + 12345) % 2147483648;
  return Math.floor(seed / 65536) % below;
};
for (;;) {
  const moved = await db.transaction(
    async (tx) => {
      const accounts = tx.repository(Account);
      const from = await accounts.get({ id: random(ACCOUNTS) });
      const to = await accounts.get({ id: random(ACCOUNTS) });
      if (from!.id === to!.id || from!.balance === 0) return undefined;
      const amount = 1 + random(from!.balance);
      await accounts.update({ id: from!.id }, { balance: from!.balance - amount, moves: from!.moves + 1 });
      await accounts.update({ id: to!.id }, { balance: to!.balance + amount, moves: to!.moves + 1 });
      return `${from!.id} ${to!.id} ${amount}`;
    },
    { attempts: 1000 },
  );
  if (moved !== undefined) console.log(moved);
}
