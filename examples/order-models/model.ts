import type { OrderData } from './data.js';

/** An order's key. */
export interface OrderId {
  readonly customerId: number;
  readonly orderNo: number;
}

/** One way of keeping orders. What each answers is the same; what it costs is not. */
export interface OrderModel {
  readonly name: string;
  /** Stores new orders. */
  load(orders: readonly OrderData[]): Promise<void>;
  /** A whole order. */
  read(id: OrderId): Promise<OrderData | null>;
  /** The status of a customer's orders, nothing else of them. */
  statuses(customerId: number): Promise<readonly string[]>;
  /** Ships an order to another street. */
  move(id: OrderId, locationNo: number, line1: string): Promise<void>;
  /** Pieces sold, by product; reads everything. */
  sold(): Promise<ReadonlyMap<string, number>>;
  close(): Promise<void>;
}
