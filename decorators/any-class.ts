/** Any class at all. */
export type AnyClass = abstract new (...args: never[]) => object;
