import type { Place, RubyValue } from './values.js';

/** A node of the syntax tree. */
export type Node = { readonly place: Place } & (
  | { readonly kind: 'literal'; readonly value: RubyValue }
  | { readonly kind: 'text'; readonly parts: readonly (string | Node)[] }
  | { readonly kind: 'array'; readonly items: readonly Node[] }
  | { readonly kind: 'hash'; readonly pairs: readonly (readonly [Node, Node])[] }
  | { readonly kind: 'constant'; readonly name: string }
  | CallNode
  | { readonly kind: 'assign'; readonly name: string; readonly value: Node }
  | { readonly kind: 'assignIndex'; readonly target: Node; readonly index: Node; readonly value: Node }
  | { readonly kind: 'binary'; readonly operator: string; readonly left: Node; readonly right: Node }
  | { readonly kind: 'not'; readonly value: Node }
  | { readonly kind: 'range'; readonly first: Node; readonly last: Node; readonly exclusive: boolean }
  | { readonly kind: 'if'; readonly test: Node; readonly yes: Node; readonly no: Node | undefined }
  | {
      readonly kind: 'while';
      readonly test: Node;
      readonly body: Node;
      readonly until: boolean;
      /** `begin … end while`: the body runs before the first test. */
      readonly bodyFirst: boolean;
    }
  | { readonly kind: 'for'; readonly names: readonly string[]; readonly over: Node; readonly body: Node }
  | {
      readonly kind: 'begin';
      readonly body: Node;
      readonly rescue: Rescue | undefined;
      readonly ensure: Node | undefined;
    }
  | { readonly kind: 'sequence'; readonly statements: readonly Node[] }
);

export interface Rescue {
  /** The variable that receives the error. */
  readonly name: string | undefined;
  readonly body: Node;
}

export interface CallNode {
  readonly kind: 'call';
  readonly place: Place;
  readonly receiver: Node | undefined;
  readonly name: string;
  readonly args: readonly Node[];
  readonly block: Block | undefined;
  /** Whether it is a bare name, which may be a variable. */
  readonly bare: boolean;
}

export interface Block {
  readonly names: readonly string[];
  readonly body: Node;
}
