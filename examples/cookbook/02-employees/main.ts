/** The employee table of the shell's examples: put, get, change, delete of single columns, counters. */

// #region entity
import { Column, Entity, int32, part, rowKey, Table, text, textNumber } from 'rowan-orm';
import { openRecipe } from '../recipe.js';

@Table({ name: 'cookbook:emp', families: { personal: {}, professional: {} } })
class EmployeeTable {}

@Entity({ table: EmployeeTable })
class Employee {
  static readonly key = rowKey(part('id', textNumber(4)));
  id!: number;
  @Column('personal:name', text) name!: string;
  @Column('personal:city', text) city?: string | null;
  @Column('professional:designation', text) designation!: string;
  @Column('professional:salary', int32) salary!: number;
}
// #endregion

await using recipe = await openRecipe([Employee]);
const employees = recipe.db.repository(Employee);

// #region writes
await employees.putMany([
  { id: 1, name: 'ramu', city: 'hyderabad', designation: 'manager', salary: 50000 },
  { id: 2, name: 'ravi', city: 'chennai', designation: 'sr:engg', salary: 30000 },
  { id: 3, name: 'rajesh', city: 'delhi', designation: 'jr:engg', salary: 25000 },
]);
await employees.update({ id: 2 }, { city: 'Delhi' }); // one cell; the others stay
await employees.update({ id: 3 }, { city: null }); // deletes one cell
const raise = await employees.check({ id: 2 }, { salary: 30000 }).update({ salary: 33000 });
const late = await employees.check({ id: 2 }, { salary: 30000 }).update({ salary: 36000 });
// #endregion

recipe.section('keys');
recipe.key(Employee, { id: 1 });
recipe.key(Employee, { id: 20 });

recipe.section('queries');
// #region queries
await recipe.show('The second employee', employees.find({ id: 2 }));
await recipe.show(
  'Whose id is from 2 to 3',
  employees.find({ id: { gte: 2, lte: 3 } }).select('name', 'city'),
);
await recipe.show(
  'Who earns 30,000 or more? No key begins with it',
  employees
    .find({}, { fullScan: true })
    .where({ salary: { gte: 30000 } })
    .select('name', 'salary'),
);
recipe.print(`The first raise took effect: ${raise.ok}. The second: ${late.ok}.`);
// #endregion

recipe.section('cost');
await recipe.size('cookbook:emp');
