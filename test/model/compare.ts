import type { Comparator, CompareOperator } from '../../src/table/index.js';
import { compareText, latin1 } from './cells.js';

/** How `bytes operator comparator` comes out. */
export function holds(text: string, operator: CompareOperator, comparator: Comparator): boolean {
  const order = compareTo(comparator, text);
  switch (operator) {
    case 'LESS':
      return order > 0;
    case 'LESS_OR_EQUAL':
      return order >= 0;
    case 'EQUAL':
      return order === 0;
    case 'NOT_EQUAL':
      return order !== 0;
    case 'GREATER_OR_EQUAL':
      return order <= 0;
    case 'GREATER':
      return order < 0;
    case 'NO_OP':
      return false;
  }
}

/** The comparator's value against the bytes. */
function compareTo(comparator: Comparator, text: string): number {
  const utf8 = (): string => Buffer.from(text, 'latin1').toString('utf8');
  switch (comparator.kind) {
    case 'binary':
      return compareText(latin1(comparator.value), text);
    case 'binaryPrefix':
      return compareText(latin1(comparator.value), text.slice(0, comparator.value.length));
    case 'binaryComponent':
      return compareText(
        latin1(comparator.value),
        text.slice(comparator.offset, comparator.offset + comparator.value.length),
      );
    case 'long': {
      const found = Buffer.from(text, 'latin1').readBigInt64BE(0);
      return comparator.value < found ? -1 : comparator.value > found ? 1 : 0;
    }
    case 'bit': {
      if (text.length !== comparator.value.length) return 1;
      const bit = { AND: (a = 0, b = 0) => a & b, OR: (a = 0, b = 0) => a | b, XOR: (a = 0, b = 0) => a ^ b };
      const hit = [...comparator.value].some(
        (byte, i) => bit[comparator.operator](byte, text.charCodeAt(i)) !== 0,
      );
      return hit ? 0 : 1;
    }
    case 'null':
      return 1;
    case 'regex':
      return new RegExp(comparator.pattern, comparator.flags).test(utf8()) ? 0 : 1;
    case 'substring':
      return utf8().toLowerCase().includes(comparator.value) ? 0 : 1;
  }
}
