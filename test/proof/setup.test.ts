import { expect, test } from 'vitest';

const at = (bytes: Uint8Array) => ({ each: new Map([['file', [bytes]]]) });

test.each([Uint8Array, Buffer])('bytes are equal when all of them are (%o)', (type) => {
  const bytes = type.from([1, 2, 3, 255]);
  expect(at(bytes)).toStrictEqual(at(type.from(bytes)));
  for (const other of [[1, 2, 3, 254], [1, 2, 3], [1, 2, 3, 255, 0], []])
    expect(at(bytes)).not.toEqual(at(type.from(other)));
});

test('bytes of another type are not equal', () => {
  const bytes = Uint8Array.of(1, 2);
  expect(at(Buffer.from(bytes))).not.toEqual(at(bytes));
  expect(bytes).not.toEqual([1, 2]);
});
