export { type ColumnMove, EntityMoves } from './entity-moves.js';
export { EntityUpgrades } from './entity-upgrades.js';
export { Moves } from './moves.js';
export { upgradeChecked, upgradeOf } from './settle-row.js';
export { moveMutations, readMoved, TableMoves } from './table-moves.js';
